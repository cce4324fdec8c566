// Package metrics counts what the service does and shows it to operators in
// Prometheus' format. Other packages only know their own observer interfaces. No
// label names an account, a session, an address or a URL: labels have few values
// and no personal data.
package metrics

import (
	"context"
	"database/sql"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/postgres"
)

// Source provides the metrics that are read at a scrape instead of counted.
type Source struct {
	Backlog func(ctx context.Context) (db.DeliveryBacklog, error)
	Pool    func() sql.DBStats
	Clock   domain.Clock
	Version string

	CommitWaits  func() postgres.CommitWaits
	Signs        func(ctx context.Context) (db.Signs, error)
	Free         func() (uint64, error) // bytes that CANDOR_DATA_DIR can still take
	BackupFolder string                 // of scripts/backup.sh; "" if this machine hasn't got it
	InBucket     bool                   // documents aren't in that folder, but in S3
}

// Metrics are a process's metrics. They implement the Observers of outbox, delivery
// and jobs, and attempts.Observer, and are safe for concurrent use.
type Metrics struct {
	registry  *prometheus.Registry
	events    *prometheus.CounterVec
	attempts  *prometheus.CounterVec
	duration  prometheus.Histogram
	first     prometheus.Histogram
	delivered prometheus.Histogram
	repairs   *prometheus.CounterVec
	drifts    prometheus.Counter
	undrawn   prometheus.Counter
	emailed   *prometheus.CounterVec
	worked    *prometheus.CounterVec
	requests  *prometheus.HistogramVec
	unlogged  *prometheus.CounterVec
	signIns   *prometheus.CounterVec
	forbidden *prometheus.CounterVec
	shared    *prometheus.GaugeVec
	alone     *prometheus.CounterVec
	expiry    *prometheus.GaugeVec
}

// The upper bounds of the histograms' buckets, in seconds. Requests take
// milliseconds; retries take more than a day.
var (
	requestBuckets = []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 60}
	attemptBuckets = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 15}
	delayBuckets   = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200, 36000, 129600}
)

// New returns metrics that read from source at a scrape.
func New(source Source) *Metrics {
	registry := prometheus.NewRegistry()
	registered := promauto.With(registry)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return registered.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string, buckets []float64) prometheus.Histogram {
		return registered.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: buckets})
	}
	gauge := func(name, help string) *prometheus.GaugeVec { // without labels, so that it is absent until it is set
		return registered.NewGaugeVec(prometheus.GaugeOpts{Name: name, Help: help}, nil)
	}
	m := &Metrics{
		registry: registry,
		events:   counter("candor_events_total", "Events that have committed, by type.", "type"),
		attempts: counter("candor_webhook_attempts_total",
			"Webhook attempts, by outcome: delivered, or the class of the error.", "outcome"),
		duration: histogram("candor_webhook_attempt_duration_seconds", "How long an attempt took.", attemptBuckets),
		first: histogram("candor_webhook_first_attempt_delay_seconds",
			"From an event to the start of its first attempt.", delayBuckets),
		delivered: histogram("candor_webhook_delivery_delay_seconds",
			"From an event to its arrival, retries included, redeliveries not.", delayBuckets),
		drifts: registered.NewCounter(prometheus.CounterOpts{
			Name: "candor_usage_drifts_total",
			Help: "Accounts whose used sessions were counted wrongly, at each daily recount again. Never expected.",
		}),
		undrawn: registered.NewCounter(prometheus.CounterOpts{
			Name: "candor_pdfs_undrawn_total",
			Help: "Tries to draw a statement that has a character without a font, each ten minutes again.",
		}),
		emailed: counter("candor_link_emails_total",
			"Emails with a session’s link, by kind and by the state that they came to.", "kind", "state"),
		repairs: counter("candor_repairs_total", "Finished sessions that lacked their event or its delivery. Never expected.", "lacked"),
		worked:  counter("candor_jobs_total", "Jobs worked, by kind and result.", "kind", "result"),
		requests: registered.NewHistogramVec(prometheus.HistogramOpts{
			Name: "candor_http_request_duration_seconds", Help: "Requests, by route pattern, method and class of status.",
			Buckets: requestBuckets,
		}, []string{"route", "method", "status"}),
		unlogged: counter("candor_api_requests_unlogged_total",
			"API requests that the dashboard doesn't list, by why not.", "why"),
		signIns: counter("candor_sign_in_total", "Attempts to sign in or to confirm, by outcome.", "outcome"),
		forbidden: counter("candor_forbidden_total",
			"Requests that staff's role, or an API key's permissions, didn't allow.", "by"),
		shared: gauge("candor_rate_limits_shared",
			"1 if processes share their rate limits through Redis, 0 if it doesn't answer. Absent if none is configured."),
		// Without labels, so that it is absent without Redis.
		alone: counter("candor_rate_limits_alone_total", "Requests that this process counted by itself because Redis didn't answer."),
		expiry: gauge("candor_pdf_certificate_expiry_timestamp_seconds",
			"When the certificate that signs PDFs expires, in Unix seconds. Absent if none is configured."),
	}
	m.showZeros()
	registered.NewGauge(prometheus.GaugeOpts{
		Name: "candor_build_info", Help: "1, with the version.", ConstLabels: prometheus.Labels{"version": source.Version},
	}).Set(1)
	registry.MustRegister(newBacklog(source), newPool(source), newSigns(source),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// showZeros makes the counters whose labels are known show 0 until something is counted.
func (m *Metrics) showZeros() {
	for _, outcome := range domain.AttemptOutcomes {
		m.signIns.WithLabelValues(string(outcome))
	}
	for _, by := range []domain.ActorKind{domain.ActorStaff, domain.ActorKey} {
		m.forbidden.WithLabelValues(string(by))
	}
	for _, t := range domain.EventTypes {
		m.events.WithLabelValues(string(t))
	}
	for _, what := range []string{"event", "delivery"} {
		m.repairs.WithLabelValues(what)
	}
	for _, why := range []string{domain.UnloggedFull, domain.UnloggedFailed, domain.UnloggedLimited} {
		m.unlogged.WithLabelValues(why)
	}
}

// Handler answers a scrape.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{Registry: m.registry, Timeout: scrapeTimeout + time.Second})
}

// CertificateExpires says until when PDFs can be signed (D81).
func (m *Metrics) CertificateExpires(at time.Time) {
	m.expiry.WithLabelValues().Set(float64(at.Unix()))
}

// EventRecorded counts an event that has committed.
func (m *Metrics) EventRecorded(t domain.EventType) { m.events.WithLabelValues(string(t)).Inc() }

// Attempted counts a webhook attempt by its error class, "" for a success.
func (m *Metrics) Attempted(class string, took time.Duration) {
	if class == "" {
		class = "delivered"
	}
	m.attempts.WithLabelValues(class).Inc()
	m.duration.Observe(took.Seconds())
}

// FirstAttempted records how long an event waited for its first attempt.
func (m *Metrics) FirstAttempted(delay time.Duration) { m.first.Observe(delay.Seconds()) }

// Delivered records how long an event took to arrive.
func (m *Metrics) Delivered(delay time.Duration) { m.delivered.Observe(delay.Seconds()) }

// UsageRecounted counts the result of a recount of used sessions. It is a counter
// because the next recount can be another process's.
func (m *Metrics) UsageRecounted(drifts int) { m.drifts.Add(float64(drifts)) }

// Repaired counts a repair.
func (m *Metrics) Repaired(what string) { m.repairs.WithLabelValues(what).Inc() }

// Undrawn counts a try of a statement that waits for a font.
func (m *Metrics) Undrawn() { m.undrawn.Inc() }

// LinkEmailed counts a state of an email with a session's link.
func (m *Metrics) LinkEmailed(kind domain.LinkEmailKind, state domain.LinkEmailState) {
	m.emailed.WithLabelValues(string(kind), string(state)).Inc()
}

// Worked counts a job.
func (m *Metrics) Worked(kind string, failed bool) {
	result := "done"
	if failed {
		result = "failed"
	}
	m.worked.WithLabelValues(kind, result).Inc()
}

// RequestsUnlogged counts API requests that are missing from their log.
func (m *Metrics) RequestsUnlogged(why string, n int) {
	m.unlogged.WithLabelValues(why).Add(float64(n))
}

// SignInAttempted counts an attempt to sign in or to confirm a password.
func (m *Metrics) SignInAttempted(o domain.AttemptOutcome) {
	m.signIns.WithLabelValues(string(o)).Inc()
}

// Forbidden counts a request that the actor lacks the permission for.
func (m *Metrics) Forbidden(by domain.ActorKind) { m.forbidden.WithLabelValues(string(by)).Inc() }

// LimitsShared sets whether processes share their rate limits.
func (m *Metrics) LimitsShared(shared bool) {
	m.alone.WithLabelValues()
	value := 0.0
	if shared {
		value = 1
	}
	m.shared.WithLabelValues().Set(value)
}

// CountedAlone counts a request of which other processes know nothing.
func (m *Metrics) CountedAlone() { m.alone.WithLabelValues().Inc() }

// Answered counts a request by its route's pattern, never its path.
func (m *Metrics) Answered(method, route string, status int, took time.Duration) {
	if route == "" {
		route = "none"
	}
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete:
	default:
		method = "other" // a client can send any method
	}
	m.requests.WithLabelValues(strings.TrimSuffix(route, "/"), method, strconv.Itoa(status/100)+"xx").Observe(took.Seconds())
}
