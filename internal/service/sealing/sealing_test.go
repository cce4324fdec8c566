package sealing_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"candor/db"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/service/idempotency"
	"candor/internal/statement"
	"candor/internal/testkit/servicetest"
)

// fixture is the fixture of this package's tests.
type fixture struct{ *servicetest.Fixture }

func newFixture(t testing.TB, change ...func(*servicetest.Config)) *fixture {
	t.Helper()
	return &fixture{servicetest.NewFixture(t, change...)}
}

// with is the same service with other secret keys, newest first.
func (b *fixture) with(keys ...string) *fixture {
	b.Helper()
	ring, err := keyring.Parse(strings.Join(keys, ","))
	b.OK(err)
	config := b.Config
	config.Ring = ring
	other := servicetest.New(config)
	other.Webhooks.SecretsLease = 0
	return &fixture{b.Using(other)}
}

// staffSession is a staff user of the account who is signed in.
func (b *fixture) staffSession(name string) *domain.StaffSession {
	b.Helper()
	now := b.Clock.Now()
	session := &domain.StaffSession{
		Staff: domain.Staff{ID: domain.NewStaffID(), AccountID: b.Account.AccountID, Email: name + "@lender.example",
			Role: domain.RoleOwner, CreatedAt: now},
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: "192.0.2.1",
	}
	b.OK(b.DB.InTx(b.Ctx, func(tx *db.Tx) error {
		if err := tx.InsertStaff(b.Ctx, &session.Staff, ""); err != nil {
			return err
		}
		return tx.InsertStaffSession(b.Ctx, session, domain.HashToken(name))
	}))
	return session
}

// once creates a session with an idempotency key. The answer is its link.
func (b *fixture) once() (*domain.Session, error) {
	key := &idempotency.Key[*domain.Session]{Path: "/v1/sessions", Text: "k", Encode: func(created *domain.Session,
		refusal error) (*idempotency.Answer, error) {
		return &idempotency.Answer{Status: 201, Body: []byte(b.Sessions.URL(created, true))}, refusal
	}}
	return b.Sessions.Create(b.Ctx, b.Test(), key, domain.NewSession{FormType: domain.FinancialStatement,
		CustomerEmail: "jo@customer.example"}, func() {})
}

// TestReseal makes one value of every kind that is sealed, takes the old key
// away after it, and reads them all.
func TestReseal(t *testing.T) {
	t.Parallel()
	old, fresh := keyring.Generate("old"), keyring.Generate("fresh")
	b := newFixture(t, func(c *servicetest.Config) {
		ring, err := keyring.Parse(old)
		if err != nil {
			t.Fatal(err)
		}
		c.Ring = ring
	})
	b.Webhooks.SecretsLease = 0
	from := domain.Visitor{IPAddress: "192.0.2.7"}
	first, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	b.OK(err)
	b.OK(b.Webhooks.SwitchSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	_, err = b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	b.OK(err)
	on, pending := b.staffSession("on"), b.staffSession("pending")
	setup, err := b.StaffAuth.BeginTwoStep(b.Ctx, on)
	b.OK(err)
	code, err := totp.GenerateCode(setup.Secret, b.Clock.Now())
	b.OK(err)
	_, _, err = b.StaffAuth.TurnOnTwoStep(b.Ctx, on, code, from)
	b.OK(err)
	_, err = b.StaffAuth.BeginTwoStep(b.Ctx, pending)
	b.OK(err)
	b.OK(b.StaffAuth.RequestReset(b.Ctx, b.Account.Email, from))
	_, err = b.once()
	b.OK(err)
	client := domain.SSOSecretOwner(b.Account.AccountID)
	b.OK(b.DB.InTx(b.Ctx, func(tx *db.Tx) error {
		return tx.InsertSSOConnection(b.Ctx, &domain.SSOConnection{AccountID: b.Account.AccountID, Issuer: "https://login.example.com",
			ClientSecret: b.Ring.Seal(client, []byte("s3cret")), GroupRoles: []byte("[]"), CreatedAt: b.Clock.Now()})
	}))
	session := b.Opened()
	b.OK(b.Fill(session.ID, statement.IncomeSection))
	other := b.Opened()
	b.OK(b.Fill(other.ID, statement.IncomeSection))
	// One value that no key opens is counted and stops nothing.
	_, err = b.DB.Raw().ExecContext(b.Ctx, `UPDATE session_key SET sealed = $2 WHERE session_id = $1`, other.ID,
		b.with(keyring.Generate("lost")).Ring.Seal("x", []byte("x")))
	b.OK(err)

	both := b.with(fresh, old)
	before, err := both.Sealing.Counts(b.Ctx)
	b.OK(err)
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
	resealed, err := both.Sealing.Reseal(b.Ctx)
	b.OK(err)
	for _, r := range resealed {
		wantLeft := 0
		if r.Kind == "session data keys" {
			wantLeft = 1
		}
		if r.Resealed == 0 || r.Left != wantLeft {
			t.Errorf("resealed %+v, want at least one and %d left", r, wantLeft)
		}
	}
	again, err := both.Sealing.Reseal(b.Ctx)
	b.OK(err)
	for _, r := range again {
		if r.Resealed != 0 {
			t.Errorf("resealed again: %+v", r)
		}
	}

	only := b.with(fresh)
	after, err := only.Sealing.Counts(b.Ctx)
	b.OK(err)
	for _, s := range after {
		if s.Configured != (s.Key == "fresh") || !s.Configured && s.Key != "lost" {
			t.Errorf("after: %+v", s)
		}
	}
	secrets, err := delivery.SigningSecrets(b.Ctx, b.DB, only.Ring, b.Test(), nil)
	if err != nil || len(secrets) != 2 || secrets[0] != first {
		t.Errorf("webhook secrets: %d, %v", len(secrets), err)
	}
	b.OK(only.Webhooks.AbandonNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	b.OK(only.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	if _, err := only.StaffAuth.PendingTwoStep(b.Ctx, pending); err != nil {
		t.Errorf("authenticator being set up: %v", err)
	}
	b.Pass(time.Minute)
	_, err = b.DB.Raw().ExecContext(b.Ctx, `UPDATE staff_session SET stage = 'password' WHERE id = $1`, on.SessionID)
	b.OK(err)
	code, err = totp.GenerateCode(setup.Secret, b.Clock.Now())
	b.OK(err)
	if _, err := only.StaffAuth.SecondFactor(b.Ctx, on, code, from); err != nil {
		t.Errorf("authenticator: %v", err)
	}
	_, err = only.once()
	var replay *idempotency.Replay
	if !errors.As(err, &replay) || !strings.Contains(string(replay.Body), "sess_") {
		t.Errorf("idempotent answer: %v", err)
	}
	state, err := only.Forms.Get(b.Ctx, session.ID)
	if err != nil || state.Statement.Income.Employment.GrossSalary == 0 {
		t.Errorf("answers: %v", err)
	}
	connection, err := b.DB.SSOConnection(b.Ctx, b.Account.AccountID)
	b.OK(err)
	if secret, err := only.Ring.Open(client, connection.ClientSecret); err != nil || string(secret) != "s3cret" {
		t.Errorf("company sign-in secret: %v", err)
	}
	var sealed []byte
	var id domain.StaffRequestID
	b.OK(b.DB.Raw().QueryRowContext(b.Ctx, `SELECT id, sealed FROM staff_request`).Scan(&id, &sealed))
	if _, err := only.Ring.Open((&domain.StaffRequest{ID: id}).SealOwner(), sealed); err != nil {
		t.Errorf("staff request: %v", err)
	}
}

// A value that changes while it is resealed keeps its change.
func TestResealLosesNoChange(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	var webhooks db.SealedColumn
	for _, c := range db.SealedColumns {
		if c.Kind == "webhook secrets" {
			webhooks = c
		}
	}
	values, err := b.DB.SealedByOthers(b.Ctx, webhooks, "another", 0, 1)
	if err != nil || len(values) != 2 {
		t.Fatalf("%d values, %v; want those of both modes", len(values), err)
	}
	_, err = b.DB.Raw().ExecContext(b.Ctx, `UPDATE webhook_endpoint SET secret = 'changed' WHERE is_default AND NOT livemode`)
	b.OK(err)
	replaced := 0
	for _, v := range values {
		ok, err := b.DB.ReplaceSealed(b.Ctx, webhooks, v, []byte("resealed"))
		b.OK(err)
		if ok {
			replaced++
		}
	}
	var secret string
	b.OK(b.DB.Raw().GetContext(b.Ctx, &secret, `SELECT secret FROM webhook_endpoint WHERE is_default AND NOT livemode`))
	if replaced != 1 || secret != "changed" {
		t.Errorf("replaced %d values, the changed one is %q; want 1 and its change", replaced, secret)
	}
}
