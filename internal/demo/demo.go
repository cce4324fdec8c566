// Package demo makes up a partner with three months of work, for looking at the
// dashboard: customers and their statements, webhooks that failed and those that
// didn't, staff and what they did. Everything comes from one seed and leads up
// to now, so that two runs on one day differ in their ids alone. It stores what
// it makes up through service and db, and must not know HTTP nor be reached
// from what serves a partner.
package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/platform/pdfsign"
	"candor/internal/service/accounts"
	"candor/internal/service/keys"
	"candor/internal/service/sessions"
	"candor/internal/service/staff/auth"
	"candor/internal/service/staff/team"
	"candor/internal/service/webhooks"
	"candor/internal/vault"
	"candor/views/pdf"
)

// Password is the password of each team member.
const Password = "kelp-anchor-lantern-48" //nolint:gosec // of made-up users: it is printed and works in development only

// Sessions is how many sessions a partner has that is worth looking at.
const Sessions = 1200

// days is how far the sessions go back: no further than events are kept.
const days = 89

// testShare is the share of the sessions that are in test mode.
const testShare = 0.2

// ErrSeeded says that the partner is in the database already.
var ErrSeeded = errors.New("the database has the demo partner already")

// A Partner is who was made up.
type Partner struct {
	Account  domain.AccountID
	Name     string
	Team     []domain.Staff // the owner first
	Sessions int            // in both modes
	Events   int
}

// Fill makes up a partner who has had that many sessions up to now. at opens the
// use cases with a clock that tells the time of the story. Error: ErrSeeded.
func Fill(ctx context.Context, at func(domain.Clock) *Services, fonts *pdf.Fonts, now time.Time, sessions int) (*Partner, error) {
	now = now.UTC().Truncate(time.Second)
	office, err := open(ctx, at, now)
	if err != nil {
		return nil, err
	}
	pictures, err := newPaperwork()
	if err != nil {
		return nil, err
	}
	var test, live *history
	err = office.DB.InTx(ctx, func(tx *db.Tx) error {
		// A worker that runs beside us would close the periods of the past, as of today, but
		// skips a subscription that is locked.
		if _, err := tx.LockSubscription(ctx, office.account); err != nil {
			return err
		}
		if err := office.furnish(ctx); err != nil {
			return err
		}
		inTest := int(float64(sessions) * testShare)
		test = newHistory(office, fonts, pictures, false, inTest)
		live = newHistory(office, fonts, pictures, true, sessions-inTest)
		inTime := make(chan error, 1)
		go func() { inTime <- office.DB.InTx(ctx, func(tx *db.Tx) error { return test.play(ctx, tx) }) }()
		return errors.Join(live.play(ctx, tx), <-inTime)
	})
	if err == nil {
		err = errors.Join(test.log(ctx), live.log(ctx))
	}
	if err != nil {
		return nil, fmt.Errorf("demo: make up sessions: %w", err)
	}
	if err := office.finish(ctx, live); err != nil {
		return nil, fmt.Errorf("demo: make up an office: %w", err)
	}
	return &Partner{Account: office.account, Name: partnerName, Team: office.team, Sessions: sessions,
		Events: test.events + live.events}, nil
}

// clock is a clock that is put where the story is.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

// Services are the use cases that the partner's story is made with.
type Services struct {
	DB      *db.DB
	Ring    *keyring.Keyring
	Vault   *vault.Vault
	BaseURL string
	Terms   billing.Terms
	Signer  *pdfsign.Signer // of PDFs; nil: they aren't signed

	Accounts *accounts.Service
	Auth     *auth.Service
	Keys     *keys.Service
	Sessions *sessions.Service
	Team     *team.Service
	Webhooks *webhooks.Service
}
