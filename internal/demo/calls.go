package demo

import (
	"context"
	"time"

	"candor/internal/domain"
	"candor/internal/sample"
)

// call is a line of the log of API requests, if that goes back so far.
func (h *history) call(at time.Time, by domain.Actor, method, route string, status int, code domain.Code,
	session *domain.SessionID) {
	key, err := domain.ParseKeyID(by.ID)
	if err != nil || h.now.Sub(at) >= domain.RequestRetention || at.After(h.now) {
		return
	}
	took := about(h.random, 6*time.Millisecond, 0.5)
	if method == "POST" {
		took = about(h.random, 11*time.Millisecond, 0.4)
	}
	h.calls = append(h.calls, domain.APIRequest{
		ID: domain.NewRequestID(at), AccountID: h.scope.AccountID, Livemode: h.scope.Livemode, KeyID: key, Method: method, Route: route,
		SessionID: session, Status: status, ErrorCode: code, DurationUS: int(took.Microseconds()), Address: by.Address,
	})
}

// mistakes are calls that programs get wrong.
var mistakes = []struct {
	method, route string
	status        int
	code          domain.Code
}{
	{"POST", "/v1/sessions", 422, domain.CodeInvalidEmail}, {"POST", "/v1/sessions", 422, domain.CodeValidation},
	{"POST", "/v1/sessions", 422, domain.CodeValidation},
	{"GET", "/v1/sessions/:id/data", 400, domain.CodeSessionNotCompleted}, {"GET", "/v1/sessions/:id/data", 400,
		domain.CodeSessionNotCompleted},
	{"GET", "/v1/sessions/:id/pdf", 202, domain.CodePDFNotReady}, {"GET", "/v1/sessions/:id", 404, domain.CodeSessionNotFound},
	{"DELETE", "/v1/sessions/:id", 409, domain.CodeSessionCompleted}, {"GET", "/v1/sessions", 429, domain.CodeRateLimitExceeded},
}

// poll adds the calls that have nothing to do with one session: a report every
// hour, and mistakes now and then.
func (h *history) poll() {
	report := h.office.keys["Reporting"].Actor("203.0.113.17")
	if !h.scope.Livemode {
		report = h.office.keys["Staging"].Actor(officeAddress)
	}
	for at := h.now.Truncate(time.Hour).Add(2 * time.Minute); h.now.Sub(at) < domain.RequestRetention; at = at.Add(-time.Hour) {
		h.call(at, report, "GET", "/v1/sessions", 200, "", nil)
		if at.Hour() == 20 {
			h.call(at.Add(2*time.Second), report, "GET", "/v1/billing/usage", 200, "", nil)
		}
		if !sample.Chance(h.random, 0.22) || len(h.finished) == 0 {
			continue
		}
		m, by := sample.Pick(h.random, mistakes), h.office.reader(h.scope.Livemode).Actor(officeAddress)
		var session *domain.SessionID
		if m.route != "/v1/sessions" {
			session = &sample.Pick(h.random, h.finished).session.ID
		}
		h.call(at.Add(time.Duration(h.random.IntN(3000))*time.Second), by, m.method, m.route, m.status, m.code, session)
	}
}

// log stores the calls, and the last use of each key.
func (h *history) log(ctx context.Context) error {
	h.poll()
	last := map[domain.KeyID]*domain.APIRequest{}
	for i := range h.calls {
		if c := &h.calls[i]; last[c.KeyID] == nil || c.At().After(last[c.KeyID].At()) {
			last[c.KeyID] = c
		}
	}
	for id, c := range last {
		if err := h.DB.UseAPIKey(ctx, id, c.At().Truncate(time.Minute), c.Address); err != nil {
			return err
		}
	}
	return h.DB.InsertAPIRequests(ctx, h.calls)
}
