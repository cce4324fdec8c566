package postgres_test

import (
	"net"
	"syscall"
	"testing"

	"candor/internal/platform/postgres"
)

// TestVanishedServersAreNoticed: a connection is given up when the server hasn't
// confirmed data, or hasn't answered at all, for ten seconds or so.
func TestVanishedServersAreNoticed(t *testing.T) {
	t.Parallel()
	server, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer server.Close()
	conn, err := postgres.Dial(t.Context(), "tcp", server.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		t.Fatalf("the connection is a %T", conn)
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		for name, c := range map[string]struct{ option, want int }{
			"TCP_USER_TIMEOUT": {0x12, 10_000}, "TCP_KEEPIDLE": {syscall.TCP_KEEPIDLE, 5}, "TCP_KEEPINTVL": {syscall.TCP_KEEPINTVL, 2},
			"TCP_KEEPCNT": {syscall.TCP_KEEPCNT, 3},
		} {
			if got, err := syscall.GetsockoptInt(int(fd), syscall.IPPROTO_TCP, c.option); err != nil || got != c.want {
				t.Errorf("%s is %d, %v, want %d", name, got, err, c.want)
			}
		}
	})
	if err != nil {
		t.Fatal(err)
	}
}
