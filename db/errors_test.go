package db

import (
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/lib/pq"

	"candor/internal/domain"
	"candor/internal/platform/postgres"
)

// TestUnavailable tells what may work in a moment from what may not, and from what may
// have been carried out.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	go func() { // as a server does that ends
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	_, cut := Open(t.Context(), "postgres://a@"+listener.Addr().String()+",127.0.0.1:1/x?sslmode=disable", Options{})
	for name, of := range map[string]struct {
		err  error
		want bool
	}{
		"servers that take no connection": {cut, true},
		"a full disk":                     {&pq.Error{Code: "53100"}, true},
		"a server that takes no writes":   {&pq.Error{Code: postgres.CodeReadOnlyTransaction}, true},
		"a lost connection":               {&net.OpError{Op: "read", Err: io.EOF}, true},
		"a lost commit": {fmt.Errorf("%w (%w)", domain.ErrOutcomeUnknown, &net.OpError{Op: "read", Err: io.EOF}),
			false},
		"data that are refused": {&pq.Error{Code: "23505"}, false},
		"a mistake of ours":     {&pq.Error{Code: "42P01"}, false},
	} {
		if got := errors.Is(wrap(of.err, "test"), domain.ErrUnavailable); got != of.want {
			t.Errorf("%s, %v: unavailable %t, want %t", name, of.err, got, of.want)
		}
	}
}
