package db_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lib/pq"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit"
)

// formCounts is what the counters of the form say, formRecounts what sections
// and sessions do: a line for each figure.
func (s *store) formCounts() []string {
	s.Helper()
	return s.lines(`
		WITH figures AS (
			SELECT account_id, livemode, day, section, 'reached' AS figure, '' AS problem, reached AS n, 0 AS seconds FROM form_count
			UNION ALL SELECT account_id, livemode, day, section, 'completed', '', completed, 0 FROM form_count
			UNION ALL SELECT account_id, livemode, day, section, 'time ' || step, '', n, t.seconds
				FROM form_count, unnest(times, seconds) WITH ORDINALITY AS t (n, seconds, step)
			UNION ALL SELECT account_id, livemode, day, section, 'problem', field || ' ' || problem, sessions, 0 FROM form_problem_count
		)
		SELECT concat_ws('|', account_id, livemode, day, section, figure, problem, n, seconds) FROM figures WHERE n <> 0 ORDER BY 1`)
}

func (s *store) formRecounts() []string {
	s.Helper()
	return s.lines(`
		WITH seen AS (
			SELECT account_id, livemode, (s.created_at AT TIME ZONE time_zone)::date AS day, n.name, reached_at, n.completed_at, problems,
				greatest(0, extract(epoch FROM n.completed_at - reached_at)::bigint) AS seconds
			FROM section n JOIN session s ON s.id = n.session_id JOIN account a ON a.id = account_id
		), whole AS (
			SELECT account_id, livemode, (s.created_at AT TIME ZONE time_zone)::date AS day, accessed_at, completed_at,
				greatest(0, extract(epoch FROM completed_at - s.created_at)::bigint) AS seconds
			FROM session s JOIN account a ON a.id = account_id
		), figures AS (
			SELECT account_id, livemode, day, name, 'reached' AS figure, '' AS problem, 0 AS seconds FROM seen WHERE reached_at IS NOT NULL
			UNION ALL SELECT account_id, livemode, day, name, 'completed', '', 0 FROM seen WHERE completed_at IS NOT NULL
			UNION ALL SELECT account_id, livemode, day, name, 'time ' || time_step(seconds), '', seconds FROM seen
				WHERE completed_at IS NOT NULL AND completed_at > reached_at -- saved unseen has no time
			UNION ALL SELECT account_id, livemode, day, name, 'problem', unnest(ARRAY(SELECT DISTINCT unnest(problems))), 0 FROM seen
			UNION ALL SELECT account_id, livemode, day, '', 'reached', '', 0 FROM whole WHERE accessed_at IS NOT NULL
			UNION ALL SELECT account_id, livemode, day, '', 'completed', '', 0 FROM whole WHERE completed_at IS NOT NULL
			UNION ALL SELECT account_id, livemode, day, '', 'time ' || time_step(seconds), '', seconds FROM whole
				WHERE completed_at IS NOT NULL
		)
		SELECT concat_ws('|', account_id, livemode, day, name, figure, problem, count(*), sum(seconds))
		FROM figures
		GROUP BY account_id, livemode, day, name, figure, problem ORDER BY 1`)
}

func (s *store) lines(query string) []string {
	s.Helper()
	var out []string
	s.ok(s.Raw().SelectContext(s.ctx, &out, query))
	return out
}

func (s *store) checkFormCounts(when string) {
	s.Helper()
	got, want := s.formCounts(), s.formRecounts()
	if fmt.Sprint(got) != fmt.Sprint(want) {
		s.Errorf("%s: counters say\n%q\nforms are\n%q", when, got, want)
	}
}

// rules are what a form may refuse.
var rules = []domain.FailedRule{
	{Field: "email", Message: "Email must be in the correct format, like name@example.com"},
	{Field: "vehicles.value", Message: "Vehicle: enter value"},
	{Field: "full_name", Message: "Enter full name"},
}

// answer makes one random step of a customer in a random section.
func (s *store) answer(random *rand.Rand, session *domain.Session) error {
	now := session.CreatedAt.Add(time.Duration(random.Int64N(int64(20 * 24 * time.Hour)))).Truncate(time.Millisecond)
	name := statement.SectionNames[random.IntN(3)]
	var refused []domain.FailedRule
	for _, i := range random.Perm(len(rules))[:random.IntN(len(rules)+1)] {
		refused = append(refused, rules[i])
	}
	work := func(change func(tx *db.Tx, session *domain.Session) error) error {
		err := s.InTx(s.ctx, func(tx *db.Tx) error {
			locked, err := tx.LockOpenSession(s.ctx, session.ID, now)
			if err != nil {
				return err
			}
			return change(tx, locked)
		})
		if errors.Is(err, db.ErrState) {
			return nil // it isn't open
		}
		return err
	}
	switch random.IntN(12) {
	case 0, 1, 2, 3:
		return s.ReachSection(s.ctx, session.ID, name, now)
	case 4, 5:
		return s.NoteProblems(s.ctx, session.ID, name, refused, now)
	case 6, 7:
		return work(func(tx *db.Tx, _ *domain.Session) error {
			return tx.SaveDraft(s.ctx, session.ID, name, json.RawMessage(`{}`), refused, now)
		})
	case 8, 9, 10:
		return work(func(tx *db.Tx, _ *domain.Session) error {
			_, err := tx.SaveSection(s.ctx, session.ID, name, json.RawMessage(`{}`), "", now)
			return err
		})
	}
	return work(func(tx *db.Tx, locked *domain.Session) error {
		if random.IntN(5) > 0 {
			return nil // more are worked on than finished
		}
		if _, err := tx.SaveSection(s.ctx, session.ID, statement.DeclarationSection, json.RawMessage(`{}`), "", now); err != nil {
			return err
		}
		locked.CompletedAt, locked.SectionsCompleted = &now, statement.SectionsTotal
		return tx.CompleteSession(s.ctx, locked)
	})
}

// However customers work side by side, the counters say what a recount says. No
// deadlock comes up.
func TestFormCountsUnderConcurrency(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	live := domain.Scope{AccountID: s.scope.AccountID, Livemode: true}
	sessions := s.inBothModes(60, 3, nil)
	for _, session := range sessions {
		s.tx(func(tx *db.Tx) error {
			_, err := tx.OpenSession(s.ctx, session.ID, session.CreatedAt.Add(time.Minute))
			return err
		})
	}
	var writers sync.WaitGroup
	for i := range 6 {
		writers.Go(func() {
			random := rand.New(rand.NewPCG(uint64(i), 15))
			for range 240 {
				if err := s.answer(random, sessions[random.IntN(len(sessions))]); err != nil {
					t.Errorf("answer: %v", err)
				}
			}
		})
	}
	writers.Wait()
	s.checkFormCounts("after all")
	s.checkFunnel(live)
}

// Rules are counted by their texts' number, before and after the day that an earlier time ends.
func TestRefusedMost(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	for _, of := range []struct {
		day, field string
		sessions   int
	}{
		{"2026-11-18", "rent", 50}, {"2026-11-19", "salary", 5}, {"2026-11-20", "salary", 2}, {"2026-11-21", "salary", 1},
		{"2026-11-21", "rent", 4}, {"2026-11-22", "rent", 3}, {"2026-11-22", "bonus", 3}, {"2026-11-23", "bonus", 90},
	} {
		_, err := s.Raw().ExecContext(s.ctx, `
			INSERT INTO form_problem_count (account_id, livemode, day, section, field, problem, sessions)
			SELECT $1, livemode, $2, 'income', $3, 'Enter ' || $3, $4 + livemode::int
			FROM unnest(ARRAY[true, false]) livemode`, s.scope.AccountID, of.day, of.field, of.sessions)
		s.ok(err)
	}
	got, err := s.RefusedMost(s.ctx, s.scope, start.AddDate(0, 0, -1), start, start.AddDate(0, 0, 2), 9)
	s.ok(err)
	rule := func(field string) domain.RefusedRule {
		return domain.RefusedRule{Section: "income", Field: field, Message: "Enter " + field}
	}
	want := []domain.RefusedMost{
		{RefusedRule: rule("rent"), Sessions: 7}, {RefusedRule: rule("salary"), Sessions: 3, Before: 5},
		{RefusedRule: rule("bonus"), Sessions: 3},
	}
	if !slices.Equal(got, want) {
		t.Errorf("refused most: %+v, want %+v", got, want)
	}
}

// checkFunnel holds what is read to what is recounted.
func (s *store) checkFunnel(scope domain.Scope) {
	s.Helper()
	first, last := start.AddDate(0, 0, 1), start.AddDate(0, 0, 2) // the first day is outside
	funnel, err := s.Funnel(s.ctx, scope, first, last)
	s.ok(err)
	median, err := s.CountedCompletionMedian(s.ctx, scope, first, last)
	s.ok(err)
	if whole := funnel.Whole.Median; median == nil || whole == nil || *median != *whole {
		s.Errorf("median of completion %v, of the funnel %v", median, whole)
	}
	counted := func(query string) (n int) {
		s.Helper()
		s.ok(s.Raw().GetContext(s.ctx, &n,
			query+` AND account_id = $1 AND livemode = $2 AND s.created_at >= $3::timestamptz - interval '12 hours'`,
			scope.AccountID, scope.Livemode, first))
		return n
	}
	of := func(times domain.Times) (n int) {
		for _, step := range times {
			n += step
		}
		return n
	}
	type pair struct{ got, want int }
	pairs := map[string]pair{
		"opened":    {funnel.Whole.Reached, counted(`SELECT count(*) FROM session s WHERE accessed_at IS NOT NULL`)},
		"completed": {funnel.Whole.Completed, counted(`SELECT count(*) FROM session s WHERE completed_at IS NOT NULL`)},
		"timed":     {of(funnel.Whole.Times), counted(`SELECT count(*) FROM session s WHERE completed_at IS NOT NULL`)},
	}
	for _, name := range statement.SectionNames[:3] {
		from := ` FROM section n JOIN session s ON s.id = n.session_id WHERE name = '` + name + `'`
		section := funnel.Sections[name]
		if section == nil || section.Rule == nil {
			s.Fatalf("%s: %+v, want a failed rule", name, section)
		}
		pairs[name+" reached"] = pair{section.Reached, counted(`SELECT count(*)` + from + ` AND reached_at IS NOT NULL`)}
		pairs[name+" completed"] = pair{section.Completed, counted(`SELECT count(*)` + from + ` AND n.completed_at IS NOT NULL`)}
		pairs[name+" times"] = pair{of(section.Times), counted(`SELECT count(*)` + from + ` AND n.completed_at > reached_at`)}
		pairs[name+" worst problem"] = pair{section.Affected, counted(`
			SELECT max(c) FROM (SELECT count(*) AS c, account_id, livemode, min(created_at) AS created_at FROM (
				SELECT unnest(ARRAY(SELECT DISTINCT unnest(problems))) AS problem, account_id, livemode,
					created_at` + from + ` AND created_at >= '2026-11-21'
			) p GROUP BY problem, account_id, livemode) s WHERE true`)}
	}
	for what, p := range pairs {
		if p.got != p.want || p.want == 0 {
			s.Errorf("%s: %d, recounted %d", what, p.got, p.want)
		}
	}
}

// A median is less than 10 % off, and exact if the times of a step are equal.
func TestMediansOfSections(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newStore(t)
	random := rand.New(rand.NewPCG(1, 15))
	took := map[string][]float64{
		"at once": {0}, "equal": {5400, 5400, 5400}, "two": {60, 6000}, "three": {100, 7000, 86400}, "four": {100, 700, 7000, 70000},
	}
	exact := slices.Collect(maps.Keys(took))
	for i := range 60 {
		seconds := make([]float64, 1+random.IntN(400))
		for j := range seconds {
			seconds[j] = 60 + math.Floor(60*math.Exp(random.NormFloat64()*2+3))
		}
		took[fmt.Sprint("random ", i)] = seconds
	}
	for name, seconds := range took {
		_, err := s.Raw().ExecContext(s.ctx, `
			SELECT count_progress($1, false, $2::timestamptz + mod(place, 5) * interval '1 day', $3, true, true, spent::bigint)
			FROM unnest($4::float8[]) WITH ORDINALITY AS n (spent, place)`,
			s.scope.AccountID, start, name, pq.Float64Array(seconds))
		s.ok(err)
	}
	funnel, err := s.Funnel(s.ctx, s.scope, start, start.AddDate(0, 0, 4))
	s.ok(err)
	for name, seconds := range took {
		slices.Sort(seconds)
		want := (seconds[(len(seconds)-1)/2] + seconds[len(seconds)/2]) / 2
		most := 0.1 * want
		if slices.Contains(exact, name) {
			most = 0
		}
		if got := funnel.Sections[name].Median; got == nil || math.Abs(got.Seconds()-want) > most {
			t.Errorf("%s: the median of %v is %v, exactly %.0f s", name, seconds, got, want)
		}
	}
	if got := funnel.Whole.Median; got != nil {
		t.Errorf("the median of nothing is %v", *got)
	}
}

// A problem counts once a session and section, however often it comes up.
func TestProblemsCountOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	session := s.session(s.scope, start)
	s.tx(func(tx *db.Tx) error { _, err := tx.OpenSession(s.ctx, session.ID, start); return err })
	for i := range 3 {
		s.ok(s.ReachSection(s.ctx, session.ID, "income", start.Add(time.Duration(i)*time.Hour)))
		s.ok(s.NoteProblems(s.ctx, session.ID, "income", rules[:i+1], start))
		s.tx(func(tx *db.Tx) error {
			return tx.SaveDraft(s.ctx, session.ID, "income", json.RawMessage(`{}`), rules[:1], start)
		})
	}
	s.ok(s.NoteProblems(s.ctx, session.ID, "assets", rules, start)) // never seen
	s.tx(func(tx *db.Tx) error {
		_, err := tx.SaveSection(s.ctx, session.ID, "income", json.RawMessage(`{}`), "", start.Add(3*time.Hour))
		return err
	})
	var got []string
	for _, line := range s.formCounts() {
		_, figure, _ := strings.Cut(line, "2026-11-20|")
		got = append(got, figure)
	}
	want := []string{
		"income|completed||1|0", "income|problem|email Email must be in the correct format, like name@example.com|1|0",
		"income|problem|full_name Enter full name|1|0", "income|problem|vehicles.value Vehicle: enter value|1|0",
		"income|reached||1|0", "income|time 61||1|10800", "|reached||1|0",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("counted\n%q\nwant\n%q", got, want)
	}
	times := func() string {
		refused, err := s.RefusedRules(s.ctx, session.ID)
		s.ok(err)
		var out []string
		for _, r := range refused {
			out = append(out, fmt.Sprint(r.Field, " ", r.Times))
		}
		return strings.Join(out, ", ")
	}
	if got := times(); got != "email 6, full_name 1, vehicles.value 2" {
		t.Errorf("refused %s", got)
	}
	for range 100 {
		s.ok(s.NoteProblems(s.ctx, session.ID, "income", rules[:1], start))
	}
	s.ok(s.NoteProblems(s.ctx, session.ID, "income", append(rules[:1:1],
		domain.FailedRule{Field: "phone", Message: "Enter phone"}), start))
	most := times()
	if most != "phone 1, email 1, full_name 1, vehicles.value 1" {
		t.Errorf("of a section that keeps no more: %s", most)
	}
	if kept := s.lines(`SELECT cardinality(problems)::text FROM section`); kept[0] != "51" {
		t.Errorf("%s problems are kept, want 50 and the new one", kept)
	}
	const size = `SELECT (cardinality(problems), length(refused::text))::text FROM section`
	before := s.lines(size)
	s.ok(s.NoteProblems(s.ctx, session.ID, "income", rules, start))
	if after := s.lines(size); after[0] != before[0] {
		t.Errorf("problems grow without end: %s, then %s", before, after)
	}
}
