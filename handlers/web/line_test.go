package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
)

// TestPlacesBesideOthers: while another account comes, one that had many places gets none
// until it has fewer than its share, or a second has passed. A request that entered enters
// no second time.
func TestPlacesBesideOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		line := web.NewLine(100, "Busy.")
		many, other := domain.NewAccountID(), domain.NewAccountID()
		request := func() echo.Context {
			c := echo.New().NewContext(httptest.NewRequest(http.MethodGet, "/", http.NoBody), httptest.NewRecorder())
			web.WithRequest(c, web.NewRequest(c, domain.RequestID{}))
			return c
		}
		var held []echo.Context
		for range 50 {
			c := request()
			if err := line.Enter(c, many); err != nil || line.Enter(c, many) != nil {
				t.Fatal("an account alone waits:", err)
			}
			held = append(held, c)
		}
		began := time.Now()
		if err := line.Enter(request(), other); err != nil || time.Since(began) > 0 {
			t.Fatalf("another account waits %s: %v", time.Since(began), err)
		}
		last := request()
		if err := line.Enter(last, many); err != nil || time.Since(began) != time.Second {
			t.Errorf("with 50 places beside another account: %v after %s, want a place after a second", err, time.Since(began))
		}
		if err := line.Enter(request(), other); err != nil {
			t.Fatal(err)
		}
		for _, c := range append(held, last) {
			web.RequestOf(c).Leave()
		}
		began = time.Now()
		if err := line.Enter(request(), many); err != nil || time.Since(began) > 0 {
			t.Errorf("without a place beside another account: %v after %s", err, time.Since(began))
		}
	})
}
