package metrics

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"candor/db"
)

// cached asks at most once in backlogAge, however many scrapes there are.
type cached[T any] struct {
	ask func(ctx context.Context) (T, error)

	mu     sync.Mutex
	last   T
	err    error
	readAt time.Time
}

func (c *cached[T]) read() (T, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.readAt.IsZero() && time.Since(c.readAt) < backlogAge {
		return c.last, c.err
	}
	ctx, cancel := context.WithTimeout(context.Background(), scrapeTimeout)
	defer cancel()
	c.last, c.err = c.ask(ctx)
	c.readAt = time.Now()
	return c.last, c.err
}

// signs (D122) shows workers, queues, replicas and the archive, as the database knows them, and
// from the machine the space for documents and the backups.
type signs struct {
	source   Source
	database cached[db.Signs]
	backups  backups

	workers, due, oldest, replicas, archive, free, backup *prometheus.Desc
}

// The files of scripts/backup.sh's folder that have a time, and what it is the time of.
var backupTimes = [3]struct{ file, of string }{{"base.time", "base"}, {"documents.time", "documents"},
	{"verified.time", "verified"}}

// backupPatience is how long a scrape waits for the backups' times. It leaves scrapeTimeout
// to the database.
const backupPatience = 500 * time.Millisecond

// backups reads the times of CANDOR_BACKUP_FOLDER, in one goroutine at a time: if its mount
// hangs, the scrape shows the last times, which age until an alert fires.
type backups struct {
	folder string

	mu      sync.Mutex
	last    [3]float64    // of backupTimes, in Unix seconds; 0 for never
	reading chan struct{} // closed at the end of the read that runs; nil for none
}

func (b *backups) times() [3]float64 {
	b.mu.Lock()
	if b.reading == nil {
		b.reading = make(chan struct{})
		go b.read()
	}
	reading := b.reading
	b.mu.Unlock()
	select {
	case <-reading:
	case <-time.After(backupPatience):
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.last
}

func (b *backups) read() {
	var times [3]float64
	for i, one := range backupTimes {
		times[i] = readTime(filepath.Join(b.folder, one.file))
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.last = times
	close(b.reading)
	b.reading = nil
}

// backupTime is how scripts/backup.sh writes a time.
const backupTime = "20060102T150405Z"

func newSigns(source Source) *signs {
	return &signs{
		source: source, database: cached[db.Signs]{ask: source.Signs}, backups: backups{folder: source.BackupFolder},
		workers: prometheus.NewDesc("candor_workers", "Workers that have shown a sign of life within 10 seconds.", nil, nil),
		due: prometheus.NewDesc("candor_job_queue_age_seconds",
			"How long the oldest job that waits for a worker has been due, 0 for none, by queue; absent for an empty queue.",
			[]string{"queue"}, nil),
		oldest: prometheus.NewDesc("candor_job_oldest_age_seconds",
			"Age of the oldest job that isn't done or put off, 0 for none, by queue; absent for an empty queue.", []string{"queue"}, nil),
		replicas: prometheus.NewDesc("candor_database_replicas", "Replicas that stream from the primary.", nil, nil),
		archive: prometheus.NewDesc("candor_database_wal_archive_works",
			"0 if the last attempt to archive WAL failed or hangs, else 1. Absent if archive_mode is off.", nil, nil),
		free: prometheus.NewDesc("candor_data_dir_free_bytes", "Free space in CANDOR_DATA_DIR.", nil, nil),
		backup: prometheus.NewDesc("candor_backup_timestamp_seconds",
			"When the newest base backup and copy of the documents ended, and a base backup was last restored and verified, in Unix seconds; "+
				"0 for never. Absent without CANDOR_BACKUP_FOLDER, and for documents in S3.", []string{"of"}, nil),
	}
}

// Describe is prometheus.Collector's.
func (s *signs) Describe(out chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{s.workers, s.due, s.oldest, s.replicas, s.archive, s.free, s.backup} {
		out <- d
	}
}

// Collect is prometheus.Collector's. What can't be read is absent.
func (s *signs) Collect(out chan<- prometheus.Metric) {
	show := func(d *prometheus.Desc, v float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
	}
	if free, err := s.source.Free(); err == nil {
		show(s.free, float64(free))
	}
	if s.source.BackupFolder != "" {
		for i, at := range s.backups.times() {
			if s.source.InBucket && backupTimes[i].of == "documents" {
				continue // a bucket keeps its own versions
			}
			show(s.backup, at, backupTimes[i].of)
		}
	}
	now, err := s.database.read()
	if err != nil {
		return
	}
	age := func(at *time.Time) float64 {
		if at == nil {
			return 0
		}
		return max(0, now.ServerTime.Sub(*at).Seconds())
	}
	show(s.workers, float64(now.Workers))
	show(s.replicas, float64(now.Replicas))
	for _, q := range now.Queues {
		show(s.due, age(q.Due), q.Queue)
		show(s.oldest, age(q.Oldest), q.Queue)
	}
	if now.Archives {
		works := 1.0
		if now.ArchiveFails {
			works = 0
		}
		show(s.archive, works)
	}
}

// readTime returns the time that a file has, in Unix seconds, or 0.
func readTime(path string) float64 {
	content, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	at, err := time.Parse(backupTime, strings.TrimSpace(string(content)))
	if err != nil {
		return 0
	}
	return float64(at.Unix())
}
