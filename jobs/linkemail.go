package jobs

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strconv"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/keyring"
	"candor/internal/platform/mail"
	"candor/internal/statement"
	"candor/internal/vault"
	"candor/views/email"
	"candor/views/i18n"
)

// linkEmailArgs sends the email with a session's link that is due, if any: the link itself
// or a reminder (D103, D104).
type linkEmailArgs struct {
	SessionID domain.SessionID `json:"session_id" river:"unique"`
	AccountID domain.AccountID `json:"account_id,omitzero"` // whose waiting links are counted; zero if the sweep found it
	priority  int
}

// The priorities of emails with links in their queue; those to staff, who wait for them, have
// the first. Links go before reminders, of which a night's are all due at 8 o'clock, and each
// account's first links before the many of another (D106).
const (
	linkPriority      = 2
	manyLinksPriority = 3
	reminderPriority  = 4
	// promptLinks is how many links of an account can wait before others' go first.
	promptLinks = 50
)

// Kind names the job.
func (linkEmailArgs) Kind() string { return "session_email" }

// InsertOpts: what a mail server doesn't take is another job, later.
func (a linkEmailArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{
		Queue: queueMail, Priority: cmp.Or(a.priority, reminderPriority), MaxAttempts: emailRuns, UniqueOpts: unfinished,
	}
}

// LinkEmail looks which email with a session's link is due, and sends it after the links that
// were asked for now.
func (i *Inserter) LinkEmail(ctx context.Context, tx *db.Tx, id domain.SessionID) error {
	return i.insert(ctx, tx, linkEmailArgs{SessionID: id})
}

// SendLink sends a session's link that was asked for now.
func (i *Inserter) SendLink(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	waiting, err := tx.WaitingLinks(ctx, session.AccountID, promptLinks)
	if err != nil {
		return err
	}
	args := linkEmailArgs{SessionID: session.ID, AccountID: session.AccountID, priority: linkPriority}
	if waiting == promptLinks {
		args.priority = manyLinksPriority
	}
	return i.insert(ctx, tx, args)
}

type linkEmailWorker struct {
	emailWorker[linkEmailArgs]
	db       *db.DB
	vault    *vault.Vault
	ring     *keyring.Keyring
	sender   mail.Sender
	baseURL  string
	clock    domain.Clock
	observer Observer
}

// NextRetry spaces runs that failed on our side.
func (w *linkEmailWorker) NextRetry(job *river.Job[linkEmailArgs]) time.Time {
	return retryAt(job.Attempt)
}

// Work sends at most one email. Its truth is in the rows of link_delivery and link_email
// (D105), so that it may run twice and be killed anywhere.
func (w *linkEmailWorker) Work(ctx context.Context, job *river.Job[linkEmailArgs]) error {
	id, now := job.Args.SessionID, w.clock.Now()
	delivery, err := w.db.LinkDelivery(ctx, id)
	if errors.Is(err, db.ErrNotFound) { // erased
		return nil
	}
	if err != nil {
		return err
	}
	session, err := w.db.SessionByID(ctx, id)
	if err != nil {
		return err
	}
	if cut := delivery.Sending(); cut != nil { // a run died after the mail server got the text
		cut.End(domain.LinkUnknown, "", now)
		return w.save(ctx, session, delivery, cut, nil)
	}
	if e := delivery.Overtaken(session, now); e != nil {
		e.End(domain.LinkNotSent, domain.LinkProblemNotWanted, now)
		return w.save(ctx, session, delivery, e, nil)
	}
	kind, at := delivery.Next(session, now)
	if kind == "" || at.After(now) {
		return w.db.LookAtLinkDelivery(ctx, session, delivery, delivery.LookAt(session, now))
	}
	customer, err := w.customer(ctx, session)
	if err != nil {
		return err
	}
	morning := domain.InDaytime(now, customer.zone)
	if kind != domain.LinkItself && session.Livemode && morning.After(now) {
		return w.db.LookAtLinkDelivery(ctx, session, delivery, &morning)
	}
	e := delivery.Email(kind)
	if e == nil {
		delivery.Emails = append(delivery.Emails, domain.LinkEmail{Kind: kind, State: domain.LinkQueued})
		e = delivery.Email(kind)
	}
	if e.EndedAt != nil { // the last reminder, for a former end
		e.SendAgain()
	}
	return w.send(ctx, session, delivery, e, customer)
}

// save stores what became of an email, and when a worker looks again: at retry if it isn't
// nil.
func (w *linkEmailWorker) save(ctx context.Context, session *domain.Session, delivery *domain.LinkDelivery, e *domain.LinkEmail,
	retry *time.Time) error {
	if retry == nil {
		retry = delivery.LookAt(session, w.clock.Now())
	}
	err := w.db.InTx(ctx, func(tx *db.Tx) error { return tx.SaveLinkEmail(ctx, session, delivery, e, retry) })
	if err == nil {
		w.observer.LinkEmailed(e.Kind, e.State)
	}
	return err
}

// linkCustomer is what an email needs to know of a session's customer.
type linkCustomer struct {
	account *domain.Account
	zone    *time.Location
	section string // the title of the first one that isn't completed
}

func (w *linkEmailWorker) customer(ctx context.Context, session *domain.Session) (*linkCustomer, error) {
	account, err := w.db.Account(ctx, session.AccountID)
	if err != nil {
		return nil, err
	}
	out := &linkCustomer{account: account, zone: account.Zone()}
	stored, err := w.vault.Form(ctx, w.db, session.ID)
	if err != nil {
		return nil, err
	}
	answers, err := stored.Statement()
	if err != nil {
		return nil, err
	}
	if zone, known := answers.HomeZone(); known {
		out.zone = zone
	}
	completed := map[string]bool{}
	for _, s := range stored.Sections {
		completed[s.Name] = s.CompletedAt != nil
	}
	for _, name := range statement.SectionNames {
		if !completed[name] {
			out.section = statement.Title(name)
			break
		}
	}
	return out, nil
}

func (w *linkEmailWorker) send(ctx context.Context, session *domain.Session, delivery *domain.LinkDelivery, e *domain.LinkEmail,
	customer *linkCustomer) error {
	if known, err := w.mayGet(ctx, session); err != nil || !known {
		if err == nil {
			e.End(domain.LinkNotSent, domain.LinkProblemTestMode, w.clock.Now())
			err = w.save(ctx, session, delivery, e, nil)
		}
		return err
	}
	message, err := w.message(ctx, session, delivery, e.Kind, customer)
	if err != nil {
		return err
	}
	var unclaimed error
	message.Claim = func(ctx context.Context) error {
		unclaimed = w.db.ClaimLinkEmail(ctx, session.ID, e, w.clock.Now())
		return unclaimed
	}
	err = w.sender.Send(ctx, *message)
	now := w.clock.Now()
	ctx = context.WithoutCancel(ctx) // what became of it is to be stored
	switch {
	case errors.Is(unclaimed, db.ErrState): // not wanted any more, since now
		return w.db.LookAtLinkDelivery(ctx, session, delivery, &now)
	case unclaimed != nil:
		return unclaimed
	}
	return w.save(ctx, session, delivery, e, outcome(e, err, now))
}

// outcome notes what came of a try, and returns when the next one is; nil for none.
func outcome(e *domain.LinkEmail, err error, now time.Time) (retry *time.Time) {
	problem := domain.LinkProblemUnreachable
	var reply *mail.Reply
	if errors.As(err, &reply) {
		problem = reply.Codes()
		if reply.Status == "" && reply.Step != mail.StepAddress { // the code alone would say it of the address
			problem += " to " + reply.Step
		}
	}
	e.Try(now)
	switch {
	case err == nil:
		e.End(domain.LinkSent, "", now)
	case errors.Is(err, mail.ErrUnanswered):
		e.End(domain.LinkUnknown, "", now)
	case errors.Is(err, mail.ErrRefused) && reply == nil:
		e.End(domain.LinkFailed, domain.LinkProblemNoAddress, now)
	case errors.Is(err, mail.ErrRefused):
		e.End(domain.LinkFailed, problem, now)
	default:
		at := e.Retry(problem, now)
		return &at
	}
	return nil
}

// mayGet reports whether the customer may get emails: in test mode only people of the
// account's own team (D106).
func (w *linkEmailWorker) mayGet(ctx context.Context, session *domain.Session) (bool, error) {
	if session.Livemode {
		return true, nil
	}
	staff, err := w.db.StaffByEmail(ctx, session.CustomerEmail)
	if errors.Is(err, db.ErrNotFound) {
		return false, nil
	}
	return err == nil && staff.AccountID == session.AccountID, err
}

// message is the email, with its link.
func (w *linkEmailWorker) message(ctx context.Context, session *domain.Session, delivery *domain.LinkDelivery,
	kind domain.LinkEmailKind, customer *linkCustomer) (*mail.Message, error) {
	account, language := customer.account, domain.English
	if chosen := cmp.Or(session.ChosenLanguage, session.Language); chosen != nil {
		language = *chosen
	}
	link := domain.Link{Version: session.LinkVersion, OneBrowser: delivery.OneBrowser}
	stop := w.baseURL + "/f/" + session.ID.String() + "/reminders/" + w.ring.Token(domain.ReminderSubject(session.ID))
	content := email.Link(i18n.At(i18n.In(ctx, language), customer.zone), email.LinkParts{
		Partner: account, Session: session, Kind: kind, Section: customer.section, URL: link.URL(w.baseURL, session.ID, w.ring.Token),
		StopURL: stop,
	})
	html, err := content.HTML()
	if err != nil {
		return nil, err
	}
	name := session.ID.String() + " " + string(kind)
	if e := delivery.Email(kind); e.Again > 0 { // mail programs show a message with the same id once
		name += " " + strconv.Itoa(e.Again)
	}
	id := sha256.Sum256([]byte(name))
	message := &mail.Message{
		To: session.CustomerEmail, Subject: content.Subject, Text: content.Text(), HTML: html, FromName: content.From,
		Unsubscribe: content.StopURL,
		ID:          hex.EncodeToString(id[:16]),
	}
	if account.HelpEmail != nil {
		message.ReplyTo = *account.HelpEmail
	}
	if content.Brand.Logo {
		logo, err := w.db.Logo(ctx, *account.LogoName)
		if err != nil {
			return nil, err // replaced just now: the next run has the other one
		}
		message.Picture = &mail.Attachment{Name: email.LogoID, ContentType: domain.LogoType(*account.LogoName), Content: logo}
	}
	return message, nil
}

// linkSweepArgs inserts jobs for the sessions whose emails are to be looked at.
type linkSweepArgs struct{ sweepArgs }

// Kind names the job.
func (linkSweepArgs) Kind() string { return "session_email_sweep" }

type linkSweepWorker struct {
	upkeepWorker[linkSweepArgs]
	db     *db.DB
	outbox *outbox.Outbox
	clock  domain.Clock
}

// Work inserts the jobs in batches.
func (w *linkSweepWorker) Work(ctx context.Context, _ *river.Job[linkSweepArgs]) error {
	return inBatches(ctx, inTx(ctx, w.db, func(tx *db.Tx) (int, error) {
		now := w.clock.Now()
		due, err := tx.TakeLinkDeliveries(ctx, now, now.Add(domain.LinkEmailLease), sweepBatch)
		for _, id := range due {
			if err == nil {
				err = w.outbox.LinkEmail(ctx, tx, id)
			}
		}
		return len(due), err
	}))
}
