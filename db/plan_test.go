package db_test

import (
	"context"
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lib/pq"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
)

const (
	manySessions = 50_000
	manyOverdue  = 40
	// fewRows is what a request may touch: a page, a day's sessions, two
	// years of counters, two rows a day. It doesn't grow with the sessions.
	fewRows = 3_500
	// searchRows is what a search may touch: the newest sessions, then those that match.
	// A sort of all of one state, here 10,000, may be planned, by what the statistics say.
	searchRows = 20_000
)

// Nothing on a request's path touches rows in proportion to the account's
// history, with plans made for the values and with those made for any.
func TestPlansTouchFewRows(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	s := newPlanStore(t)
	fill(s)
	s.withEachPlan(t, func(s *store) {
		for name, request := range requests(s) {
			s.expectFew(name, request)
		}
		for name, f := range searches() {
			s.expectFewSearched(name, f)
		}
	})
}

// planModes have plans made for any values and for those given; PostgreSQL by itself takes one of the two.
var planModes = []string{"force_generic_plan", "force_custom_plan"}

// newPlanStore is a store with one connection, see touched, that has the settings given.
func newPlanStore(t *testing.T, settings ...string) *store {
	t.Helper()
	s := &store{DB: dbtest.New(t), TB: t, ctx: context.Background()}
	s.Raw().SetMaxOpenConns(1)
	s.scope = s.newScope("Large")
	for _, setting := range settings {
		s.ok(second(s.Raw().ExecContext(s.ctx, setting)))
	}
	return s
}

// withEachPlan runs a check with each kind of plans.
func (s *store) withEachPlan(t *testing.T, check func(*store)) {
	t.Helper()
	for _, mode := range planModes {
		t.Run(mode, func(t *testing.T) {
			s.ok(second(s.Raw().ExecContext(s.ctx, "SET plan_cache_mode = "+mode)))
			check(&store{DB: s.DB, TB: t, ctx: s.ctx, scope: s.scope})
		})
	}
}

// expectFewSearched holds a search also to what an export finds.
func (s *store) expectFewSearched(name string, f domain.SessionFilter) {
	s.Helper()
	var found *db.FoundSessions
	s.expectAtMost(searchRows, "search for "+name, func() (err error) {
		found, err = s.SearchSessions(s.ctx, s.scope, f, nil, 26, start)
		return err
	})
	if (len(found.Sessions) > 0) == (f.Search == "none") {
		s.Errorf("search for %s: %d sessions", name, len(found.Sessions))
	}
	all, enough := 0, errors.New("more than the search has found")
	err := s.EachSessionFound(s.ctx, s.scope, f, start, func(some []domain.Session) error {
		if all += len(some); all > found.Total {
			return enough
		}
		return nil
	})
	if !errors.Is(err, enough) {
		s.ok(err)
	}
	if found.Total > all || found.Total < all && !found.OrMore {
		s.Errorf("search for %s: %d found, more: %t; there are %d or more", name, found.Total, found.OrMore, all)
	}
}

// fill gives the account sessions of two years, of which some open ones are
// overdue, and a smaller neighbour.
func fill(s *store) {
	s.Helper()
	neighbour := s.newScope("Neighbour")
	build := s.dropIndexes("session", "session_search", "session_count")
	for scope, n := range map[domain.Scope]int{s.scope: manySessions, neighbour: manySessions / 10} {
		_, err := s.Raw().ExecContext(s.ctx, `
			INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, reference_id, metadata, created_at,
				expires_at, completed_at, erased_at)
			SELECT gen_random_uuid(), $1, false, status, 'financial_statement', 'customer' || n || '@example.com',
				CASE WHEN n % 3 > 0 THEN 'REF ' || n END, '{}', created, CASE WHEN n <= $4 THEN $3 ELSE $3 + interval '30 days' END,
				CASE WHEN status = 'completed' THEN created + interval '1 hour' END, CASE WHEN status = 'completed'
					AND created < $3 - interval '80 days' THEN $3 END
			FROM (SELECT n, $3::timestamptz - interval '2 years' * n / $2 AS created,
				CASE WHEN n <= $4 THEN 'in_progress' WHEN n % 20 < 10 THEN 'completed' WHEN n % 20 < 14 THEN 'expired'
					WHEN n % 20 < 16 THEN 'cancelled'
					WHEN n % 20 < 18 THEN 'in_progress' ELSE 'pending' END AS status
				FROM generate_series(1, $2::int) n) s`,
			scope.AccountID, n, start, manyOverdue)
		s.ok(err)
	}
	build()
	_, err := s.Raw().ExecContext(s.ctx, `
		WITH kept AS (SELECT id, completed_at FROM session WHERE status = 'completed' AND erased_at IS NULL),
			pdf AS (INSERT INTO statement_pdf (session_id, content, size_bytes, page_count, created_at) SELECT id, 'pdf', 3, 4,
				completed_at FROM kept)
		INSERT INTO document (id, session_id, category, file_name, content_type, size_bytes, sha256, uploaded_at)
		SELECT gen_random_uuid(), id, 'other', 'file', 'application/pdf', 3, sha256('x'), completed_at
		FROM kept, generate_series(1, 2)`)
	s.ok(err)
	hasty := s.newScope("Hasty") // keeps files for 30 days, beside others who keep them for 90
	_, err = s.Raw().ExecContext(s.ctx, "UPDATE account SET answer_days = 90, retention_days = CASE id WHEN $1 THEN 30 ELSE 90 END",
		hasty.AccountID)
	s.ok(err)
	_, err = s.Raw().ExecContext(s.ctx, "ANALYZE")
	s.ok(err)
}

// dropIndexes drops the tables' indexes, but for unique ones. To build them when the tables
// are filled takes a fraction of the time.
func (s *store) dropIndexes(tables ...string) (build func()) {
	s.Helper()
	var indexes []struct{ Name, Definition string }
	s.ok(s.Raw().SelectContext(s.ctx, &indexes, `
		SELECT indexrelid::regclass::text AS name, pg_get_indexdef(indexrelid) AS definition
		FROM pg_index WHERE indrelid = ANY ($1::text[]::regclass[]) AND NOT indisunique`, pq.Array(tables)))
	each := func(statement func(name, definition string) string) {
		for _, index := range indexes {
			_, err := s.Raw().ExecContext(s.ctx, statement(index.Name, index.Definition))
			s.ok(err)
		}
	}
	each(func(name, _ string) string { return "DROP INDEX " + name })
	return func() { each(func(_, definition string) string { return definition }) }
}

// requests are the reads of the API, by what they show.
func requests(s *store) map[string]func() error {
	list := func(f domain.SessionFilter) func() error {
		return func() error {
			_, _, err := s.Sessions(s.ctx, s.scope, f, domain.Page{Number: 1, Size: 20}, start)
			return err
		}
	}
	sorted := func(f domain.SessionFilter, order domain.SessionOrder) func() error {
		return func() error {
			last := &domain.Session{ID: domain.NewSessionID(), CreatedAt: start.AddDate(0, 0, -100), ExpiresAt: start.Add(time.Hour)}
			_, err := s.SortedSessions(s.ctx, s.scope, f, order, last, 25, start)
			return err
		}
	}
	var id domain.SessionID
	s.ok(s.Raw().GetContext(s.ctx, &id, "SELECT id FROM session WHERE account_id = $1 LIMIT 1", s.scope.AccountID))
	after, before, soon := start.AddDate(0, -3, 0), start.AddDate(0, -1, 0), start.AddDate(0, 0, 60)
	out := map[string]func() error{
		"list":                 list(domain.SessionFilter{}),
		"list by reference":    list(domain.SessionFilter{ReferenceID: "REF 100"}),
		"list by no reference": list(domain.SessionFilter{ReferenceID: "none"}),
		"list by email":        list(domain.SessionFilter{CustomerEmail: "Customer7@example.com"}),
		"list by all": list(domain.SessionFilter{ReferenceID: "REF 100", CustomerEmail: "Customer7@example.com",
			Status: domain.Expired, CreatedAfter: &after, CreatedBefore: &before}),
		"list expiring":           list(domain.SessionFilter{ExpiresBefore: &soon}),
		"list oldest":             sorted(domain.SessionFilter{}, domain.OldestFirst),
		"list oldest expired":     sorted(domain.SessionFilter{Status: domain.Expired}, domain.OldestFirst),
		"list ends pending":       sorted(domain.SessionFilter{Status: domain.Pending}, domain.EndsSoonest),
		"list ends opened":        sorted(domain.SessionFilter{Status: domain.InProgress}, domain.EndsSoonest),
		"list after":              list(domain.SessionFilter{CreatedAfter: &after}),
		"list before":             list(domain.SessionFilter{CreatedBefore: &before}),
		"list between":            list(domain.SessionFilter{CreatedAfter: &after, CreatedBefore: &before}),
		"list pending between":    list(domain.SessionFilter{Status: domain.Pending, CreatedAfter: &after, CreatedBefore: &before}),
		"list expired after":      list(domain.SessionFilter{Status: domain.Expired, CreatedAfter: &after}),
		"list expired between":    list(domain.SessionFilter{Status: domain.Expired, CreatedAfter: &after, CreatedBefore: &before}),
		"list pending, reference": list(domain.SessionFilter{Status: domain.Pending, ReferenceID: "REF 100"}),
		"sessions of a telephone number": func() error {
			_, err := s.SessionsOfPhone(s.ctx, s.scope, []string{"one", "another"}, 8, start)
			return err
		},
		"whether any was opened": func() error {
			opened, err := s.AnySessionOpened(s.ctx, s.scope)
			if opened {
				s.Error("a session is said to be opened where none was")
			}
			return err
		},
		"get": func() error {
			_, err := s.Session(s.ctx, s.scope, id)
			return err
		},
		"usage": func() error {
			_, err := s.Usage(s.ctx, s.scope, time.UTC, start.AddDate(-1, 0, 0), start, start)
			return err
		},
		"median": func() error {
			_, err := s.CompletionMedian(s.ctx, s.scope, start.AddDate(0, 0, -3), start)
			return err
		},
		"sections":  func() error { _, err := s.Sections(s.ctx, id); return err },
		"data key":  func() error { _, _ = s.SessionKey(s.ctx, id); return nil }, // none is stored
		"events":    func() error { _, err := s.Events(s.ctx, id); return err },
		"documents": func() error { _, err := s.Documents(s.ctx, id); return err },
		"sweep": func() error {
			return s.InTx(s.ctx, func(tx *db.Tx) error { _, err := tx.ExpireSessions(s.ctx, start.Add(-time.Hour), 200); return err })
		},
		// Few at a time: what it has changed leaves entries in the indexes, which others then pass over.
		"retention": func() error {
			return s.InTx(s.ctx, func(tx *db.Tx) error { _, err := tx.RetireSessions(s.ctx, start, 20); return err })
		},
		"what retention would delete": func() error {
			_, err := s.CountRetained(s.ctx, s.scope.AccountID, domain.FileRetention, start, 1_000)
			return err
		},
		"retention of what wasn't submitted": func() error {
			return s.InTx(s.ctx, func(tx *db.Tx) error {
				_, err := tx.RetireData(s.ctx, domain.UnsubmittedRetention, start.AddDate(0, 3, 0), 20)
				return err
			})
		},
		"retention of answers": func() error {
			return s.InTx(s.ctx, func(tx *db.Tx) error { _, err := tx.RetireData(s.ctx, domain.AnswerRetention, start, 20); return err })
		},
		"retention of nothing": func() error {
			return s.InTx(s.ctx, func(tx *db.Tx) error {
				_, err := tx.RetireData(s.ctx, domain.AnswerRetention, start.AddDate(-3, 0, 0), 20)
				return err
			})
		},
		"what retention would erase": func() error {
			_, err := s.CountRetained(s.ctx, s.scope.AccountID, domain.UnsubmittedRetention, start.AddDate(0, 3, 0), 1_000)
			return err
		},
		"reconciliation of completed": func() error {
			_, err := s.FinishedSessions(s.ctx, domain.Completed, db.FinishedSession{FinishedAt: after}, start, 200)
			return err
		},
		"reconciliation of expired": func() error {
			_, err := s.FinishedSessions(s.ctx, domain.Expired, db.FinishedSession{FinishedAt: after}, start.AddDate(0, 2, 0), 200)
			return err
		},
		"oldest overdue": func() error { _, err := s.OldestOverdue(s.ctx, start); return err },
		"without PDF":    func() error { _, err := s.SessionsWithoutPDF(s.ctx, start.AddDate(-3, 0, 0), 200); return err },
	}
	for _, status := range domain.Statuses {
		out["list "+string(status)] = list(domain.SessionFilter{Status: status})
		old := start.AddDate(-2, 0, 1)
		for _, order := range []domain.SessionOrder{domain.OldestFirst, domain.EndsSoonest} {
			if f := (domain.SessionFilter{Status: status, CreatedBefore: &old}); order.Sorts(&f) {
				out["list "+string(order)+" of old "+string(status)] = sorted(f, order)
			}
		}
	}
	return out
}

// searches are what staff look for: what hardly any session has, and what all have.
func searches() map[string]domain.SessionFilter {
	return map[string]domain.SessionFilter{
		"a part of an address": {Search: "USTOMER19999@"}, "two parts": {Search: "ref customer19999"},
		"a rare state":  {Search: "customer19", Status: domain.Pending},
		"what all have": {Search: "example.com"}, "a short word": {Search: "re"}, "nothing": {Search: "none"},
		"a reference of one state": {Search: "ref 100", Status: domain.Expired},
	}
}

func (s *store) expectFew(name string, request func() error) {
	s.Helper()
	s.expectAtMost(fewRows, name, request)
}

func (s *store) expectAtMost(most int, name string, request func() error) {
	s.Helper()
	s.ok(request()) // what it reads once for the connection isn't counted
	s.expectRows(most, name, func() { s.ok(request()) })
}

func (s *store) expectRows(most int, name string, work func()) {
	s.Helper()
	before := s.touched()
	work()
	if rows := s.touched() - before; rows > most {
		s.Errorf("%s touches %d rows and index entries, want at most %d", name, rows, most)
	}
}

// touched is how many rows and index entries the statistics have counted; the
// store's one connection puts its own in before.
func (s *store) touched() (n int) {
	s.Helper()
	_, err := s.Raw().ExecContext(s.ctx, "SELECT pg_stat_force_next_flush()")
	s.ok(err)
	s.ok(s.Raw().GetContext(s.ctx, &n, `
		SELECT (SELECT sum(seq_tup_read) FROM pg_stat_user_tables) + (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes)`))
	return n
}

// TestPlansOfOverdueSessions: however many links are open, what is counted and listed as
// expired before the sweep doesn't walk them.
func TestPlansOfOverdueSessions(t *testing.T) {
	t.Parallel()
	// Without the others, PostgreSQL takes the widest index, as it does for a large account.
	s := newPlanStore(t, "SET enable_seqscan = off")
	_, err := s.Raw().ExecContext(s.ctx, `
		INSERT INTO session (id, account_id, livemode, status, form_type, customer_email, metadata, created_at, expires_at)
		SELECT gen_random_uuid(), $1, false, (ARRAY['pending', 'in_progress', 'expired'])[1 + n % 3], 'financial_statement',
			'a@b.example', '{}', $2::timestamptz - interval '1 hour' - n * interval '1 minute',
			$2::timestamptz + CASE WHEN n % 3 < 2 THEN 30 ELSE -1 END * interval '1 day'
		FROM generate_series(1, 30000) n`, s.scope.AccountID, start)
	s.ok(err)
	s.vacuum("session", "session_count")
	_, err = s.Raw().ExecContext(s.ctx, `DROP INDEX session_overdue_idx, session_expiring_idx`)
	s.ok(err)
	blocks := func() (n int) {
		s.touched() // flushes the statistics
		s.ok(s.Raw().GetContext(s.ctx, &n, `
			SELECT sum(idx_blks_hit + idx_blks_read) + (SELECT sum(heap_blks_hit + heap_blks_read) FROM pg_statio_user_tables)
			FROM pg_statio_user_indexes`))
		return n
	}
	for name, read := range map[string]func() error{
		"count of pending": func() error {
			_, err := s.CountSessions(s.ctx, s.scope, domain.SessionFilter{Status: domain.Pending}, start, 0)
			return err
		},
		"list of expired": func() error {
			_, err := s.SessionsBefore(s.ctx, s.scope, domain.SessionFilter{Status: domain.Expired}, nil, 25, start)
			return err
		},
		"usage": func() error {
			_, err := s.Usage(s.ctx, s.scope, time.UTC, start.AddDate(0, 0, -30), start, start)
			return err
		},
	} {
		s.ok(read())
		before := blocks()
		s.ok(read())
		if n := blocks() - before; n > 60 {
			t.Errorf("%s reads %d blocks, want at most 60", name, n)
		}
	}
}

// Each filter of a list names a column that exists and an index that holds it.
// One without an index reads rows and leaves them out, as the request log does.
func TestEveryFilterHasItsIndex(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	checkFilters(s, domain.SessionFilters, "session", "session_search")
	checkFilters(s, domain.DeliveryFilters, "event", "delivery")
	checkFilters(s, domain.EventFilters, "event")
	checkFilters(s, domain.AuditFilters, "audit_log")
	checkFilters(s, domain.RequestFilters, "api_request")
}

func checkFilters[F any](s *store, filters []domain.Filter[F], tables ...string) {
	s.Helper()
	seen := map[string]bool{}
	var zero F
	for _, one := range filters {
		if one.Name == "" || seen[one.Name] || one.Value == nil {
			s.Errorf("%s: filter %q has no name or value, or is there twice", tables[0], one.Name)
			continue
		}
		seen[one.Name] = true
		if value := one.Value(&zero); value != nil && value != int64(0) {
			s.Errorf("%s: filter %s is set to %v where nothing was asked for", tables[0], one.Name, value)
		}
		var columns int
		s.ok(s.Raw().GetContext(s.ctx, &columns, `
			SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ANY (string_to_array($1, ' '))
				AND column_name = $2`,
			strings.Join(tables, " "), one.Column))
		if one.Column != "" && columns == 0 {
			s.Errorf("%s: filter %s compares %s, which is no column", tables[0], one.Name, one.Column)
		}
		if one.Index == "" {
			continue
		}
		var indexes []string
		s.ok(s.Raw().SelectContext(s.ctx, &indexes, `
			SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = ANY (string_to_array($1, ' ')) AND indexname = $2`,
			strings.Join(tables, " "), one.Index))
		sorted := one.Compare != domain.Equal && one.Compare != domain.EqualFold // times and numbers: the list's order finds them
		if len(indexes) != 1 || !sorted && !strings.Contains(indexes[0], one.Column) {
			s.Errorf("%s: filter %s is found by %s, which is %q", tables[0], one.Name, one.Index, indexes)
		}
	}
}

// fixedTables don't grow with the sessions, but with accounts, staff and settings.
const fixedTables = `account, alert, api_key, api_key_network, attempt_count, billing_setting, held_form, invitation, invoice, invoice_number, passkey_challenge, payment_event,
	payment_method, plan, plan_change, reconciliation, spend_notice, staff_passkey, staff_recovery_code, staff_request,
		staff_session, staff_user, staff_view, subscription, test_event,
	usage_notice, webhook_endpoint`

// doc/scaling.md lists the indexes of growing tables that the account doesn't lead, by
// what needs them. Those are what a distributed PostgreSQL can't shard by account.
func TestIndexesLedByTheAccount(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../doc/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	_, list, _ := strings.Cut(string(page), "\n### Indexes that the account doesn't lead\n")
	_, list, _ = strings.Cut(list, "\n|---|---|\n")
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(list, -1) {
		listed[name[1]] = true
	}
	var others []string
	err = dbtest.Open(t, dbtest.DSN(t)).Raw().SelectContext(context.Background(), &others, `
		SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class r ON r.oid = x.indrelid
		WHERE r.relnamespace = 'public'::regnamespace AND r.relname NOT LIKE 'river%' AND r.relname NOT LIKE 'goose%'
			AND r.relname <> ALL (regexp_split_to_array($1, ',\s*')) AND pg_get_indexdef(x.indexrelid, 1,
				true) <> 'account_id'`, fixedTables)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if !listed[name] {
			t.Errorf("the account doesn't lead %s: let it, or give the reason in doc/scaling.md", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("doc/scaling.md lists %s, which the account leads, or which isn't there", name)
	}
}
