package main

import (
	"bytes"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"time"

	"candor/internal/testkit/client"
	"candor/tools/harness"
)

// habit is how a receiver behaves.
type habit int

const (
	healthy  habit = iota
	erroring       // answers 500
	hanging        // doesn't answer
	cutting        // takes the event and cuts the connection
)

var habits = []habit{erroring, hanging, cutting}

const receiverCount = 6

// receivers are the partners' servers, each on its own port. They verify signatures
// by the contract, without Candor's code.
type receivers struct {
	servers []*httptest.Server
	addrs   []string
	report  func(kind, detail string) // of a violation
	secrets []string                  // by partner

	mu       sync.Mutex
	habits   [receiverCount]habit
	arrivals map[string]*arrival // by X-Webhook-ID
	ids      []string            // of the arrivals, in order
	requests int
	again    int // requests of an id after one that was answered 2xx
	times    []time.Time
}

// arrival is what came with one X-Webhook-ID.
type arrival struct {
	ID       string
	Partner  int
	Event    string          `json:"event"`
	Session  string          `json:"session_id"`
	Live     bool            `json:"livemode"`
	Sequence int64           `json:"sequence"`
	Data     json.RawMessage `json:"data"`
	body     []byte
	requests int
	taken    bool // answered 2xx, or taken and cut off
}

func listen(report func(kind, detail string)) *receivers {
	r := &receivers{report: report, arrivals: map[string]*arrival{}}
	for i := range receiverCount {
		r.servers = append(r.servers, httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			r.take(w, request, i)
		})))
		r.addrs = append(r.addrs, r.servers[i].Listener.Addr().String())
	}
	return r
}

func (r *receivers) close() {
	for _, server := range r.servers {
		server.CloseClientConnections() // some wait for an answer
		server.Close()
	}
}

func (r *receivers) behave(i int, h habit) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.habits[i] = h
}

// take receives a webhook at /PARTNER.
func (r *receivers) take(w http.ResponseWriter, request *http.Request, receiver int) {
	partner, err := strconv.Atoi(strings.Trim(request.URL.Path, "/"))
	if err != nil || partner < 0 || partner >= len(r.secrets) {
		w.WriteHeader(http.StatusNotFound)
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // cut off: it didn't arrive
	}
	a := r.note(partner, request.Header, body)
	r.mu.Lock()
	h := r.habits[receiver]
	r.mu.Unlock()
	switch h {
	case erroring:
		w.WriteHeader(http.StatusInternalServerError)
		return
	case hanging:
		harness.Pause(request.Context(), time.Minute)
		return
	case cutting:
		r.took(a)
		panic(http.ErrAbortHandler)
	}
	r.took(a)
	w.WriteHeader(http.StatusNoContent)
}

func (r *receivers) took(a *arrival) {
	r.mu.Lock()
	defer r.mu.Unlock()
	a.taken = true
}

// note keeps what a request has.
func (r *receivers) note(partner int, header http.Header, body []byte) *arrival {
	a := &arrival{ID: header.Get("X-Webhook-ID"), Partner: partner, body: body}
	if err := json.Unmarshal(body, a); err != nil || a.Sequence == 0 || a.ID == "" {
		r.report("webhooks that can't be read", a.ID)
	}
	if !client.Signed(r.secrets[partner], header, body) {
		r.report("wrong signatures", a.ID)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.requests++
	r.times = append(r.times, time.Now())
	if earlier := r.arrivals[a.ID]; earlier != nil {
		if !bytes.Equal(earlier.body, body) || earlier.Partner != partner {
			r.report("webhooks of one id with two bodies", a.ID)
		}
		if earlier.taken {
			r.again++
		}
		a = earlier
	} else {
		r.arrivals[a.ID] = a
		r.ids = append(r.ids, a.ID)
	}
	a.requests++
	return a
}

// any returns the id of an event of a partner that has arrived.
func (r *receivers) any(partner int, rnd *rand.Rand) (id string, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for range min(20, len(r.ids)) {
		id = r.ids[rnd.IntN(len(r.ids))]
		if r.arrivals[id].Partner == partner {
			return id, true
		}
	}
	return "", false
}
