package metrics_test

import (
	"context"
	"database/sql"
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/metrics"
	"candor/internal/platform/postgres"
	"candor/internal/testkit"
	"candor/jobs"
)

var _ jobs.Observer = (*metrics.Metrics)(nil)

var start = time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC)

func scrape(t *testing.T, m *metrics.Metrics) (string, map[string]*dto.MetricFamily) {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if w.Code != http.StatusOK {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	text := w.Body.String()
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return text, families
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	due, oldest := start.Add(-7*time.Second), start.Add(-time.Hour)
	var asked atomic.Int32
	backups := t.TempDir()
	if err := os.WriteFile(filepath.Join(backups, "base.time"), []byte("20261120T020000Z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := metrics.New(metrics.Source{
		Backlog: func(context.Context) (db.DeliveryBacklog, error) {
			asked.Add(1)
			return db.DeliveryBacklog{Pending: 12, OldestPending: &oldest, OldestDue: &due, DueEndpoints: 2}, nil
		},
		Pool: func() sql.DBStats {
			return sql.DBStats{OpenConnections: 5, InUse: 3}
		}, Clock: func() time.Time {
			return start
		}, Version: "v1", CommitWaits: func() postgres.CommitWaits { return postgres.CommitWaits{Known: true} },
		Signs: func(context.Context) (db.Signs, error) {
			return db.Signs{Workers: 2, Replicas: 1, Archives: true, ArchiveFails: true, ServerTime: start,
				Queues: []db.QueueAge{{Queue: "mail", Oldest: &oldest}, {Queue: "pdf", Due: &due, Oldest: &oldest}}}, nil
		}, Free: func() (uint64, error) { return 5, nil }, BackupFolder: backups,
	})
	m.EventRecorded(domain.SessionCompleted)
	m.Attempted("", 20*time.Millisecond)
	m.Attempted("timeout", 15*time.Second)
	m.FirstAttempted(3 * time.Millisecond)
	m.Delivered(2 * time.Minute)
	m.Undrawn()
	m.Worked("pdf", false)
	m.Worked("pdf", true)
	m.Answered("GET", "/v1/sessions/:id", 404, time.Millisecond)
	m.Answered("BREW", "", 405, time.Millisecond)
	m.RequestsUnlogged(domain.UnloggedFull, 3)
	if text, _ := scrape(t, m); strings.Contains(text, "candor_rate_limits") {
		t.Error("shared limits are shown without Redis")
	}
	m.LimitsShared(false)
	m.CountedAlone()
	text, _ := scrape(t, m)
	for _, line := range []string{
		`candor_events_total{type="session.completed"} 1`, `candor_events_total{type="session.expired"} 0`,
		`candor_webhook_attempts_total{outcome="delivered"} 1`, `candor_webhook_attempts_total{outcome="timeout"} 1`,
		`candor_webhook_first_attempt_delay_seconds_bucket{le="0.005"} 1`, `candor_webhook_delivery_delay_seconds_bucket{le="60"} 0`,
		`candor_webhook_delivery_delay_seconds_bucket{le="300"} 1`, `candor_repairs_total{lacked="event"} 0`,
		`candor_pdfs_undrawn_total 1`,
		`candor_jobs_total{kind="pdf",result="done"} 1`, `candor_jobs_total{kind="pdf",result="failed"} 1`,
		`candor_http_request_duration_seconds_count{method="GET",route="/v1/sessions/:id",status="4xx"} 1`,
		`candor_http_request_duration_seconds_count{method="other",route="none",status="4xx"} 1`,
		`candor_api_requests_unlogged_total{why="full"} 3`, `candor_api_requests_unlogged_total{why="failed"} 0`,
		`candor_rate_limits_shared 0`, `candor_rate_limits_alone_total 1`,
		`candor_database_readable 1`, `candor_webhook_pending_deliveries 12`, `candor_webhook_queue_age_seconds 7`,
		`candor_webhook_oldest_pending_age_seconds 3600`, `candor_webhook_due_endpoints 2`, `candor_database_connections_in_use 3`,
		`candor_build_info{version="v1"} 1`, `candor_workers 2`, `candor_database_replicas 1`, `candor_database_wal_archive_works 0`,
		`candor_job_queue_age_seconds{queue="mail"} 0`, `candor_job_queue_age_seconds{queue="pdf"} 7`,
		`candor_job_oldest_age_seconds{queue="mail"} 3600`, `candor_data_dir_free_bytes 5`,
		`candor_backup_timestamp_seconds{of="base"} 1.79514e+09`, `candor_backup_timestamp_seconds{of="verified"} 0`,
	} {
		if !strings.Contains(text, line+"\n") {
			t.Errorf("no %s", line)
		}
	}
	if problems, err := promlint.New(strings.NewReader(text)).Lint(); err != nil || len(problems) > 0 {
		t.Errorf("promlint: %v, %v", problems, err)
	}
	scrape(t, m)
	if n := asked.Load(); n != 1 {
		t.Errorf("two scrapes asked the database %d times, want 1", n)
	}
}

// A bucket isn't copied by backup.sh, so that no copy is missed.
func TestNoCopyOfDocumentsInS3(t *testing.T) {
	t.Parallel()
	for inBucket, want := range map[bool]int{false: 3, true: 2} {
		m := metrics.New(metrics.Source{
			Backlog: func(context.Context) (db.DeliveryBacklog, error) { return db.DeliveryBacklog{}, nil },
			Pool: func() sql.DBStats {
				return sql.DBStats{}
			}, Clock: time.Now, Version: "v1", CommitWaits: func() postgres.CommitWaits { return postgres.CommitWaits{Known: true} },
			Signs: func(context.Context) (db.Signs, error) { return db.Signs{}, nil },
			Free:  func() (uint64, error) { return 1, nil }, BackupFolder: t.TempDir(), InBucket: inBucket,
		})
		text, families := scrape(t, m)
		if got := len(families["candor_backup_timestamp_seconds"].GetMetric()); got != want ||
			strings.Contains(text, `{of="documents"}`) == inBucket {
			t.Errorf("with a bucket %t there are the times of %d backups, want %d", inBucket, got, want)
		}
	}
}

// A mount that hangs doesn't take the metrics away: the backups' times stay as they were, and
// age.
func TestScrapeWhileTheBackupsHang(t *testing.T) {
	t.Parallel()
	backups := t.TempDir()
	base := filepath.Join(backups, "base.time")
	if err := os.WriteFile(base, []byte("20261120T020000Z\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := metrics.New(metrics.Source{
		Backlog: func(context.Context) (db.DeliveryBacklog, error) { return db.DeliveryBacklog{}, nil },
		Pool:    func() sql.DBStats { return sql.DBStats{} }, Clock: time.Now, Version: "v1",
		CommitWaits: func() postgres.CommitWaits { return postgres.CommitWaits{Known: true} },
		Signs:       func(context.Context) (db.Signs, error) { return db.Signs{}, nil },
		Free:        func() (uint64, error) { return 1, nil }, BackupFolder: backups,
	})
	want := func(line string) {
		t.Helper()
		if text, _ := scrape(t, m); !strings.Contains(text, line+"\n") || !strings.Contains(text, "candor_workers ") {
			t.Errorf("no %s, or no candor_workers", line)
		}
	}
	want(`candor_backup_timestamp_seconds{of="base"} 1.79514e+09`)
	if err := errors.Join(os.Remove(base), syscall.Mkfifo(base, 0o600)); err != nil {
		t.Fatal(err)
	}
	want(`candor_backup_timestamp_seconds{of="base"} 1.79514e+09`) // opening it waits for who writes
	want(`candor_backup_timestamp_seconds{of="base"} 1.79514e+09`)
	if err := errors.Join(os.Rename(base, base+".fifo"), os.WriteFile(base, []byte("20261122T020000Z\n"), 0o600),
		os.WriteFile(base+".fifo", []byte("20261121T020000Z\n"), 0o600)); err != nil { // which ends the read
		t.Fatal(err)
	}
	testkit.Await(t, "the times are read again", func() bool {
		text, _ := scrape(t, m)
		return strings.Contains(text, `candor_backup_timestamp_seconds{of="base"} 1.7953128e+09`+"\n")
	})
}

// TestScrapeWithoutDatabase: metrics that need no database are still shown.
func TestScrapeWithoutDatabase(t *testing.T) {
	t.Parallel()
	m := metrics.New(metrics.Source{
		Backlog: func(context.Context) (db.DeliveryBacklog, error) { return db.DeliveryBacklog{}, errors.New("gone") },
		Pool: func() sql.DBStats {
			return sql.DBStats{}
		}, Clock: time.Now, Version: "v1", CommitWaits: func() postgres.CommitWaits { return postgres.CommitWaits{Known: true} },
		Signs: func(context.Context) (db.Signs, error) { return db.Signs{}, errors.New("gone") },
		Free:  func() (uint64, error) { return 1, nil },
	})
	_, families := scrape(t, m)
	if v := families["candor_database_readable"].GetMetric()[0].GetGauge().GetValue(); v != 0 {
		t.Errorf("candor_database_readable is %v, want 0", v)
	}
	if families["candor_webhook_pending_deliveries"] != nil || families["candor_workers"] != nil ||
		families["candor_events_total"] == nil {
		t.Error("the backlog is shown without a database, or the events aren't")
	}
}
