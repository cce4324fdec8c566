package jobs

import (
	"context"
	"errors"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/mail"
	"candor/views/email"
)

// accessEmailArgs tells an owner which right a colleague asks for (D136).
type accessEmailArgs struct {
	emailArgs
	Owner  domain.StaffID    `json:"owner_id"`
	Asker  domain.StaffID    `json:"asker_id"`
	Wanted domain.Capability `json:"wanted"`
}

// Kind names the job.
func (accessEmailArgs) Kind() string { return "access_email" }

// AccessEmail tells an owner what a colleague asks for.
func (i *Inserter) AccessEmail(ctx context.Context, tx *db.Tx, owner, asker domain.StaffID, wanted domain.Capability) error {
	return i.insert(ctx, tx, accessEmailArgs{Owner: owner, Asker: asker, Wanted: wanted})
}

type accessEmailWorker struct {
	emailWorker[accessEmailArgs]
	db      *db.DB
	sender  mail.Sender
	baseURL string
}

// Work sends the email, unless one of the two has left, or the colleague has the right
// by now.
func (w *accessEmailWorker) Work(ctx context.Context, job *river.Job[accessEmailArgs]) error {
	owner, err := w.db.StaffPassword(ctx, job.Args.Owner)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	asker, err := w.db.StaffPassword(ctx, job.Args.Asker)
	if errors.Is(err, db.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if owner.Role != domain.RoleOwner || owner.AccountID != asker.AccountID || asker.May(job.Args.Wanted) {
		return nil
	}
	company, err := w.db.SSOConnection(ctx, asker.AccountID)
	if err != nil && !errors.Is(err, db.ErrNotFound) {
		return err
	}
	return sendEmail(ctx, w.sender, owner.Email, email.Access(&asker.Staff, job.Args.Wanted,
		asker.Joined && company.GroupsClaim != "", w.baseURL+"/dashboard/live/team"))
}
