package mail

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	netmail "net/mail"
	"net/textproto"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"
	"golang.org/x/net/idna"
)

const (
	// smtpTimeout bounds each step of the conversation with the mail server, but the last.
	smtpTimeout = 20 * time.Second
	// takeTimeout bounds how long the server has to take an email whose text it has got. It
	// may scan it first; RFC 5321, 4.5.3.2.6, asks for 10 minutes, and a sender is busy so long.
	takeTimeout = 2 * time.Minute
)

// MaxTime is the most that an email takes: five steps and the answer at the end.
const MaxTime = 5*smtpTimeout + takeTimeout

// SMTP sends emails through a mail server. It prints as the server's name.
type SMTP struct {
	host                     string
	from                     *netmail.Address
	options                  []mail.Option
	stepTimeout, takeTimeout time.Duration
}

var _ Sender = (*SMTP)(nil)

// NewSMTP reads smtp://user:password@host:587 or smtps://user:password@host:465.
// An smtp server must offer STARTTLS unless it is this machine. The port and the
// user are optional. From is the sender's address, with or without a name. Its
// errors show no password.
func NewSMTP(server, from string) (*SMTP, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "" || u.Path != "" && u.Path != "/" ||
		u.RawQuery != "" {
		return nil, errors.New(
			"must be smtp://user:password@host:587 or smtps://user:password@host:465, signs such as @ and / in the password written as %40 and %2F")
	}
	sender, err := netmail.ParseAddress(from)
	if err != nil {
		return nil, errors.New("needs CANDOR_MAIL_FROM to be an address such as Candor <no-reply@example.com>")
	}
	s := &SMTP{host: u.Hostname(), from: sender, options: []mail.Option{mail.WithTimeout(smtpTimeout), mail.WithoutNoop()},
		stepTimeout: smtpTimeout, takeTimeout: takeTimeout}
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
		s.options = append(s.options, mail.WithSMTPAuth(mail.SMTPAuthAutoDiscover), mail.WithUsername(u.User.Username()),
			mail.WithPassword(password))
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
	message, err := s.message(&m)
	if err != nil {
		return err
	}
	client, err := mail.NewClient(s.host, s.options...)
	if err != nil {
		return errors.New("mail: the mail server’s settings are not valid")
	}
	conversation, err := client.DialToSMTPClientWithContext(ctx)
	if err != nil {
		return plainError(err)
	}
	defer conversation.Close() // the email's fate is known by then
	if err := s.hand(ctx, conversation, message, &m); err != nil {
		return err
	}
	_ = conversation.Quit() // the email is taken
	return nil
}

// message is the email as the library writes it.
func (s *SMTP) message(m *Message) (*mail.Msg, error) {
	message := mail.NewMsg()
	message.FromMailAddress(&netmail.Address{Name: cmp.Or(m.FromName, s.from.Name), Address: s.from.Address})
	if err := message.To(inASCII(m.To)); err != nil {
		return nil, errNoAddress
	}
	if m.ReplyTo != "" {
		if err := message.ReplyTo(m.ReplyTo); err != nil {
			return nil, errors.New("mail: the address for replies is not valid")
		}
	}
	message.Subject(m.Subject)
	message.SetDate()
	message.SetMessageID()
	if m.ID != "" {
		message.SetMessageIDWithValue(m.ID + s.from.Address[strings.LastIndex(s.from.Address, "@"):])
	}
	message.SetGenHeader("Auto-Submitted", "auto-generated")
	if m.Unsubscribe != "" && message.SetListUnsubscribeOneClick(m.Unsubscribe) != nil {
		message.SetListUnsubscribe(m.Unsubscribe) // in development, without TLS
	}
	message.SetBodyString(mail.TypeTextPlain, m.Text)
	message.AddAlternativeString(mail.TypeTextHTML, m.HTML)
	for _, a := range m.Attachments {
		if err := message.AttachReader(a.Name, bytes.NewReader(a.Content),
			mail.WithFileContentType(mail.ContentType(a.ContentType))); err != nil {
			return nil, errors.New("mail: an attachment can't be read")
		}
	}
	if p := m.Picture; p != nil {
		err := message.EmbedReader(p.Name, bytes.NewReader(p.Content), mail.WithFileContentType(mail.ContentType(p.ContentType)),
			mail.WithFileContentID("<"+p.Name+">"))
		if err != nil {
			return nil, errors.New("mail: a picture can't be read")
		}
	}
	return message, nil
}

// errNoAddress is the error of an address that no server, or not this one, can be told.
var errNoAddress = fmt.Errorf("mail: the address is not valid: %w", ErrRefused)

// inASCII is the address with its domain as the DNS has it (RFC 5891), which every server
// takes. A domain that has no such name stays.
func inASCII(address string) string {
	at := strings.LastIndex(address, "@") + 1
	if isASCII(address[at:]) {
		return address
	}
	if domain, err := idna.Lookup.ToASCII(address[at:]); err == nil {
		return address[:at] + domain
	}
	return address
}

func isASCII(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r > unicode.MaxASCII })
}

// hand gives the email to the server. A server that didn't get the end of the text doesn't
// take the email (RFC 5321, 4.1.1.4).
func (s *SMTP) hand(ctx context.Context, server *smtp.Client, message *mail.Msg, m *Message) error {
	from, err := message.GetSender(false)
	if err != nil {
		return errors.New("mail: the sender’s address is not valid")
	}
	to, err := message.GetRecipients()
	if err != nil {
		return errNoAddress
	}
	if takes, _ := server.Extension("SMTPUTF8"); !takes && !isASCII(to[0]) {
		return errNoAddress
	}
	step := func(name string, timeout time.Duration, do func() error) error {
		if err := server.UpdateDeadline(timeout); err != nil {
			return errLost
		}
		return replyTo(name, do())
	}
	if err := step(StepSender, s.stepTimeout, func() error { return server.Mail(from) }); err != nil {
		return err
	}
	if err := step(StepAddress, s.stepTimeout, func() error { return server.Rcpt(to[0]) }); err != nil {
		return err
	}
	if err := m.Claimed(ctx); err != nil {
		return err
	}
	var text io.WriteCloser
	err = step(StepEmail, s.stepTimeout, func() (err error) {
		text, err = server.Data()
		return err
	})
	if err != nil {
		return err
	}
	if err := server.UpdateDeadline(s.stepTimeout); err != nil {
		return errLost
	}
	if _, err := message.WriteTo(text); err != nil {
		return errLost
	}
	err = step(StepEmail, s.takeTimeout, text.Close)
	if errors.Is(err, errLost) {
		return ErrUnanswered
	}
	return err
}

// errLost is the error of a conversation that broke off.
var errLost = errors.New("mail: the connection to the mail server was lost")

// enhanced is the status with which a server's text begins (RFC 2034).
var enhanced = regexp.MustCompile(`^[245]\.\d{1,3}\.\d{1,3}\b`)

// replyTo is the server's reply to a step as an error; nil if it is fine.
func replyTo(step string, err error) error {
	var reply *textproto.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &reply):
		r := &Reply{Step: step, Code: reply.Code, Status: enhanced.FindString(reply.Msg)}
		r.Final = r.Code >= 500 && !r.isOurs()
		return r
	}
	return errLost
}

// isOurs reports whether it isn't the email that is refused but Candor: its sender's address,
// its network or its sign-in. That is the operator's to mend, so the email is tried again.
// Postfix says it of the address, too (smtpd_delay_reject).
func (r *Reply) isOurs() bool {
	return r.Step == StepSender || r.Code == 530 || r.Code == 535 || r.Code == 538 || r.Status == "5.1.7" || r.Status == "5.1.8" ||
		r.Step == StepAddress && strings.HasPrefix(r.Status, "5.7.")
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

// plainError says why there is no connection, without the server's text.
func plainError(err error) error {
	if network, ok := errors.AsType[net.Error](err); ok && network.Timeout() {
		return errors.New("mail: the mail server doesn’t answer in time")
	}
	return errors.New("mail: the mail server can’t be reached or refuses the connection: check CANDOR_SMTP_URL")
}
