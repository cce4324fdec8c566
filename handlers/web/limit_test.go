package web_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
)

// TestRefusalsAreHeldBack: a response that says to come back later comes a second later,
// and no other.
func TestRefusalsAreHeldBack(t *testing.T) {
	t.Parallel()
	later := func(code domain.Code) error { return &domain.Error{Code: code, RetryAfter: 3 * time.Second} }
	for name, c := range map[string]struct {
		answer func(echo.Context) error
		want   time.Duration
	}{
		"429":                 {func(echo.Context) error { return later(domain.CodeRateLimitExceeded) }, time.Second},
		"503":                 {func(echo.Context) error { return later(domain.CodeServiceUnavailable) }, time.Second},
		"503 without a time":  {func(echo.Context) error { return &domain.Error{Code: domain.CodeServiceUnavailable} }, 0},
		"a page with 429":     {func(c echo.Context) error { return page(c, http.StatusTooManyRequests) }, time.Second},
		"202 with a time":     {func(c echo.Context) error { return page(c, http.StatusAccepted) }, 0},
		"200":                 {func(c echo.Context) error { return c.NoContent(http.StatusOK) }, 0},
		"an error of another": {func(echo.Context) error { return errors.New("a failure") }, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, began := echo.New(), time.Now()
				_ = web.HoldBack(time.Second)(c.answer)(e.NewContext(httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()))
				if took := time.Since(began); took != c.want {
					t.Errorf("answered after %s, want %s", took, c.want)
				}
			})
		})
	}
}

func page(c echo.Context, status int) error {
	c.Response().Header().Set(web.HeaderRetry, "3")
	return c.NoContent(status)
}
