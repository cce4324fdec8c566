// Package mail sends emails by SMTP, or in development stores them in a folder. It
// knows nothing of what an email is about.
package mail

import (
	"context"
	"errors"
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

// Nowhere is the Sender of a service that has no mail server.
type Nowhere struct{}

// Send fails.
func (Nowhere) Send(context.Context, Message) error {
	return errors.New("no mail server is set: emails can’t be sent until CANDOR_SMTP_URL is")
}
