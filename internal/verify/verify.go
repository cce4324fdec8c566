// Package verify checks that what is stored belongs together, after a restore or a
// failover: counters, event numbers, deliveries, invoices, documents and PDFs. It
// writes nothing, and keeps no more in memory than a page of ids and one PDF. What it
// returns has figures and ids, nothing of customers.
package verify

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/keyring"
	"candor/internal/vault"
)

const (
	// page is how many documents or PDFs are listed at once.
	page = 500
	// eventMargin is how long before the end of their retention events are expected to
	// be there: their numbers don't follow their times to the second.
	eventMargin = 24 * time.Hour
)

// A Check is what one check found.
type Check struct {
	Name     string `json:"check"`
	Examined int64  `json:"examined"`
	Unit     string `json:"unit"` // what was examined
	Wrong    int64  `json:"wrong"`
	Detail   string `json:"detail,omitempty"`  // what is wrong with them
	Example  string `json:"example,omitempty"` // the id of one, or of its account
	Remedy   string `json:"remedy,omitempty"`
}

// Stored is what is checked.
type Stored struct {
	DB    *db.DB
	Vault *vault.Vault
	Now   time.Time
}

var invariants = []struct {
	of                 db.Invariant
	name, unit, remedy string
}{
	{db.CountersMatch, "session counters", "days of accounts",
		"The dashboard and GET /v1/billing/usage show wrong totals; the sessions themselves are right. Report it with the account's id."},
	{db.SearchMatches, "search", "sessions",
		"Staff don't find these sessions. In psql, as the owner of the tables, run UPDATE session SET customer_email = customer_email, which writes every session again."},
	{db.SequencesComplete, "event numbers", "events",
		"Events are lost. If this is a restored database, restore it from another base backup or to a later time. Else tell the account which numbers GET /v1/events lacks."},
	{db.DeliveriesOfEvent, "deliveries have their event", "deliveries",
		"Workers can't send them. If this is a restored database, restore it again. Else delete them."},
	{db.EventsDelivered, "events have their delivery", "events with a URL",
		"Their webhooks are never sent. A worker repairs the last event of a session; the account finds the others by GET /v1/events."},
	{db.EndsRecorded, "finished sessions have their event", "finished sessions",
		"Start a worker: it records what is missing and logs each session. If the check still fails after ten minutes, report it."},
	{db.InvoicesAddUp, "invoices", "invoices",
		"An invoice or its number is not what was issued. Restore it from another backup; don't send it before."},
	{db.PDFsStored, "PDFs are stored", "completed sessions",
		"The answers are there, the PDF isn't. Restore the table statement_pdf from another backup."},
}

// Run makes all checks and passes each on when it is done.
func (s *Stored) Run(ctx context.Context, done func(Check)) error {
	err := s.DB.InSnapshot(ctx, func(snapshot *db.Snapshot) error {
		for _, i := range invariants {
			v, err := snapshot.Verify(ctx, i.of, s.Now.Add(eventMargin-domain.EventRetention))
			if err != nil {
				return fmt.Errorf("%s: %w", i.name, err)
			}
			done(finished(Check{Name: i.name, Unit: i.unit, Examined: v.Examined, Wrong: v.Wrong, Example: v.Example, Remedy: i.remedy}))
		}
		return nil
	})
	if err != nil {
		return err
	}
	// Not in the snapshot: reading all files takes long, and would keep PostgreSQL from
	// removing old rows.
	for _, check := range []func(context.Context) (Check, error){s.usage, s.documents, s.pdfs} {
		c, err := check(ctx)
		if err != nil {
			return err
		}
		done(finished(c))
	}
	return nil
}

// finished leaves out the remedy of what is right.
func finished(c Check) Check {
	if c.Wrong == 0 {
		c.Remedy = ""
	}
	return c
}

func (s *Stored) usage(ctx context.Context) (Check, error) {
	c := Check{Name: "used sessions", Unit: "open periods",
		Remedy: "Invoices would be wrong. candor billing recount lists the accounts; find out the cause before you correct a count."}
	n, err := s.DB.CountOpenPeriods(ctx)
	if err != nil {
		return c, err
	}
	drifts, err := s.DB.UsageDrifts(ctx, s.Now)
	c.Examined, c.Wrong = n, int64(len(drifts))
	if len(drifts) > 0 {
		c.Example = drifts[0].AccountID.String()
	}
	return c, err
}

// faults counts what is wrong with files.
type faults struct{ missing, changed, sealed, unreadable int64 }

var (
	errMissing = errors.New("missing")
	errChanged = errors.New("changed")
)

// add counts a file.
func (f *faults) add(c *Check, id fmt.Stringer, err error) {
	c.Examined++
	if err == nil {
		return
	}
	switch {
	case errors.Is(err, errMissing):
		f.missing++
	case errors.Is(err, errChanged):
		f.changed++
	case errors.Is(err, keyring.ErrSealed):
		f.sealed++
	default:
		f.unreadable++
	}
	if c.Wrong++; c.Example == "" {
		c.Example = id.String()
	}
}

// String says how many there are of each.
func (f *faults) String() string {
	var out []string
	for _, one := range []struct {
		n    int64
		what string
	}{{f.missing, "missing"}, {f.changed, "with other bytes"}, {f.sealed, "that can't be opened"}, {f.unreadable, "not readable"}} {
		if one.n > 0 {
			out = append(out, fmt.Sprintf("%d %s", one.n, one.what))
		}
	}
	return strings.Join(out, ", ")
}

// documents reads every document and compares it with its size and SHA-256.
func (s *Stored) documents(ctx context.Context) (Check, error) {
	c := Check{Name: "documents", Unit: "files",
		Remedy: "Restore them from a copy of the documents that was made after the database's backup, with the CANDOR_SECRET_KEYS of that time."}
	var f faults
	var after domain.DocumentID
	for {
		list, err := s.DB.DocumentsAfter(ctx, after, page)
		if err != nil || len(list) == 0 {
			c.Detail = f.String()
			return c, err
		}
		for i := range list {
			after = list[i].ID
			err := s.document(ctx, &list[i])
			if ctx.Err() != nil {
				return c, ctx.Err()
			}
			if !errors.Is(err, db.ErrNotFound) { // it was deleted since it was listed
				f.add(&c, after, err)
			}
		}
	}
}

func (s *Stored) document(ctx context.Context, d *domain.Document) error {
	row, content, err := s.Vault.Document(ctx, s.DB, d.SessionID, d.ID)
	if errors.Is(err, blob.ErrNotFound) {
		if _, err := s.DB.Document(ctx, d.SessionID, d.ID); err != nil {
			return err
		}
		return errMissing
	}
	if err != nil {
		return err
	}
	defer content.Close()
	hash := sha256.New()
	n, err := io.Copy(hash, content)
	if err != nil || n != row.SizeBytes || !bytes.Equal(hash.Sum(nil), row.SHA256) {
		return errors.Join(errChanged, err)
	}
	return nil
}

// pdfs opens every PDF and compares it with its size and the SHA-256 that was issued.
func (s *Stored) pdfs(ctx context.Context) (Check, error) {
	c := Check{Name: "PDFs", Unit: "PDFs",
		Remedy: "They aren't what was issued. Restore the table statement_pdf from another backup, with the CANDOR_SECRET_KEYS of that time."}
	var f faults
	var after domain.SessionID
	for {
		list, err := s.DB.PDFsAfter(ctx, after, page)
		if err != nil || len(list) == 0 {
			c.Detail = f.String()
			return c, err
		}
		for _, p := range list {
			after = p.SessionID
			content, err := s.Vault.PDF(ctx, s.DB, p.SessionID)
			if ctx.Err() != nil {
				return c, ctx.Err()
			}
			digest := sha256.Sum256(content)
			if err == nil && (int64(len(content)) != p.SizeBytes || !bytes.Equal(digest[:], p.SHA256)) {
				err = errChanged
			}
			if !errors.Is(err, db.ErrNotFound) {
				f.add(&c, after, err)
			}
		}
	}
}
