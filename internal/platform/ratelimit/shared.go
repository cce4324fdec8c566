package ratelimit

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/url"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
	lru "github.com/hashicorp/golang-lru/v2"
)

const (
	// askTimeout bounds one question to Redis. A request asks at most two, so it waits
	// at most 200 ms, and only the requests that are under way when Redis stops answering.
	askTimeout = 100 * time.Millisecond
	// askAgain is the time between attempts to reach a Redis that didn't answer.
	askAgain = time.Second
	// warnAgain is the time between warnings that Redis doesn't answer.
	warnAgain = time.Minute
	// tick is the step of Redis' clock.
	tick = time.Microsecond
)

// An Observer is told how requests are counted. It is safe for concurrent use.
type Observer interface {
	// LimitsShared is called when Redis begins or stops to answer.
	LimitsShared(shared bool)
	// CountedAlone is called for a request that this process counted by itself.
	CountedAlone()
}

// Redis keeps token buckets that several processes share (D70). If it doesn't
// answer, each process counts by itself; no request fails or waits for it.
type Redis struct {
	pool     *redis.Pool
	hide     func(string) string
	observer Observer
	logger   *slog.Logger
	end      context.CancelFunc
	ended    context.Context //nolint:containedctx // ends what Close must end

	alone  atomic.Bool // Redis doesn't answer; a goroutine watches for its return
	warned time.Time   // used by that goroutine
}

// CheckURL returns an error if there can be no Redis or Valkey at that address. The
// error shows no password.
func CheckURL(address string) error {
	_, err := parseURL(address)
	return err
}

var errURL = errors.New(
	"must be redis://user:password@host:6379, rediss://… with TLS, or unix:///path/to/socket, signs such as @ and / in the password written as %40 and %2F")

// parseURL returns a pool of connections to that address, none of which is open.
func parseURL(address string) (*redis.Pool, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, errURL // the library's shows the address
	}
	options := []redis.DialOption{redis.DialConnectTimeout(askTimeout), redis.DialReadTimeout(askTimeout),
		redis.DialWriteTimeout(askTimeout)}
	password, _ := u.User.Password()
	options = append(options, redis.DialUsername(u.User.Username()), redis.DialPassword(password))
	network, where, number := "tcp", net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), "6379")), strings.Trim(u.Path, "/")
	query := u.Query()
	switch {
	case u.Scheme == "unix" && u.Path != "":
		network, where, number = "unix", u.Path, query.Get("db")
		query.Del("db")
	case u.Scheme == "rediss" && u.Hostname() != "":
		options = append(options, redis.DialUseTLS(true), redis.DialTLSConfig(&tls.Config{MinVersion: tls.VersionTLS12,
			ServerName: u.Hostname()}))
	case u.Scheme != "redis" || u.Hostname() == "":
		return nil, errURL
	}
	database, err := strconv.Atoi(cmp.Or(number, "0"))
	if err != nil || len(query) > 0 {
		return nil, errURL
	}
	options = append(options, redis.DialDatabase(database))
	most := 10 * runtime.GOMAXPROCS(0)
	return &redis.Pool{
		MaxIdle: most, MaxActive: most, Wait: true,
		DialContext: func(ctx context.Context) (redis.Conn, error) {
			return redis.DialContext(ctx, network, where, options...)
		},
		// One that Redis closed while it wasn't used isn't a Redis that doesn't answer.
		TestOnBorrowContext: func(ctx context.Context, c redis.Conn, used time.Time) error {
			if time.Since(used) < askAgain {
				return nil
			}
			_, err := redis.DoContext(c, ctx, "PING")
			return err
		},
	}, nil
}

// take is the token bucket of D30 in Redis, by GCRA: a key's value is the time at which
// the bucket is full, in seconds of Redis' clock since 2017. It returns whether there were
// that many tokens, and the seconds until the bucket is full.
var take = redis.NewScript(1, `
local burst, each, cost = tonumber(ARGV[1]), 60 / ARGV[2], tonumber(ARGV[3])
local time = redis.call("TIME")
local now = time[1] - 1483228800 + time[2] / 1000000
local full = math.max(tonumber(redis.call("GET", KEYS[1]) or now), now)
local after = full + cost * each
if now < after - burst * each then
  return {0, tostring(full - now)}
end
if after > now then
  redis.call("SET", KEYS[1], after, "EX", math.ceil(after - now))
end
return {1, tostring(after - now)}
`)

// takeFrom takes n tokens from the bucket with that name, if there are that many.
func takeFrom(ctx context.Context, pool *redis.Pool, name string, c Config, n int) (ok bool, full time.Duration, err error) {
	conn, err := pool.GetContext(ctx)
	if err != nil {
		return false, 0, err
	}
	defer func() { _ = conn.Close() }()
	answer, err := redis.Values(take.DoContext(ctx, conn, "rate:candor:"+name, c.Burst, c.PerMinute, n))
	var seconds float64
	if err == nil {
		_, err = redis.Scan(answer, &ok, &seconds)
	}
	return ok, time.Duration(seconds * float64(time.Second)), err
}

// Dial returns the Redis or Valkey at that address, which CheckURL accepts. It need
// not answer yet. Hide makes a bucket's name in Redis of its key, which can be an
// address: it must not be reversible, and the same in all processes.
func Dial(address string, hide func(string) string, observer Observer, logger *slog.Logger) (*Redis, error) {
	pool, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	r := &Redis{pool: pool, hide: hide, observer: observer, logger: logger}
	r.ended, r.end = context.WithCancel(context.Background())
	if _, _, err := r.ask("", probe, 0); err == nil {
		observer.LimitsShared(true)
	}
	return r, nil
}

// Check asks the Redis or Valkey at that address as limiters do.
func Check(ctx context.Context, address string) error {
	pool, err := parseURL(address)
	if err != nil {
		return err
	}
	_, _, err = takeFrom(ctx, pool, "doctor", probe, 1)
	return errors.Join(err, pool.Close())
}

// Close closes the connections. Limiters of r then count in this process.
func (r *Redis) Close() error {
	r.end()
	return r.pool.Close()
}

// Limiter returns buckets of that name and size. Each process that uses the name
// must give it the same size. Those of a nil Redis are this process's.
func (r *Redis) Limiter(name string, c Config) (Limiter, error) {
	own, err := New(c)
	if err != nil || r == nil {
		return own, err
	}
	empty, err := lru.New[string, level](c.Keys)
	if err != nil {
		return nil, err
	}
	return &shared{redis: r, name: name, config: c, own: own, empty: empty}, nil
}

// probe is a bucket that a question alone doesn't empty.
var probe = Config{PerMinute: 60_000, Burst: 1000}

// ask takes n tokens, if there are that many.
func (r *Redis) ask(key string, c Config, n int) (ok bool, full time.Duration, err error) {
	// Not the request's context: a client that leaves must not look like a Redis that
	// doesn't answer.
	ctx, cancel := context.WithTimeout(r.ended, askTimeout)
	defer cancel()
	ok, full, err = takeFrom(ctx, r.pool, r.hide(key), c, n)
	if err != nil && r.ended.Err() == nil && r.alone.CompareAndSwap(false, true) {
		r.observer.LimitsShared(false)
		go r.watch(err)
	}
	return ok, full, err
}

// watch asks until Redis answers. Requests don't ask until then.
func (r *Redis) watch(err error) {
	ticker := time.NewTicker(askAgain)
	defer ticker.Stop()
	told := false
	for err != nil {
		if time.Since(r.warned) >= warnAgain {
			r.logger.Warn("Redis doesn't answer: each process counts requests for its rate limits by itself", "error", err)
			r.warned, told = time.Now(), true
		}
		select {
		case <-r.ended.Done():
			return
		case <-ticker.C:
		}
		// It writes, so that a replica or a full Redis doesn't pass.
		_, _, err = r.ask("probe", probe, 1)
	}
	if told {
		r.logger.Info("Redis answers: processes share their rate limits")
	}
	r.observer.LimitsShared(true)
	r.alone.Store(false)
}

// shared is a Limiter with buckets in Redis.
type shared struct {
	redis  *Redis
	name   string
	config Config
	own    *Memory                   // what this process let through; used if Redis doesn't answer
	empty  *lru.Cache[string, level] // buckets that were empty when this process asked
}

// level is how full a bucket was.
type level struct {
	tokens float64
	at     time.Time
}

// Take takes a token from key's bucket.
func (s *shared) Take(key string, now time.Time) Quota {
	if tokens, ok := s.stillEmpty(key); ok {
		return s.config.quota(tokens, false, now)
	}
	if s.redis.alone.Load() {
		return s.alone(key, now)
	}
	allowed, full, err := s.redis.ask(s.name+" "+key, s.config, 1)
	if err != nil {
		return s.alone(key, now)
	}
	tokens := float64(s.config.Burst) - float64(full-tick)/float64(s.config.refill(1))
	if !allowed {
		s.empty.Add(key, level{tokens, time.Now()})
		return s.config.quota(tokens, false, now)
	}
	s.own.Take(key, now)
	return s.config.quota(tokens, true, now)
}

// Peek doesn't ask Redis.
func (s *shared) Peek(key string, now time.Time) Quota {
	if tokens, ok := s.stillEmpty(key); ok {
		return s.config.quota(tokens, false, now)
	}
	return s.own.Peek(key, now)
}

func (s *shared) alone(key string, now time.Time) Quota {
	s.redis.observer.CountedAlone()
	return s.own.Take(key, now)
}

// stillEmpty returns the tokens of a bucket that was empty and can't have a whole one
// yet: no process takes from such a bucket, so time alone fills it. A flood beyond a
// limit then costs Redis nothing.
func (s *shared) stillEmpty(key string) (tokens float64, ok bool) {
	was, ok := s.empty.Get(key)
	if !ok {
		return 0, false
	}
	tokens = was.tokens + float64(time.Since(was.at))/float64(s.config.refill(1))
	return tokens, tokens < 1
}
