// Package form is the customer's form: the link that opens it, its sections,
// uploads, declaration and confirmation, in the customer's language.
package form

import (
	"errors"
	"runtime"
	"time"

	gorilla "github.com/gorilla/sessions"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/accounts"
	"candor/internal/service/forms"
	"candor/internal/service/sessions"
	"candor/views/pdf"
)

// Config is what the form needs.
type Config struct {
	Accounts *accounts.Service
	Forms    *forms.Service
	Sessions *sessions.Service

	Clock          domain.Clock
	Cookies        web.Cookies
	CookieKeys     [][]byte          // gorilla/sessions pairs, newest first
	Fonts          *pdf.Fonts        // of customers’ copies
	LinkLimiter    ratelimit.Limiter // of posts to a form and copies drawn, by its link
	OpenedLimiter  ratelimit.Limiter // of posts by browsers that opened their form, by network
	NetworkLimiter ratelimit.Limiter // of other posts to forms, and of wrong links, by network
}

// Server holds the form's handlers.
type Server struct {
	Config
	store  *gorilla.CookieStore // of the cookies that open forms
	saving chan struct{}        // has an element for each automatic save under way
}

// Of the automatic saves, savesAtOnce for each core are under way and the others
// wait, for at most saveWait: a thousand customers who type at once shall not share
// the cores with each webhook. If the database is far, a save holds its place for
// longer than it uses a core, so the wait is bounded.
const (
	savesAtOnce = 2
	saveWait    = 100 * time.Millisecond
)

// New returns the form.
func New(c Config) (*Server, error) {
	if len(c.CookieKeys) == 0 {
		return nil, errors.New("form: CookieKeys must be set")
	}
	store := gorilla.NewCookieStore(c.CookieKeys...)
	store.MaxAge(int(longestAccess / time.Second))
	return &Server{Config: c, store: store, saving: make(chan struct{}, savesAtOnce*runtime.GOMAXPROCS(0))}, nil
}
