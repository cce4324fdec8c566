package postgres

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

const (
	// watchEvery is how often each server is asked for its state, and watchTimeout how
	// long that may take.
	watchEvery   = time.Second
	watchTimeout = 2 * time.Second
	// primaryAge is how long a primary counts as one without a new sign.
	primaryAge = 3 * time.Second
)

// CommitWaits are the commits that wait for a replica.
type CommitWaits struct {
	Known   bool // the primary has just said so
	Waiting int
	Longest time.Duration // since it was first seen to wait
	Late    bool          // so long that new ones aren't begun
}

// A Watch follows which server takes writes, on a connection to each, and which commits
// wait there for a replica. After a failover all connections to the former primary are
// cut off: if it is frozen, none of them ends by itself.
type Watch struct {
	all  *Servers
	late time.Duration
	stop context.CancelFunc
	done sync.WaitGroup

	mu        sync.Mutex
	primary   primary           // the zero value before the first sign
	seen      time.Time         // when it gave its last sign
	timelines map[string]uint32 // of each server by its address; 0: it takes no writes
	waits     map[waitingCommit]time.Time
}

// primary is a server that takes writes. A promotion begins a new timeline, so the newest
// is the one that counts, even if a former primary comes back.
type primary struct {
	address  string
	timeline uint32
	started  time.Time
}

// waitingCommit is a statement whose commit waits.
type waitingCommit struct {
	PID     int
	Started time.Time // when the statement did
}

// serverSign is what a server says of itself.
type serverSign struct {
	writable bool
	timeline uint32
	started  time.Time
	waits    []waitingCommit
}

// Watch begins to follow the servers of the connection string until Close. A commit that
// has waited for a replica for longer than late is late.
func (s *Servers) Watch(dsn string, late time.Duration) (*Watch, error) {
	hosts, err := hostConfigs(dsn)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	w := &Watch{all: s, late: late, stop: stop, timelines: map[string]uint32{}, waits: map[waitingCommit]time.Time{}}
	for address, config := range hosts {
		w.timelines[address] = 0
		w.done.Go(func() { w.follow(ctx, address, config) })
	}
	s.mu.Lock()
	s.refused = w.refuses
	s.mu.Unlock()
	return w, nil
}

// hostConfigs are the configurations of connections to each server of a connection string,
// by their addresses.
func hostConfigs(dsn string) (map[string]*pgx.ConnConfig, error) {
	parsed, err := pgx.ParseConfig(dsn)
	if err != nil {
		return nil, errDSN
	}
	parsed.ValidateConnect = nil // a replica is followed, too
	parsed.DefaultQueryExecMode = pgx.QueryExecModeSimpleProtocol
	parsed.DialFunc = Dial
	ways := append([]*pgconn.FallbackConfig{{Host: parsed.Host, Port: parsed.Port, TLSConfig: parsed.TLSConfig}},
		parsed.Fallbacks...)
	out := map[string]*pgx.ConnConfig{}
	for _, way := range ways {
		_, address := pgconn.NetworkAddress(way.Host, way.Port)
		if known := out[address]; known != nil { // the same with or without TLS
			known.Fallbacks = append(known.Fallbacks, way)
			continue
		}
		one := parsed.Copy()
		one.Host, one.Port, one.TLSConfig, one.Fallbacks = way.Host, way.Port, way.TLSConfig, nil
		out[address] = one
	}
	return out, nil
}

// Close stops following.
func (w *Watch) Close() {
	w.stop()
	w.done.Wait()
}

// follow asks a server until ctx ends.
func (w *Watch) follow(ctx context.Context, address string, config *pgx.ConnConfig) {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var conn *pgx.Conn
	end := func() {
		if conn != nil {
			closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), watchTimeout/10)
			defer cancel()
			_ = conn.Close(closing) // it only read
			conn = nil
		}
	}
	defer end()
	for {
		sign, err := ask(ctx, &conn, config)
		if err != nil {
			end()
		}
		w.saw(address, sign, time.Now())
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// ask asks a server, on a new connection if there is none.
func ask(ctx context.Context, conn **pgx.Conn, config *pgx.ConnConfig) (s serverSign, err error) {
	ctx, cancel := context.WithTimeout(ctx, watchTimeout)
	defer cancel()
	if *conn == nil {
		if *conn, err = pgx.ConnectConfig(ctx, config); err != nil {
			*conn = nil
			return s, err
		}
	}
	rows, err := (*conn).Query(ctx, `
		SELECT r.writable, CASE WHEN r.recovers THEN 0 ELSE ('x' || left(pg_walfile_name(pg_current_wal_insert_lsn()),
			8))::bit(32)::bigint END,
			pg_postmaster_start_time(), coalesce(a.pid, 0), coalesce(a.query_start, now())
		FROM (SELECT pg_is_in_recovery() AS recovers, NOT pg_is_in_recovery()
			AND NOT current_setting('transaction_read_only')::bool AS writable) r
			LEFT JOIN pg_stat_activity a ON a.wait_event = 'SyncRep' AND a.datname = current_database()`)
	if err != nil {
		return s, err
	}
	defer rows.Close()
	for rows.Next() {
		var timeline int64
		var w waitingCommit
		if err := rows.Scan(&s.writable, &timeline, &s.started, &w.PID, &w.Started); err != nil {
			return serverSign{}, err
		}
		s.timeline = uint32(timeline)
		if w.PID != 0 {
			s.waits = append(s.waits, w)
		}
	}
	return s, rows.Err()
}

// saw takes a server's sign, the zero value if it gave none.
func (w *Watch) saw(address string, s serverSign, now time.Time) {
	w.mu.Lock()
	if !s.writable {
		if s.started != (time.Time{}) {
			w.timelines[address] = 0 // it follows another one
		}
		w.mu.Unlock()
		return
	}
	w.timelines[address] = s.timeline
	next := primary{address, s.timeline, s.started}
	other := address != w.primary.address
	if other && (s.timeline < w.primary.timeline || s.timeline == w.primary.timeline && w.fresh(now)) {
		w.mu.Unlock()
		return
	}
	former := w.primary
	w.primary, w.seen = next, now
	w.note(s.waits, now)
	w.mu.Unlock()
	if former != (primary{}) && former != next {
		w.all.leave(func(to string) bool { return !other || to != address })
	}
}

// fresh reports whether the primary has just given a sign.
func (w *Watch) fresh(now time.Time) bool { return now.Sub(w.seen) < primaryAge }

// note keeps since when each commit has waited.
func (w *Watch) note(waits []waitingCommit, now time.Time) {
	before := w.waits
	w.waits = map[waitingCommit]time.Time{}
	for _, one := range waits {
		since, known := before[one]
		if !known {
			since = now
		}
		w.waits[one] = since
	}
}

// Acknowledged says that a commit that was tried is acknowledged, and so are those before
// it. It forgets the commits that waited, unless the primary itself says which do: a watch
// that has lost its connection would count them as waiting for ever.
func (w *Watch) Acknowledged(now time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.fresh(now) {
		clear(w.waits)
	}
}

// CommitWaits returns the commits that wait for a replica, as of a second ago or so: those
// of this role, of all processes.
func (w *Watch) CommitWaits(now time.Time) CommitWaits {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := CommitWaits{Known: w.fresh(now), Waiting: len(w.waits)}
	for _, since := range w.waits {
		c.Longest = max(c.Longest, now.Sub(since))
	}
	c.Late = c.Longest > w.late
	return c
}

// refuses reports whether no connection to a server is to be opened: another one takes
// writes, or did on a newer timeline.
func (w *Watch) refuses(address string) bool { return w.refusesAt(address, time.Now()) }

func (w *Watch) refusesAt(address string, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	timeline, known := w.timelines[address]
	if !known || w.primary == (primary{}) || address == w.primary.address {
		return false
	}
	return w.fresh(now) || timeline != 0 && timeline < w.primary.timeline
}

// leave cuts off the connections to the addresses.
func (s *Servers) leave(former func(address string) bool) {
	s.mu.Lock()
	var cut []*socket
	for one := range s.sockets {
		if former(one.address) {
			cut = append(cut, one)
		}
	}
	s.mu.Unlock()
	for _, one := range cut {
		one.cutOff()
	}
}
