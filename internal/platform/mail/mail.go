// Package mail sends letters: by SMTP, or in development into a folder, where
// they can be read. It knows nothing of what a letter is about.
package mail

import (
	"context"
	"errors"
	"time"
)

// A Message is a letter to one person, as plain text and as HTML that says the
// same.
type Message struct {
	To      string    `json:"to"`
	Subject string    `json:"subject"`
	Text    string    `json:"text"`
	HTML    string    `json:"html"`
	SentAt  time.Time `json:"sent_at"` // set by Folder
}

// A Sender sends letters. Its errors show neither the address nor the letter.
type Sender interface {
	// Send sends the letter. An error that is ErrRefused won't go away by
	// trying again.
	Send(ctx context.Context, m Message) error
}

// ErrRefused says that the letter will never be taken: the address doesn't
// exist, or is none.
var ErrRefused = errors.New("the letter was refused for good")

// Nowhere is the Sender of a service that has no mail server.
type Nowhere struct{}

// Send fails.
func (Nowhere) Send(context.Context, Message) error {
	return errors.New("no mail server is set: letters can’t be sent until CANDOR_SMTP_URL is")
}
