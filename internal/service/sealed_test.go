package service_test

import (
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/statement"
	"candor/internal/testkit/servicetest"
)

// with is the same service with other secret keys, newest first.
func (b *bench) with(keys ...string) *bench {
	b.Helper()
	ring, err := keyring.Parse(strings.Join(keys, ","))
	b.ok(err)
	config := b.Config
	config.Ring = ring
	other := servicetest.New(config)
	other.Webhooks.SecretsLease = 0
	return &bench{TB: b.TB, Services: other, ctx: b.ctx, dsn: b.dsn, blobs: b.blobs, account: b.account}
}

// staffSession is a staff user of the account who is signed in.
func (b *bench) staffSession(name string) *domain.StaffSession {
	b.Helper()
	now := b.Clock.Now()
	session := &domain.StaffSession{
		Staff:     domain.Staff{ID: domain.NewStaffID(), AccountID: b.account.AccountID, Email: name + "@lender.example", Role: domain.RoleOwner, CreatedAt: now},
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: "192.0.2.1",
	}
	b.ok(b.DB.InTx(b.ctx, func(tx *db.Tx) error {
		if err := tx.InsertStaff(b.ctx, &session.Staff, ""); err != nil {
			return err
		}
		return tx.InsertStaffSession(b.ctx, session, domain.HashToken(name))
	}))
	return session
}

// TestReseal makes one value of every kind that is sealed, takes the old key
// away after it, and reads them all.
func TestReseal(t *testing.T) {
	t.Parallel()
	old, fresh := keyring.Generate("old"), keyring.Generate("fresh")
	b := newBench(t, func(c *servicetest.Config) {
		ring, err := keyring.Parse(old)
		if err != nil {
			t.Fatal(err)
		}
		c.Ring = ring
	})
	b.Webhooks.SecretsLease = 0
	from := domain.Visitor{IPAddress: "192.0.2.7"}
	first, err := b.Webhooks.CreateNextSecret(b.ctx, b.test(), someone)
	b.ok(err)
	b.ok(b.Webhooks.SwitchSecret(b.ctx, b.test(), someone))
	_, err = b.Webhooks.CreateNextSecret(b.ctx, b.test(), someone)
	b.ok(err)
	on, pending := b.staffSession("on"), b.staffSession("pending")
	setup, err := b.Auth.BeginTwoStep(b.ctx, on)
	b.ok(err)
	code, err := totp.GenerateCode(setup.Secret, b.Clock.Now())
	b.ok(err)
	_, _, err = b.Auth.TurnOnTwoStep(b.ctx, on, code, from)
	b.ok(err)
	_, err = b.Auth.BeginTwoStep(b.ctx, pending)
	b.ok(err)
	b.ok(b.Auth.RequestReset(b.ctx, b.account.Email, from))
	_, err = b.send(b.request("k", "{}"), b.creating("jo@customer.example"))
	b.ok(err)
	session := b.opened()
	b.ok(b.fill(session.ID, statement.IncomeSection))
	other := b.opened()
	b.ok(b.fill(other.ID, statement.IncomeSection))
	// One value that no key opens is counted and stops nothing.
	_, err = b.DB.Raw().ExecContext(b.ctx, `UPDATE session_key SET sealed = $2 WHERE session_id = $1`, other.ID, b.with(keyring.Generate("lost")).Ring.Seal("x", []byte("x")))
	b.ok(err)

	both := b.with(fresh, old)
	before, err := both.Sealing.Counts(b.ctx)
	b.ok(err)
	kinds := map[string]bool{}
	for _, s := range before {
		kinds[s.Kind] = true
		if want := s.Key != "lost"; s.Configured != want || s.Key == "fresh" {
			t.Errorf("before: %+v", s)
		}
	}
	if len(kinds) != len(db.SealedColumns) {
		t.Fatalf("the test seals %v, want each of the %d kinds", kinds, len(db.SealedColumns))
	}
	resealed, err := both.Sealing.Reseal(b.ctx)
	b.ok(err)
	for _, r := range resealed {
		wantLeft := 0
		if r.Kind == "session data keys" {
			wantLeft = 1
		}
		if r.Resealed == 0 || r.Left != wantLeft {
			t.Errorf("resealed %+v, want at least one and %d left", r, wantLeft)
		}
	}
	again, err := both.Sealing.Reseal(b.ctx)
	b.ok(err)
	for _, r := range again {
		if r.Resealed != 0 {
			t.Errorf("resealed again: %+v", r)
		}
	}

	only := b.with(fresh)
	after, err := only.Sealing.Counts(b.ctx)
	b.ok(err)
	for _, s := range after {
		if s.Configured != (s.Key == "fresh") || !s.Configured && s.Key != "lost" {
			t.Errorf("after: %+v", s)
		}
	}
	secrets, err := delivery.SigningSecrets(b.ctx, b.DB, only.Ring, b.test())
	if err != nil || len(secrets) != 2 || secrets[0] != first {
		t.Errorf("webhook secrets: %d, %v", len(secrets), err)
	}
	b.ok(only.Webhooks.AbandonNextSecret(b.ctx, b.test(), someone))
	b.ok(only.Webhooks.RestoreSecret(b.ctx, b.test(), someone))
	if _, err := only.Auth.PendingTwoStep(b.ctx, pending); err != nil {
		t.Errorf("authenticator being set up: %v", err)
	}
	b.pass(time.Minute)
	_, err = b.DB.Raw().ExecContext(b.ctx, `UPDATE staff_session SET stage = 'password' WHERE id = $1`, on.SessionID)
	b.ok(err)
	code, err = totp.GenerateCode(setup.Secret, b.Clock.Now())
	b.ok(err)
	if _, err := only.Auth.SecondFactor(b.ctx, on, code, from); err != nil {
		t.Errorf("authenticator: %v", err)
	}
	replayed, err := only.send(b.request("k", "{}"), b.creating("jo@customer.example"))
	if err != nil || !replayed.replayed || !strings.Contains(replayed.body, "sess_") {
		t.Errorf("idempotent answer: %s, %v", replayed.body, err)
	}
	state, err := only.Forms.Get(b.ctx, session.ID)
	if err != nil || state.Statement.Income.Employment.GrossSalary == 0 {
		t.Errorf("answers: %v", err)
	}
	var sealed []byte
	var id domain.StaffRequestID
	b.ok(b.DB.Raw().QueryRowContext(b.ctx, `SELECT id, sealed FROM staff_request`).Scan(&id, &sealed))
	if _, err := only.Ring.Open((&domain.StaffRequest{ID: id}).SealOwner(), sealed); err != nil {
		t.Errorf("staff request: %v", err)
	}
}

// A value that changes while it is resealed keeps its change.
func TestResealLosesNoChange(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	var webhooks db.SealedColumn
	for _, c := range db.SealedColumns {
		if c.Kind == "webhook secrets" {
			webhooks = c
		}
	}
	values, err := b.DB.SealedByOthers(b.ctx, webhooks, "another", 0, 1)
	if err != nil || len(values) != 2 {
		t.Fatalf("%d values, %v; want those of both modes", len(values), err)
	}
	_, err = b.DB.Raw().ExecContext(b.ctx, `UPDATE webhook_setting SET secret = 'changed' WHERE NOT livemode`)
	b.ok(err)
	replaced := 0
	for _, v := range values {
		ok, err := b.DB.ReplaceSealed(b.ctx, webhooks, v, []byte("resealed"))
		b.ok(err)
		if ok {
			replaced++
		}
	}
	var secret string
	b.ok(b.DB.Raw().GetContext(b.ctx, &secret, `SELECT secret FROM webhook_setting WHERE NOT livemode`))
	if replaced != 1 || secret != "changed" {
		t.Errorf("replaced %d values, the changed one is %q; want 1 and its change", replaced, secret)
	}
}
