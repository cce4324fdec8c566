package mail

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	netmail "net/mail"
	"net/textproto"
	"net/url"
	"strconv"
	"time"

	"github.com/wneessen/go-mail"
)

// smtpTimeout bounds each step of the conversation with the mail server.
const smtpTimeout = 20 * time.Second

// SMTP sends emails through a mail server. It prints as the server's name.
type SMTP struct {
	host    string
	from    string
	options []mail.Option
}

var _ Sender = (*SMTP)(nil)

// NewSMTP reads smtp://user:password@host:587 or smtps://user:password@host:465.
// An smtp server must offer STARTTLS unless it is this machine. The port and the
// user are optional. From is the sender's address, with or without a name. Its
// errors show no password.
func NewSMTP(server, from string) (*SMTP, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.Path != "" && u.Path != "/" || u.RawQuery != "" {
		return nil, errors.New("must be smtp://user:password@host:587 or smtps://user:password@host:465, signs such as @ and / in the password written as %40 and %2F")
	}
	if _, err := netmail.ParseAddress(from); err != nil {
		return nil, errors.New("needs CANDOR_MAIL_FROM to be an address such as Candor <no-reply@example.com>")
	}
	s := &SMTP{host: u.Hostname(), from: from, options: []mail.Option{mail.WithTimeout(smtpTimeout), mail.WithoutNoop()}}
	port := 587
	switch {
	case u.Scheme == "smtps":
		port = 465
		s.options = append(s.options, mail.WithSSL())
	case isLoopback(u.Hostname()):
		s.options = append(s.options, mail.WithTLSPolicy(mail.TLSOpportunistic))
	default:
		s.options = append(s.options, mail.WithTLSPolicy(mail.TLSMandatory))
	}
	if u.Port() != "" {
		if port, err = strconv.Atoi(u.Port()); err != nil || port < 1 || port > 65535 {
			return nil, errors.New("has a port that isn’t a number from 1 to 65535")
		}
	}
	s.options = append(s.options, mail.WithPort(port))
	if u.User != nil {
		password, _ := u.User.Password()
		s.options = append(s.options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()), mail.WithPassword(password))
	}
	return s, nil
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// String is the mail server's name.
func (s *SMTP) String() string { return s.host }

// Send sends the email on a connection of its own.
func (s *SMTP) Send(ctx context.Context, m Message) error {
	message := mail.NewMsg()
	if err := message.From(s.from); err != nil {
		return errors.New("mail: the sender’s address is not valid")
	}
	if err := message.To(m.To); err != nil {
		return fmt.Errorf("mail: the address is not valid: %w", ErrRefused)
	}
	message.Subject(m.Subject)
	message.SetDate()
	message.SetMessageID()
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	message.SetBodyString(mail.TypeTextPlain, m.Text)
	message.AddAlternativeString(mail.TypeTextHTML, m.HTML)
	for _, a := range m.Attachments {
		if err := message.AttachReader(a.Name, bytes.NewReader(a.Content), mail.WithFileContentType(mail.ContentType(a.ContentType))); err != nil {
			return errors.New("mail: an attachment can't be read")
		}
	}
	client, err := mail.NewClient(s.host, s.options...)
	if err != nil {
		return errors.New("mail: the mail server’s settings are not valid")
	}
	return plainError(client.DialAndSendWithContext(ctx, message))
}

// Check connects as Send does, with TLS and sign-in, and sends nothing. It reports
// whether the connection is encrypted. Its errors show neither the user nor the
// server's text.
func (s *SMTP) Check(ctx context.Context) (encrypted bool, err error) {
	client, err := mail.NewClient(s.host, s.options...)
	if err != nil {
		return false, errors.New("mail: the mail server’s settings are not valid")
	}
	conversation, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return false, connectionError(err)
	}
	_, err = conversation.GetTLSConnectionState()
	_ = client.CloseWithSMTPClient(conversation) // nothing was sent
	return err == nil, nil
}

// connectionError says at which step a connection failed.
func connectionError(err error) error {
	var network net.Error
	var lookup *net.DNSError
	var dial *net.OpError
	var certificate *tls.CertificateVerificationError
	var notTLS tls.RecordHeaderError
	var reply *textproto.Error
	switch {
	case errors.As(err, &lookup):
		return errors.New("the mail server’s name can’t be looked up")
	case errors.As(err, &network) && network.Timeout():
		return errors.New("the mail server doesn’t answer in time")
	case errors.As(err, &certificate):
		return errors.New("the mail server’s certificate isn’t valid for its name")
	case errors.As(err, &notTLS):
		return errors.New("the mail server doesn’t speak TLS on this port: smtps:// is for port 465, smtp:// for 587")
	case errors.As(err, &dial) && dial.Op == "dial":
		return errors.New("the mail server refuses the connection, or no route leads to it")
	case errors.As(err, &reply):
		return fmt.Errorf("the mail server refuses the user or the password (%d)", reply.Code)
	}
	return errors.New("the mail server offers neither TLS nor a sign-in that Candor knows, or it closed the connection")
}

// plainError says what failed, without the server's text: it repeats the address.
func plainError(err error) error {
	if err == nil {
		return nil
	}
	var sending *mail.SendError
	if errors.As(err, &sending) {
		if code := sending.ErrorCode(); code >= 500 && !sending.IsTemp() {
			return fmt.Errorf("mail: %s (%d): %w", sending.Reason, code, ErrRefused)
		}
		return fmt.Errorf("mail: %s (%d)", sending.Reason, sending.ErrorCode())
	}
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return errors.New("mail: the mail server doesn’t answer in time")
	}
	return errors.New("mail: the mail server can’t be reached or refuses the connection: check CANDOR_SMTP_URL")
}
