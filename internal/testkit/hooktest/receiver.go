package hooktest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// A Receiver is a partner's server that keeps the requests it gets.
type Receiver struct {
	*httptest.Server

	mu       sync.Mutex
	requests []Request
	running  int
	most     int
}

// A Request is a webhook as it arrived.
type Request struct {
	Header http.Header
	Body   string
	At     time.Time
}

// NewReceiver starts a receiver until the test ends. It answers its nth request,
// from 1, with what answer writes, or with 200 if answer is nil.
func NewReceiver(t testing.TB, answer func(n int, w http.ResponseWriter, r *http.Request)) *Receiver {
	t.Helper()
	rec := &Receiver{}
	rec.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := time.Now()
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Errorf("receiver: %v", err)
		}
		rec.mu.Lock()
		rec.requests = append(rec.requests, Request{r.Header.Clone(), string(body), at})
		n := len(rec.requests)
		rec.running++
		rec.most = max(rec.most, rec.running)
		rec.mu.Unlock()
		if answer != nil {
			answer(n, w, r)
		}
		rec.mu.Lock()
		rec.running--
		rec.mu.Unlock()
	}))
	t.Cleanup(rec.CloseClientConnections)
	t.Cleanup(rec.Close)
	return rec
}

// Requests returns the requests so far.
func (r *Receiver) Requests() []Request {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}

// Running is how many requests it hasn't answered yet.
func (r *Receiver) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.running
}

// Most is how many requests it had at once at most.
func (r *Receiver) Most() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.most
}

// Hang answers when release is closed or the client has gone.
func Hang(release <-chan struct{}) func(int, http.ResponseWriter, *http.Request) {
	return func(_ int, _ http.ResponseWriter, r *http.Request) {
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}
}
