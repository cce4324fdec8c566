package web

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
)

// A Request is what the server knows of an HTTP request besides its content.
// Middleware makes it; the application that answers completes it.
type Request struct {
	ID       domain.RequestID
	Address  string // the client's
	HeadOnly bool   // the client wants only the headers

	Within *Request // the message of an agent that calls it; nil for other requests
	called atomic.Bool

	// Of the API.
	Principal *domain.Principal           // nil without a valid API key
	KeyError  error                       // why there is no principal
	Session   *domain.Session             // that was read with a valid API key; nil if it wasn't
	Needs     []domain.Permission         // that the route asks of the key
	Recheck   func(context.Context) error // why the key suffices no longer, nil if it does; nil without a valid API key
	Waited    time.Duration               // that the request took because it was asked to wait
	Caller    *domain.Principal           // whose API key it is, valid or not; nil if that isn't known
	Code      domain.Code                 // of an error, "" for none
	Refused   []domain.RefusedField       // what is wrong with the request, without what it has
	Created   *domain.SessionID           // the session that was created, in a replayed answer, too

	// Of the dashboard.
	Staff *domain.StaffSession // who is signed in
	Visit any                  // the dashboard's own record of the request

	body    *timedBody // nil if it has none
	entered bool       // a line
	leave   func()     // gives back the place in it; nil if it has none
}

type requestKey struct{}

// WithRequest makes r the record of the request.
func WithRequest(c echo.Context, r *Request) {
	c.SetRequest(c.Request().WithContext(context.WithValue(c.Request().Context(), requestKey{}, r)))
}

// NewRequest returns the record of a request that came at that time.
func NewRequest(c echo.Context, id domain.RequestID) *Request {
	within, _ := c.Request().Context().Value(requestKey{}).(*Request)
	return &Request{ID: id, Address: c.RealIP(), HeadOnly: c.Request().Method == http.MethodHead, Within: within}
}

// Call notes that the request, a message of an agent, has called another one, and reports
// whether it is the first.
func (r *Request) Call() bool { return r.called.CompareAndSwap(false, true) }

// Called reports whether the request has called another one, which is logged in its place.
func (r *Request) Called() bool { return r.called.Load() }

// RequestOf returns the record of the request.
func RequestOf(c echo.Context) *Request { return RequestIn(c.Request().Context()) }

// RequestIn returns the record of a request by its context, an empty one for any
// other context.
func RequestIn(ctx context.Context) *Request {
	if r, ok := ctx.Value(requestKey{}).(*Request); ok {
		return r
	}
	return &Request{}
}

// Reader returns who is given the content that a request asks for: by, or no
// one if it asks only for the headers.
func Reader(ctx context.Context, by domain.Actor) domain.Actor {
	if RequestIn(ctx).HeadOnly {
		by.Kind = domain.ActorNone
	}
	return by
}

// maxUserAgent is how much of a browser's name is passed on, in characters.
const maxUserAgent = 500

// Visitor returns who makes the request, as use cases record it.
func Visitor(c echo.Context) domain.Visitor {
	agent, _ := form.CleanText(c.Request().UserAgent(), maxUserAgent)
	if runes := []rune(agent); len(runes) > maxUserAgent {
		agent = string(runes[:maxUserAgent])
	}
	return domain.Visitor{UserAgent: agent, IPAddress: c.RealIP(), RequestID: RequestOf(c).ID.String()}
}
