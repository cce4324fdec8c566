// Package smtptest is a mail server for tests: it speaks SMTP on a port of its own, keeps
// what it takes, and answers as a test says. For tests only.
package smtptest

import (
	"bufio"
	"cmp"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
)

// A Server is a mail server.
type Server struct {
	Address string // host:port
	reply   func(command string) string

	mu     sync.Mutex
	emails []Email
}

// An Email is what the server took.
type Email struct {
	To   string
	Text string // headers and body as they came
}

// New starts a server that runs until the test ends. reply answers a command, such as
// "RCPT TO:<jo@customer.example>", and "." for the end of the text; "" answers as a server
// that takes everything, and "-" ends the connection without an answer. nil is "" for all.
func New(t testing.TB, reply func(command string) string) *Server {
	t.Helper()
	s, listener := listen(t)
	if s.reply = reply; reply == nil {
		s.reply = func(string) string { return "" }
	}
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go s.serve(conn)
		}
	}()
	return s
}

// listen gives a new server a port until the test ends.
func listen(t testing.TB) (*Server, net.Listener) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	return &Server{Address: listener.Addr().String()}, listener
}

// keep keeps an email that was taken.
func (s *Server) keep(email Email) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.emails = append(s.emails, email)
}

// Emails returns what the server has taken.
func (s *Server) Emails() []Email {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Email(nil), s.emails...)
}

// fine are the answers of a server that takes everything.
var fine = map[string]string{"EHLO": "250 here", "DATA": "354 send it", "QUIT": "221 bye", ".": "250 taken"}

func (s *Server) answer(command string) string {
	verb, _, _ := strings.Cut(strings.ToUpper(command), " ")
	return cmp.Or(s.reply(command), fine[verb], "250 fine")
}

func (s *Server) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewScanner(conn)
	fmt.Fprint(conn, "220 here\r\n")
	var to string
	for in.Scan() {
		command := in.Text()
		verb, answer := strings.ToUpper(command), s.answer(command)
		if answer == "-" {
			return
		}
		fmt.Fprint(conn, answer+"\r\n")
		switch {
		case verb == "QUIT":
			return
		case strings.HasPrefix(verb, "RCPT TO:"):
			to = strings.Trim(command[len("RCPT TO:"):], "<>")
		case verb == "DATA" && answer[0] == '3':
			if !s.take(conn, in, to) {
				return
			}
		}
	}
}

// take reads a text, and reports whether the conversation continues. A server that
// ends it without an answer has the email.
func (s *Server) take(conn net.Conn, in *bufio.Scanner, to string) bool {
	var text strings.Builder
	for in.Scan() && in.Text() != "." {
		text.WriteString(strings.TrimPrefix(in.Text(), ".") + "\r\n")
	}
	if in.Text() != "." {
		return false
	}
	answer := s.answer(".")
	if answer == "-" || answer[0] == '2' {
		s.keep(Email{To: to, Text: text.String()})
	}
	if answer == "-" {
		return false
	}
	fmt.Fprint(conn, answer+"\r\n")
	return true
}
