package handlers

import (
	"errors"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/intake"
)

// admit finds out who makes an API request and counts it against their limit
// (D30): the account's and mode's with a valid key, else the address's. So
// nobody can use up the limit of a key they don't have. Whether the key
// suffices is for the endpoint to say.
func (s *Server) admit(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if !isAPI(c.Request()) {
			return next(c)
		}
		unknown := s.authenticate(c)
		limited := s.limit(c)
		switch {
		case unknown != nil: // that is no fault of theirs, and not for them to wait for
			return unknown
		case limited != nil:
			return limited
		}
		return next(c)
	}
}

// authenticate notes the request's principal, or why there is none. It fails
// only where it couldn't find out.
func (s *Server) authenticate(c echo.Context) error {
	r := requestOf(c)
	key, err := bearer(c.Request().Header)
	if err != nil {
		r.refusal = err
		return nil
	}
	principal, err := s.Service.Authenticate(c.Request().Context(), key, r.address)
	if principal.KeyID != (intake.KeyID{}) {
		r.caller = &principal
	}
	var refusal *intake.Error
	switch {
	case errors.As(err, &refusal):
		r.refusal = refusal
	case err != nil:
		return err
	default:
		r.principal = &principal
	}
	return nil
}

// bearer returns the API key of an Authorization header (RFC 6750, 2.1).
func bearer(h http.Header) (string, error) {
	values := h.Values("Authorization")
	if len(values) == 0 {
		return "", intake.Errorf(intake.CodeUnauthorized, "The Authorization header is missing. Send Authorization: Bearer and your API key.")
	}
	scheme, key, found := strings.Cut(values[0], " ")
	if len(values) > 1 || !found || !strings.EqualFold(scheme, "Bearer") || key == "" || strings.ContainsAny(key, " \t,") {
		return "", intake.Errorf(intake.CodeUnauthorized, "The Authorization header is malformed. Send Authorization: Bearer and your API key.")
	}
	return key, nil
}

// authorize returns why the request may not do what needs the permission
// (D29), nil where it may.
func authorize(r *request, need intake.Permission) error {
	switch {
	case need == "":
		return nil
	case r.principal == nil:
		return r.refusal
	case r.principal.Permissions.Allow(need):
		return nil
	case need == intake.BillingRead:
		return intake.Errorf(intake.CodeBillingAccessDenied, "This API key has no access to billing. Use one with the permission billing:read.")
	}
	return intake.Errorf(intake.CodeForbidden, "This API key may not do this. Use one with the permission %s.", need)
}
