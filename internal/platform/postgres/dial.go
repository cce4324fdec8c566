package postgres

import (
	"context"
	"net"
	"strings"
	"syscall"
	"time"
)

// lostAfter is about how long a server that has vanished without closing its
// connections, as after a power failure, holds up a statement. By default Linux waits
// 15 minutes for an answer, and a failover would help only new connections.
const lostAfter = 10 * time.Second

var dialer = net.Dialer{
	KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: lostAfter / 2, Interval: 2 * time.Second, Count: 3},
	Control: func(network, _ string, raw syscall.RawConn) (err error) {
		if !strings.HasPrefix(network, "tcp") {
			return nil
		}
		if failed := raw.Control(func(fd uintptr) { err = boundAnswers(fd, lostAfter) }); failed != nil {
			return failed
		}
		return err
	},
}

// Dial connects to a server so that its loss is noticed after some seconds.
func Dial(ctx context.Context, network, address string) (net.Conn, error) {
	return dialer.DialContext(ctx, network, address)
}
