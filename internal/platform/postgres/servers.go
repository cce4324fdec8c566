package postgres

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// leavingTime is how long the statement of a client that has left can go on: nearly all
// end sooner, and their connection is used again.
const leavingTime = time.Second

// Servers has every connection of a process to PostgreSQL, so that those to a server that
// is no longer the primary can be cut off. A server that is frozen keeps its connections:
// its kernel still acknowledges what is sent.
type Servers struct {
	mu      sync.Mutex
	sockets map[*socket]struct{}
	refused func(address string) bool // under mu; nil: none
}

// NewServers has none yet.
func NewServers() *Servers { return &Servers{sockets: map[*socket]struct{}{}} }

// dial connects to a server, unless another one is known to take writes.
func (s *Servers) dial(ctx context.Context, network, address string) (*socket, error) {
	s.mu.Lock()
	refused := s.refused != nil && s.refused(address)
	s.mu.Unlock()
	if refused {
		return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("another server takes writes")}
	}
	conn, err := Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	one := &socket{Conn: conn, address: address, of: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sockets[one] = struct{}{}
	return one, nil
}

// A socket is a connection to a server, which can be cut off at any time.
type socket struct {
	net.Conn
	address string
	of      *Servers
	cut     atomic.Bool
}

// cutOff ends the connection. PostgreSQL isn't asked to cancel what it does: on another
// connection that request can hang, too, and a commit that is cancelled while it waits
// for a replica is visible without being there. The server notices by itself
// (settings of Connect).
func (s *socket) cutOff() {
	s.cut.Store(true)
	_ = s.Close()
}

// Close closes the connection.
func (s *socket) Close() error {
	s.of.mu.Lock()
	delete(s.of.sockets, s)
	s.of.mu.Unlock()
	return s.Conn.Close()
}

// Read reads what the server sent.
func (s *socket) Read(p []byte) (int, error) {
	n, err := s.Conn.Read(p)
	return n, s.explained("read", err)
}

// Write sends p.
func (s *socket) Write(p []byte) (int, error) {
	n, err := s.Conn.Write(p)
	return n, s.explained("write", err)
}

// explained tells a connection that was cut off from one that was closed here.
func (s *socket) explained(op string, err error) error {
	if err != nil && s.cut.Load() {
		return &net.OpError{Op: op, Err: errors.New("the connection was cut off")}
	}
	return err
}

// until cuts the connection off when ctx ends, unless release is called before: at once
// at its deadline, and after leavingTime if it was cancelled.
func (s *socket) until(ctx context.Context) (release func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	var mu sync.Mutex
	over := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		if !errors.Is(ctx.Err(), context.DeadlineExceeded) {
			select {
			case <-over:
			case <-time.After(leavingTime):
			}
		}
		mu.Lock()
		defer mu.Unlock()
		select {
		case <-over:
		default:
			s.cutOff()
		}
	})
	return func() {
		stop()
		mu.Lock()
		defer mu.Unlock()
		close(over)
	}
}

// A handshake is the opening of a connection by lib/pq, which asks for a socket for each
// server that it tries.
type handshake struct {
	ctx     context.Context //nolint:containedctx // lib/pq's own ends when the socket is there
	socket  *socket
	release func()
}

type handshakeKey struct{}

// newHandshake begins a handshake that is cut off when ctx ends.
func newHandshake(ctx context.Context) (context.Context, *handshake) {
	h := &handshake{ctx: ctx, release: func() {}}
	return context.WithValue(ctx, handshakeKey{}, h), h
}

// Dial connects without a bound.
func (s *Servers) Dial(network, address string) (net.Conn, error) {
	return s.DialContext(context.Background(), network, address)
}

// DialTimeout connects within timeout.
func (s *Servers) DialTimeout(network, address string, timeout time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	return s.DialContext(ctx, network, address)
}

// DialContext connects until ctx ends, or the handshake does that it has.
func (s *Servers) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	one, err := s.dial(ctx, network, address)
	if err != nil {
		return nil, err // not a socket that is nil
	}
	if h, ok := ctx.Value(handshakeKey{}).(*handshake); ok {
		h.release()
		h.socket, h.release = one, one.until(h.ctx)
	}
	return one, nil
}

// A CutOffDialer cuts off its latest connection and opens no other one after CutOff.
// pq.Listener holds its lock while a server doesn't answer, as a frozen one, and needs it to
// be closed.
type CutOffDialer struct {
	*Servers
	CutOff context.CancelFunc
	latest *handshake
}

// CutOffDialer returns a new one for these servers.
func (s *Servers) CutOffDialer() *CutOffDialer {
	ctx, cutOff := context.WithCancel(context.Background()) //nolint:gosec // CutOff, which Close of the listener calls
	_, latest := newHandshake(ctx)
	return &CutOffDialer{s, cutOff, latest}
}

// DialContext connects until ctx ends, or after CutOff.
func (d *CutOffDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	ctx, cancel := context.WithCancel(context.WithValue(ctx, handshakeKey{}, d.latest))
	defer cancel()
	defer context.AfterFunc(d.latest.ctx, cancel)()
	return d.Servers.DialContext(ctx, network, address)
}
