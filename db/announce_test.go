package db

import (
	"net"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/platform/postgres"
)

// TestListenerClosesWithoutAnswer: a process can end while PostgreSQL is frozen, whose kernel
// takes connections and acknowledges what is sent.
func TestListenerClosesWithoutAnswer(t *testing.T) {
	t.Parallel()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	taken := make(chan net.Conn, 10)
	go func() {
		for {
			conn, err := silent.Accept()
			if err != nil {
				return
			}
			taken <- conn
		}
	}()
	l := newListener("postgres://candor@"+silent.Addr().String()+"/candor?sslmode=disable", postgres.NewServers())
	(&DB{listener: l}).Subscribe(domain.Scope{}, domain.AllTopics, nil, time.Time{})
	defer (<-taken).Close()
	closed := make(chan struct{})
	go func() {
		l.close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(10 * time.Second):
		t.Error("the listener isn't closed")
	}
}
