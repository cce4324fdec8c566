package mail_test

import (
	"bufio"
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

	sending "candor/internal/platform/mail"
)

// server is a mail server that answers RCPT with reply and takes one email. It
// returns its address and what it was sent.
func server(t *testing.T, reply string) (address string, email <-chan string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	taken := make(chan string, 1)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		serve(conn, reply, taken)
	}()
	return listener.Addr().String(), taken
}

func serve(conn net.Conn, reply string, taken chan<- string) {
	in := bufio.NewScanner(conn)
	say := func(line string) { fmt.Fprintf(conn, "%s\r\n", line) }
	say("220 here")
	for in.Scan() {
		switch verb, _, _ := strings.Cut(in.Text(), " "); strings.ToUpper(verb) {
		case "EHLO":
			say("250 here")
		case "RCPT":
			say(reply)
		case "DATA":
			say("354 send it")
			var email strings.Builder
			for in.Scan() && in.Text() != "." {
				email.WriteString(in.Text() + "\r\n")
			}
			taken <- email.String()
			say("250 taken")
		case "QUIT":
			say("221 bye")
			return
		default:
			say("250 fine")
		}
	}
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
	address, taken := server(t, "250 fine")
	m := sending.Message{
		To: "sam@lender.example", Subject: "Join Łukasz\r\nBcc: victim@example.com", Text: "Open https://candor.example/x\n", HTML: "<p>Open</p>",
		Attachments: []sending.Attachment{{Name: "CAN-000042.pdf", ContentType: "application/pdf", Content: []byte("%PDF-1.4 made up")}},
	}
	if err := send(t, address, m); err != nil {
		t.Fatal(err)
	}
	email, err := mail.ReadMessage(strings.NewReader(<-taken))
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
	if h.Get("From") != `"Candor" <no-reply@candor.example>` || h.Get("To") != "<sam@lender.example>" || h.Get("Auto-Submitted") == "" || h.Get("Message-ID") == "" {
		t.Errorf("headers %v", h)
	}
	var body bytes.Buffer
	if _, err := body.ReadFrom(email.Body); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"text/plain", "text/html", "https://candor.example/x", "multipart/alternative", `Content-Type: application/pdf; name="CAN-000042.pdf"`, `Content-Disposition: attachment; filename="CAN-000042.pdf"`, base64.StdEncoding.EncodeToString([]byte("%PDF-1.4 made up"))} {
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
		address, _ := server(t, reply)
		err := send(t, address, sending.Message{To: "sam@lender.example", Subject: "Hello", Text: "Hello", HTML: "Hello"})
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

// TestSMTPAsksForTLS: a remote server without TLS gets no email.
func TestSMTPAsksForTLS(t *testing.T) {
	t.Parallel()
	address, taken := server(t, "250 fine")
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	const host = "0.0.0.0" // this machine, and not spelled as such
	if err := send(t, net.JoinHostPort(host, port), sending.Message{To: "sam@lender.example", Subject: "Hello", Text: "Hello", HTML: "Hello"}); err == nil {
		t.Error("an email was sent in clear")
	}
	select {
	case email := <-taken:
		t.Errorf("the server got %s", email)
	default:
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
	if err != nil || len(emails) != 100 || emails[0].Subject != "Email 101" || emails[99].Subject != "Email 2" || emails[0].SentAt.IsZero() {
		t.Errorf("%d emails, %v, want the last 100, latest first", len(emails), err)
	}
	if strings.Contains(log.String(), "secret link") || strings.Contains(log.String(), "sam@") || !strings.Contains(log.String(), "Email 101") {
		t.Errorf("the log shows an address or the text, or no subject: %.200s", log.String())
	}
}
