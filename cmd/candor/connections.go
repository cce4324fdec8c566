package main

import (
	"net"
	"net/netip"
	"sync"

	"golang.org/x/net/netutil"

	"candor/internal/domain"
)

// opsConnections is how many connections the operators' address serves at once.
const opsConnections = 64

// limitConnections accepts up to most connections at once, and up to half of
// them from one network: one machine can't take them all. Behind proxies all
// clients share the proxies' addresses, so only the total is limited there.
func limitConnections(l net.Listener, most int, proxies []netip.Prefix) net.Listener {
	if len(proxies) == 0 {
		l = &networkListener{Listener: l, most: max(1, most/2), open: map[string]int{}}
	}
	return netutil.LimitListener(l, most)
}

// networkListener closes new connections from a network that has most already.
type networkListener struct {
	net.Listener
	most int
	mu   sync.Mutex
	open map[string]int
}

// Accept returns the next connection that is within the limit.
func (l *networkListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		host, _, _ := net.SplitHostPort(conn.RemoteAddr().String())
		network := domain.Network(host)
		if l.count(network, 1) {
			return &networkConn{Conn: conn, release: sync.OnceFunc(func() { l.count(network, -1) })}, nil
		}
		_ = conn.Close() // there is nothing in it to lose
	}
}

// count adds to a network's connections, and reports whether it may have them.
func (l *networkListener) count(network string, n int) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.open[network]+n > l.most {
		return false
	}
	if l.open[network] += n; l.open[network] == 0 {
		delete(l.open, network)
	}
	return true
}

// networkConn tells its listener that it is closed.
type networkConn struct {
	net.Conn
	release func()
}

// Close closes the connection.
func (c *networkConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
