package handlers_test

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/delivery"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/mail"
	"candor/internal/platform/metrics"
	"candor/internal/service/requestlog"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
	"candor/jobs"
)

// erasures is how many erasures TestErasureAgainstEverything makes; it makes one against
// each use case at least.
var erasures = flag.Int("erasures", 0, "how many erasures race with use cases")

// TestErasureAgainstEverything has an owner erase a session while something else is done
// with it (D90), for each use case and job that has to do with sessions, and then looks
// for what was personal in all that is kept: the database and what is sealed there, the
// documents' folder, the log and the metrics. Many erasures:
//
//	go test ./handlers -run TestErasureAgainstEverything -v -erasures 1000
func TestErasureAgainstEverything(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	r := newErasureRace(t)
	r.names = slices.Sorted(maps.Keys(besideErasure))
	total := max(*erasures, len(r.names))
	next := make(chan int)
	var racing sync.WaitGroup
	for range erasuresAtOnce {
		racing.Go(func() {
			for n := range next {
				r.run(n, n/len(r.names)%2 == 0)
			}
		})
	}
	for n := range total {
		next <- n
	}
	close(next)
	racing.Wait()
	r.stop()
	left := r.left()
	for _, place := range slices.Sorted(maps.Keys(left)) {
		t.Errorf("left in %s: %v", place, left[place])
	}
	t.Logf("%d erasures beside %d use cases, whose answers were %v: %d places have something left", total, len(r.names),
		r.answers, len(left))
}

// TestEverythingBesideErasureIsKnown fails for a route or a job that has to do with
// sessions and doesn't race with an erasure.
func TestEverythingBesideErasureIsKnown(t *testing.T) {
	t.Parallel()
	var known []string
	for _, route := range harness.RoutesOf(handlers.Customer, handlers.APIKey, handlers.Staff) {
		if !aboutNoSession.MatchString(route.Path) {
			known = append(known, harness.RouteName(route))
		}
	}
	files, err := filepath.Glob("../jobs/*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, kind := range regexp.MustCompile(`\) Kind\(\) string +{ return "(\w+)" }`).FindAllStringSubmatch(string(source), -1) {
			if !jobAboutNoSession.MatchString(kind[1]) {
				known = append(known, "job "+kind[1])
			}
		}
	}
	for _, name := range known {
		if besideErasure[name].do == nil {
			t.Errorf("%s: add it to besideErasure, or to what is about no session", name)
		}
	}
	for name := range besideErasure {
		base, _, _ := strings.Cut(name, " (")
		if !slices.Contains(known, base) {
			t.Errorf("%s is no route and no job", name)
		}
	}
	if len(known) < 60 {
		t.Errorf("only %d routes and jobs: %v", len(known), known)
	}
}

// An erasureRace is a whole service, workers included, and what became of it.
type erasureRace struct {
	*harness.Harness
	control *db.DB // for what the test itself asks and holds
	hook    string // an endpoint that repeats what it was sent, and fails
	owner   *harness.StaffBrowser
	metrics *metrics.Metrics
	stop    func()

	mu      sync.Mutex
	answers map[int]int    // how many of each status
	late    map[string]int // emails after the erasure, by use case
	names   []string       // of the use cases: they take turns
}

func newErasureRace(t *testing.T) *erasureRace {
	t.Helper()
	r := &erasureRace{answers: map[int]int{}, late: map[string]int{}}
	var log *requestlog.Writer
	r.Harness = harness.New(t, func(c *handlers.Config) {
		database := c.Sessions.DB
		c.PlacesEach = 1000 // erasures that are held, and what waits for them, are of one account
		r.metrics = metrics.New(metrics.Source{
			Backlog: func(ctx context.Context) (db.DeliveryBacklog, error) { return database.DeliveryBacklog(ctx, c.Clock()) },
			Pool:    database.Stats, CommitWaits: database.CommitWaits, Clock: c.Clock, Version: "test",
			Signs: func(ctx context.Context) (db.Signs, error) { return database.Signs(ctx) },
			Free:  func() (uint64, error) { return 0, nil },
		})
		log = requestlog.NewWriter(database, c.Logger, r.metrics.RequestsUnlogged)
		c.Called, c.Answered = log.Add, r.metrics.Answered
	})
	r.control, r.owner = dbtest.Open(t, r.DSN), r.Owner()
	receiver := hooktest.NewReceiver(t, func(_ int, w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = fmt.Fprintf(w, "no thanks, %s, for %s", request.URL.RawQuery, body)
	})
	r.hook = receiver.URL + "/hook?customer="
	config := r.Service.Config
	inserter, err := jobs.NewInserter(r.DB, config.Logger)
	r.OK(err)
	config.Policy, config.Outbox = webhook.Policy{Development: true}, outbox.New(inserter, r.metrics)
	r.Restart(config)
	r.startWorkers(log)
	r.exec(
		`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(90, hashtext(NEW.session_id::text)); RETURN NEW; END $$`)
	r.exec(`CREATE TRIGGER hold BEFORE INSERT ON erasure FOR EACH ROW EXECUTE FUNCTION hold()`)
	r.exec(
		`CREATE FUNCTION later() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.state = 'scheduled'; NEW.scheduled_at = '2100-01-01'; RETURN NEW; END $$`)
	// drawing takes long
	r.exec(
		`CREATE TRIGGER later BEFORE INSERT ON river_job FOR EACH ROW WHEN (NEW.kind = 'statement_pdf' AND NEW.max_attempts > 1) EXECUTE FUNCTION later()`)
	r.exec(`UPDATE account SET receipt_email = true`)
	return r
}

// startWorkers runs all jobs and deliveries until stop is called.
func (r *erasureRace) startWorkers(log *requestlog.Writer) {
	r.Helper()
	config := r.Service.Config
	client := webhook.NewClient(config.Policy)
	dispatcher := delivery.New(delivery.Config{
		DB: r.DB, Ring: config.Ring, Client: client, Schedule: webhook.DefaultSchedule(), Clock: config.Clock, Logger: config.Logger,
		Observer: r.metrics, PollEvery: time.Hour,
	})
	worker, err := jobs.NewWorker(r.Context(), jobs.Config{
		DB: r.DB, DSN: r.DSN, Outbox: config.Outbox, Dispatcher: dispatcher, Ring: config.Ring, Blobs: config.Blobs, Mail: r,
		BaseURL: config.BaseURL, Clock: config.Clock,
		Logger: config.Logger, Observer: r.metrics, SweepEvery: time.Hour, RescueAfter: time.Minute, PDFWorkers: 2,
		Fonts: harness.Fonts(), Terms: harness.InvoiceTerms(),
	})
	r.OK(err)
	r.OK(worker.Start(r.Context()))
	dispatcher.Start()
	r.stop = sync.OnceFunc(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		dispatcher.Stop(ctx)
		if err := worker.Stop(ctx); err != nil {
			r.Errorf("stop the workers: %v", err)
		}
		client.Close()
		log.Close()
	})
	r.Cleanup(r.stop)
}

func (r *erasureRace) exec(statement string, args ...any) {
	r.Helper()
	_, err := r.control.Raw().ExecContext(r.Context(), statement, args...)
	r.OK(err)
}

func (r *erasureRace) count(query string, args ...any) (n int) {
	r.Helper()
	r.OK(r.control.Raw().GetContext(r.Context(), &n, query, args...))
	return n
}

// Send takes an email, as the mail server. One to a customer who is erased came too late.
func (r *erasureRace) Send(_ context.Context, email mail.Message) error {
	if marks := personal.FindStringSubmatch(email.To); marks != nil &&
		r.count(`SELECT count(*) FROM session WHERE customer_email = $1`, email.To) == 0 {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.late[r.nameOf(marks)]++
	}
	return nil
}

const (
	besideOne      = 2 // of a use case are under way beside an erasure
	erasuresAtOnce = 2 // with the connections of a test's pool
)

// run erases a new session beside a use case. held has the use case begin when all is
// erased and not yet committed: what it reads before it waits is the session as it was.
func (r *erasureRace) run(n int, held bool) {
	r.Helper()
	name := r.names[n%len(r.names)]
	s := r.newSubject(n, besideErasure[name])
	hold, err := r.control.Raw().Conn(r.Context())
	r.OK(err)
	defer hold.Close()
	lock := func(function string) {
		_, err := hold.ExecContext(r.Context(), `SELECT `+function+`(90, hashtext($1::uuid::text))`, s.id)
		r.OK(err)
	}
	var all sync.WaitGroup
	erase := func() {
		form := url.Values{"confirm": {s.email()}, "sessions": {s.id.String()}}
		if got := s.staff().Post(s.page("/erase"), form); got.Code != http.StatusSeeOther || got.Header().
			Get("Location") != s.page("") {
			r.Errorf("%s: the erasure was answered %d: %.300s", name, got.Code, got.Body)
		}
	}
	before := 0 // attempts of webhooks wait for the erasure, too
	if held {
		lock("pg_advisory_lock")
		all.Go(erase)
		testkit.Await(r, name+": the erasure isn't held", func() bool { before = r.behind(s); return before >= 0 })
	}
	var finished atomic.Int32
	for range besideOne {
		all.Go(func() {
			defer finished.Add(1)
			r.note(besideErasure[name].do(s))
		})
	}
	if held {
		testkit.Await(r, name+" neither ends nor waits for the erasure", func() bool {
			return int(finished.Load())+r.behind(s)-before >= besideOne
		})
		lock("pg_advisory_unlock")
	} else {
		all.Go(erase)
	}
	all.Wait()
}

// behind is how many wait for a held erasure, -1 if it isn't held yet.
func (r *erasureRace) behind(s *subject) int {
	r.Helper()
	return r.count(`
		WITH RECURSIVE behind AS (
			SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND classid = 90
				AND objid::bigint = hashtext($1::uuid::text)::bigint & 4294967295
			UNION
			SELECT a.pid FROM behind b JOIN pg_stat_activity a ON a.wait_event_type = 'Lock' AND b.pid = ANY (pg_blocking_pids(a.pid)))
		SELECT count(*) - 1 FROM behind`, s.id)
}

// note counts an answer; a job has none.
func (r *erasureRace) note(answer *httptest.ResponseRecorder) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer != nil {
		r.answers[answer.Code]++
	}
}

// personal finds the marks of subjects, as they are or in an address.
var personal = regexp.MustCompile(`zq(\d{6})[a-z]+|2001:db8:7a71:(\d+)::1`)

// nameOf is the use case of the erasure that a mark is of.
func (r *erasureRace) nameOf(marks []string) string {
	var n int
	_, _ = fmt.Sscanf(marks[1]+marks[2], "%d", &n)
	return r.names[n%len(r.names)]
}

// left is what is personal and left, by where it stands: how often for each use case.
func (r *erasureRace) left() map[string]map[string]int {
	r.Helper()
	out := map[string]map[string]int{}
	found := func(place, text string) {
		for _, marks := range personal.FindAllStringSubmatch(text, -1) {
			if out[place] == nil {
				out[place] = map[string]int{}
			}
			out[place][r.nameOf(marks)+": "+strings.TrimLeft(marks[0], "zq0123456789")]++
		}
	}
	for place, content := range loot(r.Harness) {
		if place == "the database" {
			table := ""
			for line := range strings.Lines(inText(string(content))) {
				if name, isRow := strings.CutPrefix(line, "INSERT INTO public."); isRow {
					table, _, _ = strings.Cut(name, " ")
				}
				found("table "+table, line)
			}
			continue
		}
		found("the documents' folder", string(content))
		if r.count(`SELECT count(*) FROM blob_garbage WHERE document_id = $1`, documentOf(r, filepath.Base(place))) == 0 {
			out["the documents' folder"] = map[string]int{filepath.Base(place): 1}
		}
	}
	found("the log", r.Logs.String())
	scrape := httptest.NewRecorder()
	r.metrics.Handler().ServeHTTP(scrape, httptest.NewRequestWithContext(r.Context(), http.MethodGet, "/metrics", nil))
	found("the metrics", scrape.Body.String())
	r.foundSealed(found)
	r.foundRows(out)
	if len(r.late) > 0 {
		out["emails that were sent afterwards"] = r.late
	}
	if n := r.answers[http.StatusInternalServerError]; n > 0 {
		out["answers"] = map[string]int{"500": n}
	}
	return out
}

// documentOf is the document whose bytes a file has.
func documentOf(r *erasureRace, file string) domain.DocumentID {
	r.Helper()
	id, err := domain.ParseDocumentID(file)
	r.OK(err)
	return id
}

// inText is a dump with the bytes of its columns as text.
func inText(dump string) string {
	return regexp.MustCompile(`\\x[0-9a-f]+`).ReplaceAllStringFunc(dump, func(digits string) string {
		content, err := hex.DecodeString(digits[2:])
		if err != nil {
			return digits
		}
		return strings.ReplaceAll(string(content), "\n", " ")
	})
}

// foundSealed opens the stored responses.
func (r *erasureRace) foundSealed(found func(place, text string)) {
	r.Helper()
	rows, err := r.control.Raw().QueryxContext(r.Context(), `SELECT account_id, livemode, path, key, response FROM idempotency_key`)
	r.OK(err)
	defer rows.Close()
	for rows.Next() {
		var k db.IdempotencyKey
		var sealed []byte
		r.OK(rows.Scan(&k.AccountID, &k.Livemode, &k.Path, &k.Key, &sealed))
		content, err := r.Service.Ring.Open(k.SealOwner(), sealed)
		r.OK(err)
		found("stored responses, opened", string(content))
	}
	r.OK(rows.Err())
}

// foundRows counts rows of erased sessions in the tables that must have none.
func (r *erasureRace) foundRows(out map[string]map[string]int) {
	r.Helper()
	var tables []string
	r.OK(r.control.Raw().SelectContext(r.Context(), &tables, `
		SELECT table_name::text FROM information_schema.columns
		WHERE table_schema = 'public' AND column_name = 'session_id' AND table_name NOT IN ('api_request', 'blob_garbage', 'erasure',
			'event', 'session_search')`))
	for _, table := range tables {
		if n := r.count(`SELECT count(*) FROM ` + table +
			` JOIN session s ON s.id = session_id WHERE s.customer_erased_at IS NOT NULL`); n > 0 {
			if out["table "+table] == nil {
				out["table "+table] = map[string]int{}
			}
			out["table "+table]["rows of erased sessions"] = n
		}
	}
}
