package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"strconv"
	"sync"
	"syscall"

	"golang.org/x/net/netutil"

	"candor/internal/domain"
)

// listen returns a listener and its address. Errors name the variable that set the
// address.
func listen(ctx context.Context, variable, addr string) (net.Listener, string, error) {
	if err := checkAddr(variable, addr); err != nil {
		return nil, "", err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, "", fmt.Errorf("%s is in use by another program: stop it, or set %s to another address, such as localhost:8081",
			addr, variable)
	case errors.Is(err, syscall.EACCES):
		return nil, "", fmt.Errorf("this user may not listen on %s: set %s to a port from 1024", addr, variable)
	case err != nil:
		return nil, "", fmt.Errorf("can't listen on %s: %w: set %s to an address of this machine", addr, err, variable)
	}
	host, _, _ := net.SplitHostPort(addr) // checked above
	_, port, err := net.SplitHostPort(l.Addr().String())
	return l, net.JoinHostPort(host, port), err
}

// listenWeb returns the listener of the web server: the socket that systemd holds for
// this process, if candor.socket is in use, else addr. That socket stays open while the
// service restarts, so that connections wait instead of being refused.
func (p *process) listenWeb(ctx context.Context, addr string) (net.Listener, string, error) {
	pid, _ := p.env("LISTEN_PID")
	if pid != strconv.Itoa(os.Getpid()) {
		return listen(ctx, "CANDOR_ADDR", addr)
	}
	if n, _ := p.env("LISTEN_FDS"); n != "1" {
		return nil, "", fmt.Errorf("candor.socket passes %s sockets: give it one ListenStream", n)
	}
	const firstPassed = 3 // by sd_listen_fds(3)
	file := os.NewFile(firstPassed, "candor.socket")
	defer file.Close() // the listener has a copy
	l, err := net.FileListener(file)
	if err != nil {
		return nil, "", fmt.Errorf("can't listen on the socket of candor.socket: %w: its ListenStream must be an address and a port",
			err)
	}
	return l, l.Addr().String(), nil
}

// checkAddr returns an error unless addr is host:port; the host can be empty.
func checkAddr(variable, addr string) error {
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return fmt.Errorf("%s must be host:port, such as localhost:8080 or :8080, not %q", variable, addr)
	}
	return nil
}

// limitConnections limits the open connections to most, and to half of that from
// one network, so that one machine can't take them all. Behind proxies all clients
// have the proxies' addresses, so only the total is limited.
func limitConnections(l net.Listener, most int, proxies []netip.Prefix) net.Listener {
	if len(proxies) == 0 {
		l = &networkListener{Listener: l, most: max(1, most/2), open: map[string]int{}}
	}
	return netutil.LimitListener(l, most)
}

// networkListener closes new connections from a network that has most of them.
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
		_ = conn.Close() // nothing was read or written
	}
}

// count adds n to a network's connections, and reports whether that is within the
// limit.
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

// networkConn is counted by its listener until it is closed.
type networkConn struct {
	net.Conn
	release func()
}

// Close closes the connection.
func (c *networkConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
