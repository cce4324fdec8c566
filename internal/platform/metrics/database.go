package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"candor/db"
)

const (
	// scrapeTimeout bounds the query of a scrape.
	scrapeTimeout = 3 * time.Second
	// backlogAge is how old a result may be. It bounds the queries, however many
	// scrapes there are.
	backlogAge = 5 * time.Second
)

// backlog shows the pending deliveries.
type backlog struct {
	source   Source
	database cached[db.DeliveryBacklog]

	readable, pending, oldest, queueAge, endpoints *prometheus.Desc
}

func newBacklog(source Source) *backlog {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &backlog{
		source: source, database: cached[db.DeliveryBacklog]{ask: source.Backlog},
		readable: desc("candor_database_readable",
			"1 if the database answered this scrape, else 0 and the backlog's metrics are absent."),
		pending: desc("candor_webhook_pending_deliveries", "Pending deliveries, at most 100000."),
		oldest: desc("candor_webhook_oldest_pending_age_seconds",
			"Age of the oldest pending delivery, 0 for none, without redeliveries and what waits at a paused endpoint."),
		queueAge:  desc("candor_webhook_queue_age_seconds", "How long the oldest due and unclaimed delivery has been due, 0 for none."),
		endpoints: desc("candor_webhook_due_endpoints", "Endpoints with a due and unclaimed delivery."),
	}
}

// Describe is prometheus.Collector's.
func (b *backlog) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{b.readable, b.pending, b.oldest, b.queueAge, b.endpoints} {
		out <- d
	}
}

// Collect is prometheus.Collector's. A database that doesn't answer is a metric and
// doesn't fail the scrape.
func (b *backlog) Collect(out chan<- prometheus.Metric) {
	now := b.source.Clock()
	show := func(d *prometheus.Desc, v float64) { out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v) }
	last, err := b.database.read()
	if err != nil {
		show(b.readable, 0)
		return
	}
	age := func(at *time.Time) float64 {
		if at == nil {
			return 0
		}
		return max(0, now.Sub(*at).Seconds())
	}
	show(b.readable, 1)
	show(b.pending, float64(last.Pending))
	show(b.oldest, age(last.OldestPending))
	show(b.queueAge, age(last.OldestDue))
	show(b.endpoints, float64(last.DueEndpoints))
}

// pool shows the connections to the database, and the commits that wait there.
type pool struct {
	source                                   Source
	open, inUse, waits, waited, waiting, age *prometheus.Desc
}

func newPool(source Source) *pool {
	desc := func(name, help string) *prometheus.Desc { return prometheus.NewDesc(name, help, nil, nil) }
	return &pool{
		source: source,
		open:   desc("candor_database_connections_open", "Open connections of the pool."),
		inUse:  desc("candor_database_connections_in_use", "Connections in use."),
		waits:  desc("candor_database_connection_waits_total", "How often a request waited for a connection."),
		waited: desc("candor_database_connection_wait_seconds_total",
			"Total time of waiting for a connection."),
		waiting: desc("candor_database_commits_waiting",
			"Commits that wait for a replica, of all processes. Absent if the primary doesn't say."),
		age: desc("candor_database_commit_wait_seconds", "How long the one that waits longest has waited, 0 for none."),
	}
}

// Describe is prometheus.Collector's.
func (p *pool) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{p.open, p.inUse, p.waits, p.waited, p.waiting, p.age} {
		out <- d
	}
}

// Collect is prometheus.Collector's.
func (p *pool) Collect(out chan<- prometheus.Metric) {
	s, c := p.source.Pool(), p.source.CommitWaits()
	out <- prometheus.MustNewConstMetric(p.open, prometheus.GaugeValue, float64(s.OpenConnections))
	out <- prometheus.MustNewConstMetric(p.inUse, prometheus.GaugeValue, float64(s.InUse))
	out <- prometheus.MustNewConstMetric(p.waits, prometheus.CounterValue, float64(s.WaitCount))
	out <- prometheus.MustNewConstMetric(p.waited, prometheus.CounterValue, s.WaitDuration.Seconds())
	if !c.Known {
		return
	}
	out <- prometheus.MustNewConstMetric(p.waiting, prometheus.GaugeValue, float64(c.Waiting))
	out <- prometheus.MustNewConstMetric(p.age, prometheus.GaugeValue, c.Longest.Seconds())
}
