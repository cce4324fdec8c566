package smtptest

import (
	"crypto/tls"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
)

// An Account is who may send through a server that asks for it.
type Account struct{ User, Password string }

// NewReal starts go-smtp, which reads what it gets by another hand's understanding of RFC
// 5321. It takes emails of the account alone, and the account's password only behind
// STARTTLS. told learns of each command, and of "." at the end of a text, before the answer.
func NewReal(t testing.TB, certificate tls.Certificate, account Account, told func(command string)) *Server {
	t.Helper()
	s, listener := listen(t)
	real := smtp.NewServer(smtp.BackendFunc(func(*smtp.Conn) (smtp.Session, error) {
		return &conversation{server: s, account: account, told: told}, nil
	}))
	real.Domain = "mail.example"
	real.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}
	go func() { _ = real.Serve(listener) }()
	t.Cleanup(func() { _ = real.Close() })
	return s
}

// A conversation is that of one connection.
type conversation struct {
	server  *Server
	account Account
	told    func(command string)
	known   bool // who sends
	to      string
}

var errNotKnown = errors.New("the user or the password is wrong")

func (c *conversation) AuthMechanisms() []string { return []string{sasl.Plain} }

func (c *conversation) Auth(string) (sasl.Server, error) {
	return sasl.NewPlainServer(func(_, user, password string) error {
		if c.known = (Account{user, password}) == c.account; !c.known {
			return errNotKnown
		}
		return nil
	}), nil
}

func (c *conversation) Mail(from string, _ *smtp.MailOptions) error {
	if !c.known {
		return smtp.ErrAuthRequired
	}
	c.told("MAIL FROM:<" + from + ">")
	return nil
}

func (c *conversation) Rcpt(to string, _ *smtp.RcptOptions) error {
	c.told("RCPT TO:<" + to + ">")
	c.to = to
	return nil
}

func (c *conversation) Data(r io.Reader) error {
	c.told("DATA")
	var text strings.Builder
	if _, err := io.Copy(&text, r); err != nil {
		return err
	}
	c.told(".")
	c.server.keep(Email{To: c.to, Text: text.String()})
	return nil
}

func (c *conversation) Reset() {}

func (c *conversation) Logout() error { return nil }
