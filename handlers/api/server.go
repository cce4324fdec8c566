// Package api is the JSON API below /v1: a file a resource, with its requests,
// responses, handlers and description. It knows no pages.
package api

import (
	"crypto/sha256"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"candor/handlers/api/openapi"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/billing"
	"candor/internal/service/idempotency"
	"candor/internal/service/keys"
	"candor/internal/service/sessions"
	"candor/internal/service/simulator"
	"candor/internal/service/webhooks"
)

// callersRemembered is how many valid keys a process remembers.
const callersRemembered = 10_000

// Config is what the API needs.
type Config struct {
	Billing     *billing.Service
	Idempotency *idempotency.Store
	Keys        *keys.Service
	Sessions    *sessions.Service
	Simulator   *simulator.Service
	Webhooks    *webhooks.Service

	Clock   domain.Clock
	BaseURL string            // without a slash at its end
	Limiter ratelimit.Limiter // of requests, by account and mode, or by network
	Line    *web.Line         // of requests

	AttemptWait time.Duration // that the answer waits for a delivery's attempt (D99)
	Deprecated  []Deprecation // what the answers and the document announce (D123)
}

// Server holds the API's handlers.
type Server struct {
	Config
	callers *lru.Cache[[sha256.Size]byte, domain.Principal] // of keys that were valid lately, by hash
	paths   []string                                        // of the routes, as Echo writes them

	Document *openapi.Document // set by Describe
}

// New returns the API.
func New(c Config) (*Server, error) {
	callers, err := lru.New[[sha256.Size]byte, domain.Principal](callersRemembered)
	if err != nil {
		return nil, err
	}
	return &Server{Config: c, callers: callers}, nil
}
