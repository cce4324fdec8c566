// Package sso is signing in with a company's OpenID Connect provider (D141): its
// connection and domains, the way to the provider and back, and its logout tokens.
// It knows no HTTP of ours; package auth opens the sessions.
package sso

import (
	"context"
	"log/slog"
	"net"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/platform/keyring"
	"candor/internal/service/audit"
	"candor/internal/service/staff/attempts"
	"candor/internal/service/staff/auth"
	"candor/internal/service/staff/team"
	"candor/internal/webhook"
)

// A Resolver looks up the TXT records of a name.
type Resolver interface {
	LookupTXT(ctx context.Context, name string) ([]string, error)
}

// Config is what the company's sign-in needs.
type Config struct {
	DB       *db.DB
	Clock    domain.Clock
	Logger   *slog.Logger
	Ring     *keyring.Keyring
	BaseURL  string // without a slash at its end
	Policy   webhook.Policy
	Resolver Resolver // nil: the system's
	Audit    *audit.Service
	Attempts *attempts.Service
	Auth     *auth.Service
	Team     *team.Service
}

// Service holds the use cases of the company's sign-in. It is safe for concurrent use.
type Service struct {
	Config
	providers *lru.Cache[string, discovered] // by issuer
	asking    singleflight.Group             // of providers, by issuer
}

// New returns a Service.
func New(c Config) *Service {
	if c.Resolver == nil {
		c.Resolver = net.DefaultResolver
	}
	providers, err := lru.New[string, discovered](providersKept)
	if err != nil {
		panic(err) // its size is a constant
	}
	return &Service{Config: c, providers: providers}
}

// Limits of a connection (doc/security.md).
const (
	MaxDomains    = 20
	MaxGroupRoles = 50
	maxGroups     = 500 // in a person's claim
	maxText       = 200 // characters of an issuer's or a group's name, a client id, a claim
	providersKept = 1000
	providerLife  = 10 * time.Minute
	awayLife      = 30 * time.Second
	flowLife      = 10 * time.Minute
	dnsTimeout    = 5 * time.Second
)

// RedirectURL is where the provider sends people of the account back to.
func (s *Service) RedirectURL(account domain.AccountID) string {
	return s.BaseURL + "/dashboard/sign-in/company/" + account.String()
}

// LogoutURL is where the provider sends its logout tokens for the account.
func (s *Service) LogoutURL(account domain.AccountID) string {
	return s.RedirectURL(account) + "/logout"
}
