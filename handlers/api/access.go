package api

import (
	"errors"
	"net/http"
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
		if err := s.limitEarly(c); err != nil {
			return err
		}
		unknown := s.authenticate(c)
		limited := s.limit(c)
		switch {
		case unknown != nil: // our failure, so the limit does not count
			return unknown
		case limited != nil:
			return limited
		}
		return next(c)
	}
}

// authenticate notes the request's principal, or why there is none. It fails
// only if it couldn't find out.
func (s *Server) authenticate(c echo.Context) error {
	r := web.RequestOf(c)
	key, err := bearer(c.Request().Header)
	if err != nil {
		r.KeyError = err
		return nil
	}
	principal, err := s.Keys.Authenticate(c.Request().Context(), key, r.Address)
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
		r.Principal = &principal
		s.callers.Add(hash, principal)
	}
	return nil
}

// bearer returns the API key of an Authorization header (RFC 6750, 2.1).
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", domain.Errorf(domain.CodeUnauthorized, "The Authorization header is missing. Send Authorization: Bearer and your API key.")
	}
	scheme, key, found := strings.Cut(values[0], " ")
	if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || key == "" || strings.ContainsAny(key, " \t,") {
		return "", domain.Errorf(domain.CodeUnauthorized, "The Authorization header is malformed. Send Authorization: Bearer and your API key.")
	}
	return key, nil
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
