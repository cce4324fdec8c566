package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/internal/platform/mail"
	"candor/views/email"
)

const (
	// emailRuns is how often an email is tried.
	emailRuns = 10
	// emailTimeout bounds one run: a conversation with a slow mail server, and what is read and
	// stored.
	emailTimeout = mail.MaxTime + 20*time.Second
)

// emailArgs is in the arguments of each email that needs no options of its own.
type emailArgs struct{}

// InsertOpts: emails have their own queue, so that nothing else waits for a mail
// server.
func (emailArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueMail, MaxAttempts: emailRuns}
}

// emailWorker is in the workers of all emails.
type emailWorker[A river.JobArgs] struct{ river.WorkerDefaults[A] }

// Timeout bounds one run.
func (emailWorker[A]) Timeout(*river.Job[A]) time.Duration { return emailTimeout }

// sendEmail sends an email with files, as sendMessage does.
func sendEmail(ctx context.Context, by mail.Sender, to string, m email.Email, files ...mail.Attachment) error {
	return sendMessage(ctx, by, m, mail.Message{To: to, Attachments: files})
}

// sendMessage sends an email. If the mail server refuses it for good, the job ends; if it may
// have it, too (errorLog).
func sendMessage(ctx context.Context, by mail.Sender, m email.Email, message mail.Message) (err error) {
	message.Subject, message.Text = m.Subject, m.Text()
	if message.HTML, err = m.HTML(); err != nil {
		return err
	}
	err = by.Send(ctx, message)
	if errors.Is(err, mail.ErrRefused) {
		return river.JobCancel(err)
	}
	return err
}
