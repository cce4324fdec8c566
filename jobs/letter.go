package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/views/email"
)

// letterArgs asks for a letter about one thing. What it says, and to whom, is
// found when it is sent, and so is its link's token, of which only the hash is
// kept: arguments are ids alone.
type letterArgs struct {
	Request    *domain.StaffRequestID `json:"request_id,omitempty"`
	Invitation *domain.InvitationID   `json:"invitation_id,omitempty"`
	Staff      *domain.StaffID        `json:"staff_id,omitempty"` // gets the notice
	Notice     domain.StaffNotice     `json:"notice,omitempty"`
}

// Kind names the job.
func (letterArgs) Kind() string { return "staff_letter" }

// letterRuns is how often a letter is tried.
const letterRuns = 10

// InsertOpts: letters have workers of their own, so that nothing waits for a
// mail server.
func (letterArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queueMail, MaxAttempts: letterRuns}
}

// RequestLetter asks for the letter that proves a request. There is one for
// every address, so that whoever asks learns nothing from what is done; what
// it says depends on who has the address.
func (e *Enqueuer) RequestLetter(ctx context.Context, tx *db.Tx, id domain.StaffRequestID) error {
	_, err := e.insert(ctx, tx, letterArgs{Request: &id})
	return err
}

// InvitationLetter asks for an invitation's letter.
func (e *Enqueuer) InvitationLetter(ctx context.Context, tx *db.Tx, id domain.InvitationID) error {
	_, err := e.insert(ctx, tx, letterArgs{Invitation: &id})
	return err
}

// NoticeLetter asks for a letter that tells a staff user of a change.
func (e *Enqueuer) NoticeLetter(ctx context.Context, tx *db.Tx, staff domain.StaffID, n domain.StaffNotice) error {
	_, err := e.insert(ctx, tx, letterArgs{Staff: &staff, Notice: n})
	return err
}

type letterWorker struct {
	river.WorkerDefaults[letterArgs]
	db      *db.DB
	ring    *keyring.Keyring
	sender  mail.Sender
	baseURL string
	clock   domain.Clock
}

// letterTimeout bounds one run: a conversation with a slow mail server.
const letterTimeout = 90 * time.Second

// Timeout bounds one run.
func (w *letterWorker) Timeout(*river.Job[letterArgs]) time.Duration { return letterTimeout }

// NextRetry spaces failed runs: ten within half an hour, since a link lives for
// an hour.
func (w *letterWorker) NextRetry(job *river.Job[letterArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt) * 30 * time.Second)
}

// Work sends the letter, or none where its reason is gone. A letter that was
// sent twice, because its sending was cut off, works by its last link.
func (w *letterWorker) Work(ctx context.Context, job *river.Job[letterArgs]) error {
	var err error
	switch a := job.Args; {
	case a.Request != nil:
		err = w.sendRequest(ctx, *a.Request)
	case a.Invitation != nil:
		err = w.sendInvitation(ctx, *a.Invitation)
	case a.Staff != nil:
		err = w.sendNotice(ctx, *a.Staff, a.Notice)
	}
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	return err
}

func (w *letterWorker) sendRequest(ctx context.Context, id domain.StaffRequestID) error {
	r, err := w.db.StaffRequest(ctx, id)
	if err != nil || !w.clock.Now().Before(r.ExpiresAt) {
		return err
	}
	plain, err := w.ring.Open(r.SealOwner(), r.Sealed)
	if err != nil {
		return err
	}
	var details domain.RequestDetails
	if err := json.Unmarshal(plain, &details); err != nil {
		return fmt.Errorf("jobs: staff request: %w", err)
	}
	staff, err := w.db.StaffByEmail(ctx, details.Email)
	known := err == nil
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	token, hash := domain.NewToken()
	switch {
	case r.Kind == domain.RequestReset && known:
		if err := w.db.SetStaffRequestToken(ctx, id, hash); err != nil {
			return err
		}
		return w.send(ctx, staff.Email, email.Reset(w.baseURL+"/dashboard/reset/"+token))
	case r.Kind == domain.RequestSignUp && !known:
		if err := w.db.SetStaffRequestToken(ctx, id, hash); err != nil {
			return err
		}
		return w.send(ctx, details.Email, email.SignUp(w.baseURL+"/dashboard/verify/"+token))
	case known:
		if err := w.send(ctx, staff.Email, email.KnownAlready(w.baseURL+"/dashboard/sign-in")); err != nil {
			return err
		}
	}
	return w.db.DropStaffRequest(ctx, id)
}

func (w *letterWorker) sendInvitation(ctx context.Context, id domain.InvitationID) error {
	i, err := w.db.Invitation(ctx, id)
	if err != nil || i.Expired(w.clock.Now()) {
		return err
	}
	switch _, err := w.db.StaffByEmail(ctx, i.Email); {
	case err == nil:
		return w.send(ctx, i.Email, email.InvitedElsewhere(i))
	case !errors.Is(err, db.ErrNotFound):
		return err
	}
	token, hash := domain.NewToken()
	if err := w.db.SetInvitationToken(ctx, id, hash); err != nil {
		return err
	}
	return w.send(ctx, i.Email, email.Invitation(i, w.baseURL+"/dashboard/invitation/"+token))
}

func (w *letterWorker) sendNotice(ctx context.Context, id domain.StaffID, n domain.StaffNotice) error {
	staff, err := w.db.StaffPassword(ctx, id)
	if err != nil {
		return err
	}
	passkeys, err := w.db.Passkeys(ctx, id)
	if err != nil {
		return err
	}
	return w.send(ctx, staff.Email, email.Notice(n, w.baseURL+"/dashboard", passkeys))
}

func (w *letterWorker) send(ctx context.Context, to string, l email.Letter) error {
	return sendLetter(ctx, w.sender, to, l)
}

// sendLetter sends a letter. One that is refused for good ends its job.
func sendLetter(ctx context.Context, by mail.Sender, to string, l email.Letter) error {
	html, err := l.HTML()
	if err != nil {
		return err
	}
	err = by.Send(ctx, mail.Message{To: to, Subject: l.Subject, Text: l.Text(), HTML: html})
	if errors.Is(err, mail.ErrRefused) {
		return river.JobCancel(err)
	}
	return err
}
