package api

import (
	"context"
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
)

// Admit is the middleware that finds out who makes an API request and counts
// it against a limit (D30): the account's and mode's with a valid key, else the
// address's. So no one can use up the limit of a key that they don't have. The
// route decides whether the key suffices.
func (s *Server) Admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !Serves(c.Request()) {
			return next(c)
		}
		browser := fromPage(c.Request())
		if browser {
			c.Response().Header().Set(echo.HeaderAccessControlAllowOrigin, "*") // else the page couldn't read why it is refused
		}
		if err := s.admitEarly(c); err != nil {
			return err
		}
		unknown := s.authenticate(c)
		limited := s.limit(c)
		switch {
		case unknown != nil: // our failure, so the limit does not count
			return unknown
		case limited != nil:
			return limited
		case browser && c.Request().Method == http.MethodOptions:
			h := c.Response().Header()
			h.Set(echo.HeaderAccessControlAllowMethods, "GET, POST, DELETE")
			h.Set(echo.HeaderAccessControlAllowHeaders, "Authorization, Content-Type, Idempotency-Key, Candor-Strict")
			return c.NoContent(http.StatusNoContent)
		case browser && web.RequestOf(c).Principal != nil:
			return domain.Errorf(domain.CodeForbidden,
				"API keys are for servers only: everyone who opens this page can read the key in it. Delete the key, and call the API from your server.")
		}
		if p := web.RequestOf(c).Principal; p != nil {
			if err := s.Line.Enter(c, p.AccountID); err != nil {
				return err
			}
		}
		return next(c)
	}
}

// fromPage reports whether a script of a page in a browser made the request. Only
// browsers send both headers.
func fromPage(r *http.Request) bool {
	return r.Header.Get(echo.HeaderOrigin) != "" && r.Header.Get("Sec-Fetch-Site") != ""
}

var keyInQuery = regexp.MustCompile(`=(candor_(test|live)_|whsec_)\w`)

// authenticate notes the request's principal, or why there is none. It fails
// only if it couldn't find out.
func (s *Server) authenticate(c echo.Context) error {
	r := web.RequestOf(c)
	key, err := bearer(c.Request().Header)
	if err != nil && keyInQuery.MatchString(c.Request().URL.RawQuery) {
		err = domain.Errorf(domain.CodeUnauthorized,
			"A key in the address isn’t read, and addresses are written to logs: rotate that key. Send Authorization: Bearer and your API key.")
	}
	if err != nil {
		r.KeyError = err
		return nil
	}
	principal, session, err := s.findPrincipal(c, key, r.Address)
	if principal.KeyID != (domain.KeyID{}) {
		r.Caller = &principal
	}
	var keyError *domain.Error
	switch hash := domain.HashAPIKey(key); {
	case errors.As(err, &keyError):
		r.KeyError = keyError
		s.callers.Remove(hash)
	case err != nil:
		return err
	default:
		r.Principal, r.Session = &principal, session
		r.Recheck = func(ctx context.Context) error {
			now, err := s.Keys.Authenticate(ctx, key, r.Address)
			if err != nil {
				return err
			}
			return authorize(&web.Request{Principal: &now}, r.Needs)
		}
		s.callers.Add(hash, principal)
	}
	return nil
}

// findPrincipal authenticates the key. The most frequent request reads its session in the
// same statement.
func (s *Server) findPrincipal(c echo.Context, key, address string) (domain.Principal, *domain.Session, error) {
	ctx := c.Request().Context()
	if id, err := domain.ParseSessionID(c.Param("id")); err == nil && c.Request().Method == http.MethodGet &&
		c.Path() == SessionPath {
		return s.Keys.AuthenticateFor(ctx, key, address, id)
	}
	principal, err := s.Keys.Authenticate(ctx, key, address)
	return principal, nil, err
}

// bearer returns the API key of an Authorization header (RFC 6750, 2.1).
func bearer(h http.Header) (string, error) {
	values := h.Values(echo.HeaderAuthorization)
	if len(values) == 1 {
		scheme, key, found := strings.Cut(values[0], " ")
		if found && strings.EqualFold(scheme, "Bearer") && key != "" && !strings.ContainsAny(key, " \t,") {
			return key, nil
		}
	}
	return "", domain.Errorf(domain.CodeUnauthorized, "%s Send Authorization: Bearer and your API key.", noBearer(h, values))
}

// noBearer says why a request has no key.
func noBearer(h http.Header, values []string) string {
	switch first := strings.ToLower(strings.Join(values, ", ")); {
	case len(values) == 0 && (h.Get("X-Api-Key") != "" || h.Get("Api-Key") != ""):
		return "The Authorization header is missing; a key in another header isn’t read."
	case len(values) == 0:
		return "The Authorization header is missing."
	case len(values) > 1:
		return "There is more than one Authorization header."
	case strings.HasPrefix(first, "basic "):
		return "The Authorization header is Basic, a user and password, which isn’t taken."
	case strings.HasPrefix(first, "candor_"):
		return "The Authorization header is malformed: the word Bearer is missing before the key."
	case strings.TrimRight(first, " :") == "bearer":
		return "The Authorization header is malformed: it has no key, so the program’s variable may be empty."
	case strings.HasPrefix(first, "bearer"):
		return "The Authorization header is malformed: Bearer, one space and the key alone are expected."
	}
	return "The Authorization header is malformed."
}

// authorize returns an error if the request's key doesn't have all of the
// permissions (D29).
func authorize(r *web.Request, all needs) error {
	switch {
	case len(all) == 0:
		return nil
	case r.Principal == nil:
		return r.KeyError
	case !slices.ContainsFunc(all, func(one domain.Permission) bool { return !r.Principal.Permissions.Allow(one) }):
		return nil
	case slices.Contains(all, domain.BillingRead):
		return domain.Errorf(domain.CodeBillingAccessDenied, "This API key has no access to billing. Use a key with %s.", all)
	}
	return domain.Errorf(domain.CodeForbidden, "This API key lacks a permission. Use a key with %s.", all)
}

// String names the permissions, as in "sessions:read and data:read".
func (all needs) String() string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = string(one)
	}
	return strings.Join(names, " and ")
}
