package ratelimit

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/go-redis/redis_rate/v10"
	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/redis/go-redis/v9/maintnotifications"
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
	client   *redis.Client
	limiter  *redis_rate.Limiter
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

func parseURL(address string) (*redis.Options, error) {
	o, err := redis.ParseURL(address)
	if err != nil {
		return nil, errURL // the library's shows the address
	}
	if u, err := url.Parse(address); err != nil || u.Scheme != "unix" && u.Hostname() == "" {
		return nil, errURL
	}
	o.DialTimeout, o.ReadTimeout, o.WriteTimeout, o.PoolTimeout = askTimeout, askTimeout, askTimeout, askTimeout
	o.ContextTimeoutEnabled = true
	o.MaxRetries, o.DialerRetries = -1, 1
	o.DisableIdentity = true
	o.MaintNotificationsConfig = &maintnotifications.Config{Mode: maintnotifications.ModeDisabled}
	if o.TLSConfig != nil {
		o.TLSConfig.MinVersion = tls.VersionTLS12
	}
	return o, nil
}

// Dial returns the Redis or Valkey at that address, which CheckURL accepts. It need
// not answer yet. Hide makes a bucket's name in Redis of its key, which can be an
// address: it must not be reversible, and the same in all processes.
func Dial(address string, hide func(string) string, observer Observer, logger *slog.Logger) (*Redis, error) {
	o, err := parseURL(address)
	if err != nil {
		return nil, err
	}
	logging.Disable() // failures are logged here, once a minute
	client := redis.NewClient(o)
	r := &Redis{client: client, limiter: redis_rate.NewLimiter(client), hide: hide, observer: observer, logger: logger}
	r.ended, r.end = context.WithCancel(context.Background())
	if _, err := r.ask("", redis_rate.PerSecond(1), 0); err == nil {
		observer.LimitsShared(true)
	}
	return r, nil
}

// Check asks the Redis or Valkey at that address as limiters do.
func Check(ctx context.Context, address string) error {
	o, err := parseURL(address)
	if err != nil {
		return err
	}
	logging.Disable()
	client := redis.NewClient(o)
	_, err = redis_rate.NewLimiter(client).AllowN(ctx, "candor:doctor", redis_rate.PerSecond(1000), 1)
	return errors.Join(err, client.Close())
}

// Close closes the connections. Limiters of r then count in this process.
func (r *Redis) Close() error {
	r.end()
	return r.client.Close()
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
	return &shared{
		redis: r, name: name, config: c, limit: redis_rate.Limit{Rate: c.PerMinute, Burst: c.Burst, Period: time.Minute}, own: own,
		empty: empty,
	}, nil
}

// ask takes n tokens, if there are that many.
func (r *Redis) ask(key string, limit redis_rate.Limit, n int) (*redis_rate.Result, error) {
	// Not the request's context: a client that leaves must not look like a Redis that
	// doesn't answer.
	ctx, cancel := context.WithTimeout(r.ended, askTimeout)
	defer cancel()
	result, err := r.limiter.AllowN(ctx, "candor:"+r.hide(key), limit, n)
	if err != nil && r.ended.Err() == nil && r.alone.CompareAndSwap(false, true) {
		r.observer.LimitsShared(false)
		go r.watch(err)
	}
	return result, err
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
		_, err = r.ask("probe", redis_rate.PerSecond(1000), 1)
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
	limit  redis_rate.Limit
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
	result, err := s.redis.ask(s.name+" "+key, s.limit, 1)
	if err != nil {
		return s.alone(key, now)
	}
	// The library rounds down what is left; the time until the bucket is full is exact,
	// but for the numbers of Lua.
	tokens := float64(s.config.Burst) - float64(result.ResetAfter-tick)/float64(s.config.refill(1))
	if result.Allowed == 0 {
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
