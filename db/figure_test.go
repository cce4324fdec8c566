package db_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
)

// countFigures counts what is due, each time so much later that no day rests.
func (s *store) countFigures() {
	s.Helper()
	var rested time.Time // by all days that were counted before
	s.ok(s.Raw().GetContext(s.ctx, &rested, `SELECT greatest($1, max(refigure_after)) FROM session_count`, start.AddDate(20, 0, 0)))
	for at := rested; ; at = at.AddDate(0, 0, 1) {
		n, err := s.CountFigures(s.ctx, at, 100)
		s.ok(err)
		if n == 0 {
			return
		}
	}
}

// figures are the scope's counts by a name, of all days, as lines.
func (s *store) figures(scope domain.Scope, name string) (out []string) {
	s.Helper()
	counts, err := s.Figures(s.ctx, scope, name, start.AddDate(-1, 0, 0), start.AddDate(1, 0, 0))
	s.ok(err)
	for _, c := range counts {
		out = append(out, fmt.Sprintf("%s %d %d", c.Value, c.Created, c.Completed))
	}
	return out
}

func withMember(name, value string) func(*domain.Session) {
	return func(x *domain.Session) {
		text, _ := json.Marshal(value) // a string can't fail
		x.Metadata = domain.Metadata{name: text}
	}
}

// However sessions change side by side while figures are counted, the figures of each day
// are those of its sessions once nothing is due (D129).
func TestFiguresUnderConcurrency(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	sessions := s.inBothModes(60, 2, func(i int, x *domain.Session) { withMember("product", "p"+strconv.Itoa(i%7))(x) })
	_, err := s.Raw().ExecContext(s.ctx, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at)
		SELECT gen_random_uuid(), account_id, livemode, 'pending', form_type, customer_email, metadata, created_at, expires_at
		FROM session, generate_series(1, 100)`) // so that a count takes long enough to be overtaken
	s.ok(err)
	s.sideBySide(8, sessions, func(turn int) error {
		_, err := s.CountFigures(s.ctx, start.Add(time.Duration(turn)*time.Hour), 7)
		return err
	}, func() {})
	s.countFigures()
	got := s.lines(`SELECT concat_ws(' ', account_id, livemode, day, name, value, created, completed) FROM figure_count ORDER BY 1`)
	want := s.lines(`
		SELECT concat_ws(' ', account_id, livemode, (s.created_at AT TIME ZONE time_zone)::date, f.name, value, count(*),
			count(completed_at))
		FROM session s JOIN account a ON a.id = account_id, LATERAL (VALUES ('way', 'api'), ('metadata.product',
			metadata ->> 'product'),
			('documents', CASE WHEN completed_at IS NOT NULL THEN 'none' END)) f (name, value)
		WHERE value IS NOT NULL
		GROUP BY account_id, livemode, (s.created_at AT TIME ZONE time_zone)::date, f.name, value ORDER BY 1`)
	if !slices.Equal(got, want) {
		t.Errorf("figures are\n%q\nsessions are\n%q", got, want)
	}
}

// TestFiguresOfManyValues: the most frequent values and members of a day have counts of
// their own, however many an account sends (D129).
func TestFiguresOfManyValues(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for i := range 60 {
		s.session(s.scope, start, withMember("broker", "b"+strconv.Itoa(i)))
		s.session(s.scope, start, withMember("m"+strconv.Itoa(i%20), "x"))
	}
	s.session(s.scope, start, withMember("broker", "b7"))
	s.session(s.scope, start, withMember("broker", "\x00"))
	s.countFigures()
	brokers := s.figures(s.scope, domain.FigureMember+"broker")
	if len(brokers) != 51 || brokers[0] != "b7 2 0" || brokers[50] != " 10 0" {
		t.Errorf("%d values: %q", len(brokers), brokers)
	}
	names, err := s.FigureNames(s.ctx, s.scope, 50)
	if err != nil || len(names) != 8 {
		t.Errorf("%q, %v; want 8 members", names, err)
	}
	for i := range 60 { // on another day: together they are still fifty and the rest
		s.session(s.scope, start.AddDate(0, 0, 1), withMember("broker", "c"+strconv.Itoa(i)))
	}
	s.countFigures()
	if brokers = s.figures(s.scope, domain.FigureMember+"broker"); len(brokers) != 51 || brokers[50] != " 70 0" {
		t.Errorf("%d values: %q", len(brokers), brokers)
	}
}

// TestFiguresRest: a day is counted again after a millisecond for each of its sessions, so
// that a day of very many isn't counted all the time.
func TestFiguresRest(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	now := start.AddDate(0, 0, 1)
	count := func(at time.Time) int {
		n, err := s.CountFigures(s.ctx, at, 100)
		s.ok(err)
		return n
	}
	s.session(s.scope, start)
	s.session(s.scope, start)
	for count(now) > 0 {
	}
	s.session(s.scope, start)
	if early := count(now.Add(time.Millisecond)); early != 0 {
		t.Errorf("%d counters are counted while their day rests", early)
	}
	rests := s.lines(`SELECT extract(epoch FROM refigure_after - '` + now.Format(time.RFC3339) + `') >= 0.002
		FROM session_count WHERE refigure_after IS NOT NULL`)
	if len(rests) == 0 || slices.Contains(rests, "false") {
		t.Errorf("a day of two sessions rests for less than 2 ms: %q", rests)
	}
	if late := count(now.Add(time.Hour)); late == 0 {
		t.Error("nothing is counted after that")
	}
}

// A day that can't be counted keeps no other, and isn't tried all the time.
func TestFiguresOfADayThatFails(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	other := s.newScope("Other")
	s.session(s.scope, start)
	s.session(other, start)
	_, err := s.Raw().ExecContext(s.ctx, `ALTER TABLE figure_count ADD CHECK (account_id <> '`+s.scope.AccountID.UUID.String()+`')`)
	s.ok(err)
	now := start.AddDate(0, 0, 1)
	if _, err := s.CountFigures(s.ctx, now, 100); err == nil {
		t.Error("no error")
	}
	if got := s.figures(other, domain.FigureWay); !slices.Equal(got, []string{"api 1 0"}) {
		t.Errorf("the other account's figures are %q", got)
	}
	if n, err := s.CountFigures(s.ctx, now.Add(time.Minute), 100); n != 0 || err != nil {
		t.Errorf("a minute later it is tried again: %d, %v", n, err)
	}
	if n, err := s.CountFigures(s.ctx, now.Add(2*time.Hour), 100); n == 0 || err == nil {
		t.Errorf("two hours later it isn't: %d, %v", n, err)
	}
}

// In another time zone a session is another date's, which may have had none.
func TestFiguresInAnotherZone(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	at := time.Date(2026, 11, 25, 22, 0, 0, 0, time.UTC)
	zone := func(name string) {
		_, err := s.Raw().ExecContext(s.ctx, `UPDATE account SET time_zone = $2 WHERE id = $1`, s.scope.AccountID, name)
		s.ok(err)
		s.countFigures()
	}
	zone("Australia/Sydney")
	s.session(s.scope, at)
	for _, in := range [][2]string{{"Australia/Sydney", "2026-11-26"}, {"America/New_York", "2026-11-25"},
		{"Australia/Sydney", "2026-11-26"}} {
		zone(in[0])
		if got := s.lines(`SELECT to_char(day, 'YYYY-MM-DD') FROM figure_count`); !slices.Equal(got, []string{in[1]}) {
			t.Errorf("in %s it is of %q, want %s", in[0], got, in[1])
		}
	}
}

// A midnight that comes twice belongs to the day whose list has it.
func TestFiguresOfTwoMidnights(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	_, err := s.Raw().ExecContext(s.ctx, `UPDATE account SET time_zone = 'America/Havana' WHERE id = $1`, s.scope.AccountID)
	s.ok(err)
	s.session(s.scope, time.Date(2026, 11, 1, 4, 30, 0, 0, time.UTC)) // the first 00:30
	s.session(s.scope, time.Date(2026, 11, 1, 5, 30, 0, 0, time.UTC)) // the second
	s.countFigures()
	if got := s.lines(`SELECT concat_ws(' ', to_char(day, 'YYYY-MM-DD'), created) FROM figure_count`); !slices.Equal(got,
		[]string{"2026-11-01 2"}) {
		t.Errorf("%q", got)
	}
}

// TestFiguresForget: an erased customer's values are counted at no time after that (D129).
func TestFiguresForget(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	name := domain.FigureMember + "who"
	gone := s.session(s.scope, start, withMember("who", "Jo Citizen"))
	s.session(s.scope, start, withMember("who", "Ann"))
	s.session(s.scope, start.AddDate(0, 0, 1), withMember("who", "Jo Citizen")) // another customer of another day
	s.countFigures()
	if got := s.figures(s.scope, name); !slices.Equal(got, []string{"Jo Citizen 2 0", "Ann 1 0"}) {
		t.Fatalf("%q", got)
	}
	s.tx(func(tx *db.Tx) error {
		_, err := tx.EraseSession(s.ctx, gone, &domain.Erasure{ID: domain.NewErasureID(), SessionID: gone.ID, At: start})
		return err
	})
	if got := s.figures(s.scope, name); !slices.Equal(got, []string{"Ann 1 0", "Jo Citizen 1 0"}) {
		t.Errorf("right after the erasure: %q", got)
	}
	s.countFigures()
	if got, ways := s.figures(s.scope, name), s.figures(s.scope, domain.FigureWay); !slices.Equal(got,
		[]string{"Ann 1 0", "Jo Citizen 1 0"}) ||
		!slices.Equal(ways, []string{"api 3 0"}) {
		t.Errorf("after the erasure: %q, %q", got, ways)
	}
}
