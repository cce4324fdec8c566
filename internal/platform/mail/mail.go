// Package mail sends emails by SMTP, or in development stores them in a folder. It
// knows nothing of what an email is about.
package mail

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"
)

// A Message is an email to one person, as plain text and as HTML with the same
// text.
type Message struct {
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	HTML    string    `json:"html"`
	SentAt  time.Time `json:"sent_at"` // set by Folder

	Attachments []Attachment `json:"attachments,omitempty"`

	FromName    string      `json:"from_name,omitempty"`   // the sender's name; "" is the service's own
	ReplyTo     string      `json:"reply_to,omitempty"`    // "" for none
	ID          string      `json:"id,omitempty"`          // of letters and digits, the same at each try; "" makes a new one
	Unsubscribe string      `json:"unsubscribe,omitempty"` // a URL that a POST tells to send no more (RFC 8058); "" for none
	Picture     *Attachment `json:"picture,omitempty"`     // that the HTML shows as cid: and its name; nil for none

	// Claim is called when the server has taken sender and recipient, before it gets the
	// text. If it fails, the email isn't sent, and Send returns that error. nil for none.
	Claim func(ctx context.Context) error `json:"-"`
}

// Claimed calls Claim, for Senders.
func (m *Message) Claimed(ctx context.Context) error {
	if m.Claim == nil {
		return nil
	}
	return m.Claim(ctx)
}

// An Attachment is a file that is sent with an email.
type Attachment struct {
	Name        string `json:"name"`
	ContentType string `json:"content_type"`
	Content     []byte `json:"content"`
}

// A Sender sends emails. Its errors show neither the address nor the text.
type Sender interface {
	// Send sends the email. If the error is ErrRefused, a retry can't succeed.
	Send(ctx context.Context, m Message) error
}

// ErrRefused says that the mail server will never take the email: the address
// doesn't exist or isn't valid.
var ErrRefused = errors.New("the email was refused for good")

// ErrUnanswered says that the mail server got the text, and whether it took it isn't known.
var ErrUnanswered = errors.New("the mail server got the email and didn’t answer")

// The steps of an email that a mail server can refuse.
const (
	StepSender  = "the sender"
	StepAddress = "the address"
	StepEmail   = "the email" // its text
)

// A Reply is the error of a mail server that didn't take the email. If it refuses it for
// good, it is ErrRefused.
type Reply struct {
	Step   string // what was refused, such as StepAddress
	Code   int    // RFC 5321, such as 550
	Status string // RFC 3463, such as 5.1.1; "" for none
	Final  bool
}

// Error names the step and the codes: the server's own text repeats the address.
func (r *Reply) Error() string { return "mail: the server refuses " + r.Step + " (" + r.Codes() + ")" }

// Codes are both codes.
func (r *Reply) Codes() string { return strings.TrimSpace(strconv.Itoa(r.Code) + " " + r.Status) }

// Unwrap is ErrRefused if the reply is final.
func (r *Reply) Unwrap() error {
	if r.Final {
		return ErrRefused
	}
	return nil
}

// Nowhere is the Sender of a service that has no mail server.
type Nowhere struct{}

// Send fails.
func (Nowhere) Send(context.Context, Message) error {
	return errors.New("no mail server is set: emails can’t be sent until CANDOR_SMTP_URL is")
}
