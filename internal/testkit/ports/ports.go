// Package ports finds TCP ports for programs of tests and tools that can't be given an
// open listener.
package ports

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"strconv"
	"testing"
)

// Free returns n ports of this machine on which nothing listened a moment ago. They are
// below those that systems give by themselves, so that no connection or listener of
// another test takes one before its program does.
func Free(n int) (free []int, err error) {
	for port := 12_000 + rand.IntN(15_000); len(free) < n && port < 32_000; port++ {
		l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", Local(port))
		if err != nil {
			continue
		}
		defer func() { _ = l.Close() }() // nothing was sent
		free = append(free, port)
	}
	if len(free) < n {
		return nil, fmt.Errorf("%d of %d ports are free", len(free), n)
	}
	return free, nil
}

// ForTest is Free for a test, which fails without them.
func ForTest(t testing.TB, n int) []int {
	t.Helper()
	free, err := Free(n)
	if err != nil {
		t.Fatal(err)
	}
	return free
}

// Local is the loopback address of a port.
func Local(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }
