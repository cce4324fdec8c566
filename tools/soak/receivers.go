package main

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// habit is how a receiver behaves until it is healed.
type habit string

const (
	healthy  habit = "healthy"
	hole     habit = "black hole" // takes the request and never answers
	slow     habit = "slow"       // answers after 5 s
	cutting  habit = "cutting"    // takes the body and cuts the connection, every second time
	erroring habit = "erroring"   // answers 500, two times of three
)

const healthyOnes = 20

// receivers are the partner's servers, each on its own port. They verify signatures
// by the contract, without Candor's code.
type receivers struct {
	secret string
	urls   []string
	habits []habit
	closed []func() error
	healed chan struct{}

	mu       sync.Mutex
	arrivals map[int64]*arrival // by the event's sequence
	requests int
	wrong    int           // signatures
	last     time.Time     // of the latest request
	more     chan struct{} // closed and replaced at every request
}

// arrival counts the requests of one event.
type arrival struct {
	first    time.Time
	receiver int
	ids      map[string]bool
	strays   int // at another receiver than the first request
	answered int // by 2xx, or taken and cut off
	again    int // requests after an answered one
}

func listen(secret string) (*receivers, error) {
	r := &receivers{secret: secret, healed: make(chan struct{}), arrivals: map[int64]*arrival{}, more: make(chan struct{})}
	habits := []habit{hole, slow, cutting, erroring}
	for range healthyOnes {
		habits = append(habits, healthy)
	}
	for i, h := range habits {
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			r.take(w, request, i)
		})}
		go func() { _ = server.Serve(listener) }() // ends with Close
		r.urls = append(r.urls, fmt.Sprintf("http://%s/hook", listener.Addr()))
		r.habits, r.closed = append(r.habits, h), append(r.closed, server.Close)
	}
	return r, nil
}

func (r *receivers) close() {
	for _, end := range r.closed {
		_ = end()
	}
}

// heal makes every receiver answer immediately.
func (r *receivers) heal() { close(r.healed) }

func (r *receivers) take(w http.ResponseWriter, request *http.Request, receiver int) {
	at := time.Now()
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // cut off: doesn't count as arrived
	}
	n, event := r.note(at, receiver, request.Header, body)
	switch h := r.now(receiver); {
	case event == nil:
		w.WriteHeader(http.StatusBadRequest)
		return
	case h == hole, h == slow:
		patience := time.After(5 * time.Second)
		if h == hole {
			patience = nil
		}
		select {
		case <-request.Context().Done():
			return
		case <-r.healed:
		case <-patience:
		}
	case h == cutting && n%2 == 0:
		r.answered(event)
		panic(http.ErrAbortHandler)
	case h == erroring && n%3 != 0:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	r.answered(event)
}

func (r *receivers) now(receiver int) habit {
	select {
	case <-r.healed:
		return healthy
	default:
		return r.habits[receiver]
	}
}

func (r *receivers) answered(a *arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.answered++
}

// note keeps a request, and returns its number and its event, nil for none.
func (r *receivers) note(at time.Time, receiver int, header http.Header, body []byte) (int, *arrival) {
	var envelope struct {
		Sequence int64 `json:"sequence"`
	}
	readable := json.Unmarshal(body, &envelope) == nil && envelope.Sequence > 0
	signed := r.verify(header, body)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.last = at
	close(r.more)
	r.more = make(chan struct{})
	if !signed {
		r.wrong++
	}
	if !readable {
		return r.requests, nil
	}
	a := r.arrivals[envelope.Sequence]
	if a == nil {
		a = &arrival{first: at, receiver: receiver, ids: map[string]bool{}}
		r.arrivals[envelope.Sequence] = a
	}
	a.ids[header.Get("X-Webhook-ID")] = true
	if a.receiver != receiver {
		a.strays++
	}
	if a.answered > 0 {
		a.again++
	}
	return r.requests, a
}

// verify checks both signatures.
func (r *receivers) verify(header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(r.secret, "whsec_"))
	if err != nil {
		return false
	}
	standard := header.Get("Webhook-Id") + "." + header.Get("Webhook-Timestamp") + "." + string(body)
	return header.Get("X-Webhook-Signature") == hex.EncodeToString(sign([]byte(r.secret), string(body))) &&
		header.Get("Webhook-Signature") == "v1,"+base64.StdEncoding.EncodeToString(sign(key, standard))
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// next waits for the first request after a time and returns when it arrived.
func (r *receivers) next(ctx context.Context, after time.Time) (time.Time, error) {
	for {
		r.mu.Lock()
		last, more := r.last, r.more
		r.mu.Unlock()
		if last.After(after) {
			return last, nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return time.Time{}, fmt.Errorf("no delivery after the fault: %w", ctx.Err())
		}
	}
}
