package mail_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"log/slog"
	"mime"
	"net"
	"net/mail"
	"strings"
	"testing"
	"time"

	sending "candor/internal/platform/mail"
	"candor/internal/testkit/smtptest"
)

// server is a mail server that answers RCPT with reply.
func server(t *testing.T, reply string) *smtptest.Server {
	t.Helper()
	return smtptest.New(t, func(command string) string {
		if strings.HasPrefix(command, "RCPT") {
			return reply
		}
		return ""
	})
}

func send(t *testing.T, address string, m sending.Message) error {
	t.Helper()
	smtp, err := sending.NewSMTP("smtp://"+address, "Candor <no-reply@candor.example>")
	if err != nil {
		t.Fatal(err)
	}
	return smtp.Send(context.Background(), m)
}

func TestSMTP(t *testing.T) {
	t.Parallel()
	taken := server(t, "250 fine")
	m := sending.Message{
		To: "sam@lender.example", Subject: "Join Łukasz\r\nBcc: victim@example.com", Text: "Open https://candor.example/x\n",
		HTML: "<p>Open</p>",
		Attachments: []sending.Attachment{{Name: "CAN-000042.pdf", ContentType: "application/pdf",
			Content: []byte("%PDF-1.4 made up")}},
	}
	if err := send(t, taken.Address, m); err != nil {
		t.Fatal(err)
	}
	email, err := mail.ReadMessage(strings.NewReader(taken.Emails()[0].Text))
	if err != nil {
		t.Fatal(err)
	}
	h := email.Header
	subject, err := new(mime.WordDecoder).DecodeHeader(h.Get("Subject"))
	if err != nil || !strings.HasPrefix(subject, "Join Łukasz") {
		t.Errorf("subject %q, %v", subject, err)
	}
	if h.Get("Bcc") != "" {
		t.Error("a line break in the subject made a header")
	}
	if h.Get("From") != `"Candor" <no-reply@candor.example>` || h.Get("To") != "<sam@lender.example>" ||
		h.Get("Auto-Submitted") == "" || h.Get("Message-ID") == "" {
		t.Errorf("headers %v", h)
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(email.Body); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"text/plain", "text/html", "https://candor.example/x", "multipart/alternative",
		`Content-Type: application/pdf; name="CAN-000042.pdf"`, `Content-Disposition: attachment; filename="CAN-000042.pdf"`,
		base64.StdEncoding.EncodeToString([]byte("%PDF-1.4 made up"))} {
		if !strings.Contains(body.String(), part) {
			t.Errorf("the email lacks %s:\n%s", part, body.String())
		}
	}
}

func TestSMTPRefused(t *testing.T) {
	t.Parallel()
	for reply, forGood := range map[string]bool{
		"550 no such user sam@lender.example":         true,
		"451 greylisted, sam@lender.example, wait":    false,
		"421 too many connections sam@lender.example": false,
	} {
		err := send(t, server(t, reply).Address, sending.Message{To: "sam@lender.example", Subject: "Hello", Text: "Hello",
			HTML: "Hello"})
		if err == nil || errors.Is(err, sending.ErrRefused) != forGood {
			t.Errorf("%s: %v, refused for good: want %t", reply, err, forGood)
		}
		if err != nil && strings.Contains(err.Error(), "sam@") {
			t.Errorf("%s: the error names the address: %v", reply, err)
		}
	}
	err := send(t, "127.0.0.1:1", sending.Message{To: "sam@lender.example"})
	if err == nil || errors.Is(err, sending.ErrRefused) || strings.Contains(err.Error(), "sam@") {
		t.Errorf("no server: %v", err)
	}
	if err := send(t, "127.0.0.1:1", sending.Message{To: "no address"}); !errors.Is(err, sending.ErrRefused) {
		t.Errorf("not an address: %v, want ErrRefused", err)
	}
}

// TestSMTPClaims: an email is claimed after the server has taken the address and before it
// gets the text, and what the server answers says whether it may be tried again (D105).
func TestSMTPClaims(t *testing.T) {
	t.Parallel()
	errNo := errors.New("not wanted")
	for name, tt := range map[string]struct {
		step, answer string
		claim        error
		claimed      bool
		want         error // nil: a failure that may be tried again
		codes        string
		taken        int
	}{
		"fine":                    {"", "", nil, true, nil, "", 1},
		"not wanted any more":     {"", "", errNo, true, errNo, "", 0},
		"no such address":         {"RCPT", "550 5.1.1 no jo@customer.example", nil, false, sending.ErrRefused, "550 5.1.1", 0},
		"greylisted":              {"RCPT", "451 4.7.1 wait, jo@customer.example", nil, false, nil, "451 4.7.1", 0},
		"no text":                 {"DATA", "554 not now", nil, true, sending.ErrRefused, "554", 0},
		"unwanted":                {".", "554 5.7.1 spam", nil, true, sending.ErrRefused, "554 5.7.1", 0},
		"full":                    {".", "452 4.2.2 full", nil, true, nil, "452 4.2.2", 0},
		"taken without an answer": {".", "-", nil, true, sending.ErrUnanswered, "", 1},
		"lost before the text":    {"DATA", "-", nil, true, nil, "", 0},
		"another sender":          {"MAIL", "550 5.7.1 not you", nil, false, nil, "550 5.7.1", 0},
		"not our network":         {"RCPT", "554 5.7.1 Client host rejected", nil, false, nil, "554 5.7.1", 0},
		"not our address":         {"RCPT", "550 5.1.8 Sender address rejected", nil, false, nil, "550 5.1.8", 0},
		"signed out":              {"DATA", "530 sign in first", nil, true, nil, "530", 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := smtptest.New(t, func(command string) string {
				if tt.step != "" && strings.HasPrefix(command, tt.step) {
					return tt.answer
				}
				return ""
			})
			claimed := false
			err := send(t, server.Address, sending.Message{
				To: "jo@customer.example", Subject: "Hello", Text: "Hello", HTML: "Hello",
				Claim: func(context.Context) error { claimed = true; return tt.claim },
			})
			if claimed != tt.claimed || len(server.Emails()) != tt.taken {
				t.Errorf("claimed %t, taken %d, want %t, %d", claimed, len(server.Emails()), tt.claimed, tt.taken)
			}
			var reply *sending.Reply
			if name != "fine" && err == nil || tt.want != nil && !errors.Is(err, tt.want) || tt.want == nil &&
				(errors.Is(err, sending.ErrRefused) || errors.Is(err, sending.ErrUnanswered)) {
				t.Errorf("%v, want %v", err, tt.want)
			}
			if errors.As(err, &reply) != (tt.codes != "") || reply != nil && reply.Codes() != tt.codes {
				t.Errorf("%v, want the codes %q", err, tt.codes)
			}
			if err != nil && strings.Contains(err.Error(), "jo@") {
				t.Errorf("the error names the address: %v", err)
			}
		})
	}
}

// TestSMTPWaitsForASlowServer, which scans a text before it takes it: as long as it doesn't
// answer, whether the customer gets the email isn't known (RFC 5321, 4.5.3.2.6).
func TestSMTPWaitsForASlowServer(t *testing.T) {
	t.Parallel()
	const step = 2 * time.Second
	server := smtptest.New(t, func(command string) string {
		if command == "." {
			<-time.After(step * 3 / 2)
		}
		return ""
	})
	slow, err := sending.NewSMTP("smtp://"+server.Address, "Candor <no-reply@candor.example>")
	if err != nil {
		t.Fatal(err)
	}
	slow.SetTimeouts(step, time.Minute)
	m := sending.Message{To: "jo@customer.example", Subject: "Hello", Text: "Hello", HTML: "Hello"}
	if err := slow.Send(t.Context(), m); err != nil {
		t.Errorf("%v, want the email taken", err)
	}
}

// TestSMTPAddressesOfOtherScripts: a domain goes to the server as the DNS has it, and what is
// before the @ only to a server that knows SMTPUTF8 (RFC 6531).
func TestSMTPAddressesOfOtherScripts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		to, ehlo, want string // "" for an address that is refused
	}{
		{"jo@Bücher.example", "", "jo@xn--bcher-kva.example"},
		{"jo@my_firm.example", "", "jo@my_firm.example"},
		{"jörg@bücher.example", "", ""},
		{"jörg@bücher.example", "250-here\r\n250 SMTPUTF8", "jörg@xn--bcher-kva.example"},
	} {
		server := smtptest.New(t, func(command string) string {
			if strings.HasPrefix(command, "EHLO") {
				return tt.ehlo
			}
			return ""
		})
		err := send(t, server.Address, sending.Message{To: tt.to, Subject: "Hello", Text: "Hello", HTML: "Hello"})
		var reply *sending.Reply
		emails := server.Emails()
		switch {
		case tt.want == "" && (!errors.Is(err, sending.ErrRefused) || errors.As(err, &reply) || len(emails) > 0):
			t.Errorf("%s: %v, want it refused without asking the server", tt.to, err)
		case tt.want != "" && (err != nil || len(emails) != 1 || emails[0].To != tt.want ||
			!strings.Contains(emails[0].Text, "@"+strings.Split(tt.want, "@")[1])):
			t.Errorf("%s: %v, %v, want it sent to %s", tt.to, err, emails, tt.want)
		}
	}
}

// TestSMTPHeaders are those of an email that Candor sends for a partner (D103, D104).
func TestSMTPHeaders(t *testing.T) {
	t.Parallel()
	server := smtptest.New(t, nil)
	err := send(t, server.Address, sending.Message{
		To: "jo@customer.example", Subject: "财务状况表", Text: "Hello", HTML: `<img src="cid:logo">`,
		FromName: "Harbour \"<x@evil.example>, & Łodz\r\nBcc: x@evil.example via Candor",
		ReplyTo:  "help@harbour.example", ID: "0123abcd", Unsubscribe: "https://candor.example/f/sess_1/reminders/x",
		Picture: &sending.Attachment{Name: "logo", ContentType: "image/png", Content: []byte("made up")},
	})
	if err != nil {
		t.Fatal(err)
	}
	email, err := mail.ReadMessage(strings.NewReader(server.Emails()[0].Text))
	if err != nil {
		t.Fatal(err)
	}
	from, err := email.Header.AddressList("From")
	if err != nil || len(from) != 1 || from[0].Address != "no-reply@candor.example" || !strings.HasPrefix(from[0].Name,
		`Harbour "<x@evil.example>, & Łodz`) {
		t.Errorf("From: %v, %v", from, err)
	}
	for header, want := range map[string]string{
		"Reply-To": "<help@harbour.example>", "Message-ID": "<0123abcd@candor.example>", "Bcc": "",
		"List-Unsubscribe": "<https://candor.example/f/sess_1/reminders/x>", "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
	} {
		if got := email.Header.Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(email.Body); err != nil || !strings.Contains(body.String(), "Content-Id: <logo>") ||
		!strings.HasPrefix(email.Header.Get("Content-Type"), "multipart/related") {
		t.Errorf("%v: no picture within the email:\n%s", err, body.String())
	}
}

// TestSMTPAsksForTLS: a remote server without TLS gets no email.
func TestSMTPAsksForTLS(t *testing.T) {
	t.Parallel()
	taken := server(t, "250 fine")
	_, port, err := net.SplitHostPort(taken.Address)
	if err != nil {
		t.Fatal(err)
	}
	const host = "0.0.0.0" // this machine, and not spelled as such
	if err := send(t, net.JoinHostPort(host, port), sending.Message{To: "sam@lender.example", Subject: "Hello", Text: "Hello",
		HTML: "Hello"}); err == nil {
		t.Error("an email was sent in clear")
	}
	if emails := taken.Emails(); len(emails) > 0 {
		t.Errorf("the server got %v", emails)
	}
}

func TestFolder(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	folder, err := sending.NewFolder(t.TempDir()+"/mail", slog.New(slog.NewJSONHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 102 {
		m := sending.Message{To: "sam@lender.example", Subject: fmt.Sprint("Email ", i), Text: "secret link"}
		if err := folder.Send(context.Background(), m); err != nil {
			t.Fatal(err)
		}
	}
	emails, err := folder.Emails()
	if err != nil || len(emails) != 100 || emails[0].Subject != "Email 101" || emails[99].Subject != "Email 2" ||
		emails[0].SentAt.IsZero() {
		t.Errorf("%d emails, %v, want the last 100, latest first", len(emails), err)
	}
	if strings.Contains(log.String(), "secret link") || strings.Contains(log.String(), "sam@") ||
		!strings.Contains(log.String(), "Email 101") {
		t.Errorf("the log shows an address or the text, or no subject: %.200s", log.String())
	}
}
