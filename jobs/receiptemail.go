package jobs

import (
	"context"
	"errors"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/internal/vault"
	"candor/views/email"
	"candor/views/i18n"
)

// receiptEmailArgs tells a session's customer that the statement arrived (D83).
type receiptEmailArgs struct {
	SessionID domain.SessionID `json:"session_id" river:"unique"`
	Language  domain.Language  `json:"language"` // of the page that was signed
}

// Kind names the job.
func (receiptEmailArgs) Kind() string { return "customer_receipt" }

// InsertOpts puts it into the queue of all emails.
func (receiptEmailArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueMail, MaxAttempts: emailRuns, UniqueOpts: river.UniqueOpts{ByArgs: true}}
}

// ReceiptToCustomer tells a session's customer that the statement arrived.
func (i *Inserter) ReceiptToCustomer(ctx context.Context, tx *db.Tx, id domain.SessionID, language domain.Language) error {
	return i.insert(ctx, tx, receiptEmailArgs{SessionID: id, Language: language})
}

type receiptEmailWorker struct {
	emailWorker[receiptEmailArgs]
	db     *db.DB
	vault  *vault.Vault
	sender mail.Sender
	clock  domain.Clock
}

// NextRetry spaces failed runs: ten within a day.
func (w *receiptEmailWorker) NextRetry(job *river.Job[receiptEmailArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt*job.Attempt) * 4 * time.Minute)
}

// Work sends the email, unless it was sent, the partner has switched it off, or the
// answers or the customer are erased. The row that says it was sent commits just before the
// mail server gets the text, so no second one is sent, whatever becomes of the first.
func (w *receiptEmailWorker) Work(ctx context.Context, job *river.Job[receiptEmailArgs]) error {
	session, err := w.db.SessionByID(ctx, job.Args.SessionID)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	account, err := w.db.Account(ctx, session.AccountID)
	if err != nil {
		return err
	}
	if !account.ReceiptEmail || !session.Livemode || session.Status != domain.Completed || session.ErasedAt != nil ||
		session.CustomerErasedAt != nil || session.DataErasedAt != nil {
		return nil
	}
	answers, err := w.vault.Statement(ctx, w.db, session.ID)
	if err != nil {
		return err
	}
	zone, _ := answers.Personal.Address.Zone() // the customer's clock, as on the PDF
	in := i18n.At(i18n.In(ctx, job.Args.Language), zone)
	var first bool
	var unclaimed error
	at := w.clock.Now().Truncate(time.Microsecond) // as it is stored
	err = sendMessage(ctx, w.sender, email.Received(in, account, session), mail.Message{To: session.CustomerEmail,
		Claim: func(ctx context.Context) error {
			if first, unclaimed = w.db.InsertCustomerReceipt(ctx, session.ID, at); unclaimed == nil && !first {
				unclaimed = errNotWanted
			}
			return unclaimed
		}})
	switch {
	case errors.Is(unclaimed, errNotWanted):
		return nil
	case err == nil || unclaimed == nil && !first || errors.Is(err, mail.ErrUnanswered):
		return err
	}
	// It is tried again. A claim whose commit wasn't answered can stand, too.
	return errors.Join(err, w.db.DeleteCustomerReceipt(context.WithoutCancel(ctx), session.ID, at))
}

// errNotWanted says that the email was sent, or that the session was erased since.
var errNotWanted = errors.New("jobs: the email isn’t to be sent")
