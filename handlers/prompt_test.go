package handlers_test

import (
	"image/color"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// TestUploadsWaitForThePassword: a file that is posted late is stored after the
// password, and a form with multiple parts too.
func TestUploadsWaitForThePassword(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	handler, err := handlers.NewWithConfirmedLogo(h.Config)
	h.OK(err)
	h.Handler = handler
	s := h.Owner()
	h.Clock.Advance(domain.StaffConfirmed)
	held := s.WantPrompt(s.SendLogo("logo.png", harness.Drawing(t, 100, 40, color.Black)), "/dashboard/test/settings")
	stored := func(want int) {
		t.Helper()
		if n := harness.QueryOne[int](h, `SELECT count(*) FROM account WHERE id = $1 AND logo_name IS NOT NULL`,
			h.Account.AccountID); n != want {
			t.Errorf("%d logos are stored, want %d", n, want)
		}
	}
	stored(0)
	s.WantPage(s.Confirms(held, "wrong"), http.StatusUnprocessableEntity)
	s.WantRedirect(s.Confirms(held, h.Account.Password), "/dashboard/test/settings")
	stored(1)
	h.Clock.Advance(domain.StaffConfirmed)
	s.WantPage(s.SendLogo("logo.png", strings.Repeat("x", domain.MaxLogoUpload+128<<10)), http.StatusRequestEntityTooLarge)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, harness.BaseURL+"/dashboard/test/keys", strings.NewReader(
		"--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nParts\r\n--x\r\n"+
			"Content-Disposition: form-data; name=\"access\"\r\n\r\nfull\r\n--x--\r\n"))
	r.Header = http.Header{"Content-Type": {"multipart/form-data; boundary=x"}, "Sec-Fetch-Site": {"same-origin"}}
	held = s.WantPrompt(s.Do(r), "/dashboard/test/keys")
	s.WantPage(s.Confirms(held, h.Account.Password), http.StatusOK, "candor_test_", "Parts")
}
