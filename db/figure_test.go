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
)

// countFigures counts what is due, each time so much later that no day rests.
func (s *store) countFigures() {
	s.Helper()
	for at := start.AddDate(20, 0, 0); ; at = at.AddDate(0, 0, 1) {
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
	s := newStore(t)
	live := domain.Scope{AccountID: s.scope.AccountID, Livemode: true}
	var sessions []*domain.Session
	for i := range 60 {
		scope := []domain.Scope{s.scope, live}[i%2]
		sessions = append(sessions, s.session(scope, start.AddDate(0, 0, i%2), withMember("product", "p"+strconv.Itoa(i%7))))
	}
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
	s.tx(func(tx *db.Tx) error {
		_, err := tx.OpenSession(s.ctx, s.session(s.scope, start).ID, start)
		return err
	})
	_, err := s.Raw().ExecContext(s.ctx, `UPDATE session_count SET refigure_after = $1 WHERE NOT figured`,
		now.Add(2*time.Millisecond))
	s.ok(err)
	if early, late := count(now.Add(time.Millisecond)), count(now.Add(2*time.Millisecond)); early != 0 || late == 0 {
		t.Errorf("%d counters while it rests, %d after", early, late)
	}
	if n := s.lines(`SELECT DISTINCT refigure_after - '` + now.Format(time.RFC3339) +
		`' FROM session_count WHERE created > 0`); len(n) == 0 {
		t.Error("no day rests")
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
