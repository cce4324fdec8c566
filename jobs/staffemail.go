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

// staffEmailArgs sends an email to staff about one thing. The worker finds the
// text and the recipient, and makes the link's token, of which only the hash is
// stored: arguments are ids.
type staffEmailArgs struct {
	emailArgs
	Request    *domain.StaffRequestID `json:"request_id,omitempty"`
	Invitation *domain.InvitationID   `json:"invitation_id,omitempty"`
	Staff      *domain.StaffID        `json:"staff_id,omitempty"` // gets the notice
	Notice     domain.StaffNotice     `json:"notice,omitempty"`
}

// Kind names the job, by the term of when it was first stored.
func (staffEmailArgs) Kind() string { return "staff_letter" }

// RequestEmail sends the email that proves a request. Every address gets a job,
// so that a request doesn't reveal which addresses have an account. The email's
// text depends on that.
func (i *Inserter) RequestEmail(ctx context.Context, tx *db.Tx, id domain.StaffRequestID) error {
	return i.insert(ctx, tx, staffEmailArgs{Request: &id})
}

// InvitationEmail sends an invitation to a team.
func (i *Inserter) InvitationEmail(ctx context.Context, tx *db.Tx, id domain.InvitationID) error {
	return i.insert(ctx, tx, staffEmailArgs{Invitation: &id})
}

// NoticeEmail tells a staff user of a change.
func (i *Inserter) NoticeEmail(ctx context.Context, tx *db.Tx, staff domain.StaffID, n domain.StaffNotice) error {
	return i.insert(ctx, tx, staffEmailArgs{Staff: &staff, Notice: n})
}

type staffEmailWorker struct {
	emailWorker[staffEmailArgs]
	db      *db.DB
	ring    *keyring.Keyring
	sender  mail.Sender
	baseURL string
	clock   domain.Clock
}

// NextRetry spaces failed runs: ten within half an hour, because a link expires
// after an hour.
func (w *staffEmailWorker) NextRetry(job *river.Job[staffEmailArgs]) time.Time {
	return time.Now().Add(time.Duration(job.Attempt) * 30 * time.Second)
}

// Work sends the email, unless its reason is gone. If a run is cut off after the
// mail server took the email, the next run sends it again with another link, and
// only the latest link works.
func (w *staffEmailWorker) Work(ctx context.Context, job *river.Job[staffEmailArgs]) error {
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

func (w *staffEmailWorker) sendRequest(ctx context.Context, id domain.StaffRequestID) error {
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
	known := err == nil && (r.Kind != domain.RequestReset || !staff.OnlyByCompany())
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	token, hash := domain.NewToken()
	switch {
	case r.Kind == domain.RequestReset && known:
		if err := w.db.SetStaffRequestToken(ctx, id, hash); err != nil {
			return err
		}
		return sendEmail(ctx, w.sender, staff.Email, email.Reset(w.baseURL+"/dashboard/reset/"+token))
	case r.Kind == domain.RequestSignUp && !known:
		if err := w.db.SetStaffRequestToken(ctx, id, hash); err != nil {
			return err
		}
		return sendEmail(ctx, w.sender, details.Email, email.SignUp(w.baseURL+"/dashboard/verify/"+token))
	case known:
		if err := sendEmail(ctx, w.sender, staff.Email, email.KnownAlready(w.baseURL+"/dashboard/sign-in")); err != nil {
			return err
		}
	}
	return w.db.DropStaffRequest(ctx, id)
}

func (w *staffEmailWorker) sendInvitation(ctx context.Context, id domain.InvitationID) error {
	i, err := w.db.Invitation(ctx, id)
	if err != nil || i.Expired(w.clock.Now()) {
		return err
	}
	switch _, err := w.db.StaffByEmail(ctx, i.Email); {
	case err == nil:
		return sendEmail(ctx, w.sender, i.Email, email.InvitedElsewhere(i))
	case !errors.Is(err, db.ErrNotFound):
		return err
	}
	token, hash := domain.NewToken()
	if err := w.db.SetInvitationToken(ctx, id, hash); err != nil {
		return err
	}
	return sendEmail(ctx, w.sender, i.Email, email.Invitation(i, w.baseURL+"/dashboard/invitation/"+token))
}

func (w *staffEmailWorker) sendNotice(ctx context.Context, id domain.StaffID, n domain.StaffNotice) error {
	staff, err := w.db.StaffPassword(ctx, id)
	if err != nil {
		return err
	}
	passkeys, err := w.db.Passkeys(ctx, id)
	if err != nil {
		return err
	}
	account, err := w.db.Account(ctx, staff.AccountID)
	if err != nil {
		return err
	}
	return sendEmail(ctx, w.sender, staff.Email, email.Notice(n, w.baseURL+"/dashboard", passkeys, account.Zone()))
}
