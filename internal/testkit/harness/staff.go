package harness

import (
	"bytes"
	"crypto/sha256"
	"image"
	"image/color"
	"image/png"
	"maps"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/staff/team"
	"candor/internal/testkit/page"
)

// A StaffBrowser is a browser in which a staff user is signed in.
type StaffBrowser struct {
	*Harness
	Session *domain.StaffSession
	Cookies map[string]string
	From    string // the address; "" for that of httptest
}

// StaffOf signs a new staff user of the account in, with that role.
func (h *Harness) StaffOf(account domain.AccountID, role domain.Role) *StaffBrowser {
	h.Helper()
	now := h.Clock.Now()
	id := domain.NewStaffID()
	session := &domain.StaffSession{
		Staff:     domain.Staff{ID: id, AccountID: account, Email: id.String() + "@lender.example", Role: role, CreatedAt: now},
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: "192.0.2.1",
	}
	token := "token of " + id.String()
	hash := sha256.Sum256([]byte(token))
	h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
		if err := tx.InsertStaff(h.Context(), &session.Staff, ""); err != nil {
			return err
		}
		return tx.InsertStaffSession(h.Context(), session, hash[:])
	}))
	return &StaffBrowser{Harness: h, Session: session, Cookies: map[string]string{"__Host-candor_staff": token}}
}

// Staff signs a new staff user of the harness's account in, with that role.
func (h *Harness) Staff(role domain.Role) *StaffBrowser {
	h.Helper()
	return h.StaffOf(h.Account.AccountID, role)
}

// SignedOut is a browser without a session.
func (h *Harness) SignedOut() *StaffBrowser {
	return &StaffBrowser{Harness: h, Cookies: map[string]string{}}
}

// Get opens a page.
func (s *StaffBrowser) Get(path string) *httptest.ResponseRecorder {
	s.Helper()
	return s.Send(http.MethodGet, path, nil, nil)
}

// Post sends a form as the page itself would.
func (s *StaffBrowser) Post(path string, values url.Values) *httptest.ResponseRecorder {
	s.Helper()
	return s.Send(http.MethodPost, path, values, http.Header{"Sec-Fetch-Site": {"same-origin"}})
}

// Send sends a form, or asks for a page.
func (s *StaffBrowser) Send(method, path string, values url.Values, header http.Header) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, BaseURL+path, strings.NewReader(values.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	maps.Copy(r.Header, header)
	return s.Do(r)
}

// Do sends a request with the browser's cookies, and keeps those of the
// answer.
func (s *StaffBrowser) Do(r *http.Request) *httptest.ResponseRecorder {
	s.Helper()
	for name, value := range s.Cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	if s.From != "" {
		r.RemoteAddr = s.From + ":1234"
	}
	answer := s.Serve(r)
	for _, cookie := range answer.Result().Cookies() {
		s.Cookies[cookie.Name] = cookie.Value
		if cookie.MaxAge < 0 {
			delete(s.Cookies, cookie.Name)
		}
	}
	return answer
}

// WantPage fails unless the answer has that status and shows the texts, and
// returns the page.
func (s *StaffBrowser) WantPage(answer *httptest.ResponseRecorder, status int, texts ...string) *page.Page {
	s.Helper()
	if answer.Code != status {
		s.Fatalf("status %d, want %d:\n%.1000s", answer.Code, status, answer.Body)
	}
	shown := page.Read(s, answer.Body.String())
	shown.Shows(texts...)
	return shown
}

// WantRedirect fails unless the answer leads to the path.
func (s *StaffBrowser) WantRedirect(answer *httptest.ResponseRecorder, to string) {
	s.Helper()
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != to {
		s.Fatalf("status %d to %q, want 303 to %q:\n%.1000s", answer.Code, answer.Header().Get("Location"), to, answer.Body)
	}
}

// WantPrompt fails unless the answer leads to the prompt for the password, from
// which Cancel leads to back. It returns the id of the held form.
func (s *StaffBrowser) WantPrompt(answer *httptest.ResponseRecorder, back string) (held string) {
	s.Helper()
	to, err := url.Parse(answer.Header().Get("Location"))
	s.OK(err)
	held = to.Query().Get("held")
	if answer.Code != http.StatusSeeOther || to.Path != "/dashboard/confirm" || !strings.HasPrefix(held, "hld_") ||
		to.Query().Get("then") != back {
		s.Fatalf("%d to %q, want the prompt with a held form, and back to %q:\n%.1000s", answer.Code, to, back, answer.Body)
	}
	return held
}

// Confirms answers the prompt of a held form.
func (s *StaffBrowser) Confirms(held, password string) *httptest.ResponseRecorder {
	s.Helper()
	return s.Post("/dashboard/confirm", url.Values{"held": {held}, "password": {password}, "then": {"/dashboard/test"}})
}

// GoodPassword is a password that Candor accepts.
const GoodPassword = "three small green boats" //nolint:gosec // G101: of made-up users

// NewInvitation invites that address with that role.
func NewInvitation(email string, role domain.Role) team.InvitationParams {
	return team.InvitationParams{Email: email, Role: role}
}

// Owner signs the account's owner in by the password.
func (h *Harness) Owner() *StaffBrowser {
	h.Helper()
	browser := h.SignedOut()
	browser.WantRedirect(browser.Post("/dashboard/sign-in", SignInForm(h.Account.Email, h.Account.Password)), "/dashboard")
	return browser
}

// TwoStepSecret is the secret on the page that sets two-step sign-in up.
func TwoStepSecret(p *page.Page) string {
	p.Helper()
	return strings.ReplaceAll(p.Copies("Copy"), " ", "")
}

// RecoveryCodes are the codes on the page that shows them once.
func RecoveryCodes(p *page.Page) []string {
	p.Helper()
	return strings.Fields(p.Copies("Copy codes"))
}

// Code is what an authenticator app shows at the harness's time, so many periods
// off.
func (h *Harness) Code(secret string, periods int) string {
	h.Helper()
	code, err := totp.GenerateCode(secret, h.Clock.Now().Add(time.Duration(periods)*30*time.Second))
	h.OK(err)
	return code
}

// CodeForm is the form that asks for a code.
func CodeForm(code string) url.Values { return url.Values{"code": {code}} }

// TwoStep turns two-step sign-in on and returns the secret and the recovery
// codes.
func (s *StaffBrowser) TwoStep() (secret string, recovery []string) {
	s.Helper()
	answer := s.Post("/dashboard/test/me/two-step", nil)
	secret = TwoStepSecret(s.WantPage(answer, http.StatusOK, "QR code"))
	s.WantPage(s.Post("/dashboard/test/me/two-step/on", CodeForm("000 000")), http.StatusUnprocessableEntity, "That code is wrong",
		secret[:4])
	answer = s.Post("/dashboard/test/me/two-step/on", CodeForm(s.Code(secret, 0)))
	recovery = RecoveryCodes(s.WantPage(answer, http.StatusOK, "won’t be shown again"))
	if len(recovery) != 10 {
		s.Fatalf("%d recovery codes, want 10", len(recovery))
	}
	return secret, recovery
}

// HalfIn is a browser that has given the password, and no code yet.
func (h *Harness) HalfIn() *StaffBrowser {
	h.Helper()
	browser := h.SignedOut()
	form := SignInForm(h.Account.Email, h.Account.Password)
	form.Set("then", "/dashboard/live")
	browser.WantRedirect(browser.Post("/dashboard/sign-in", form), "/dashboard/sign-in/code?then=%2Fdashboard%2Flive")
	return browser
}

// SendLogo posts the form of the logo with that file.
func (s *StaffBrowser) SendLogo(name, content string) *httptest.ResponseRecorder {
	s.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	part, err := w.CreateFormFile("file", name)
	s.OK(err)
	_, err = part.Write([]byte(content))
	s.OK(err)
	s.OK(w.Close())
	r := httptest.NewRequestWithContext(s.Context(), http.MethodPost, BaseURL+"/dashboard/test/settings/logo", &body)
	r.Header.Set("Content-Type", w.FormDataContentType())
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	return s.Do(r)
}

// Drawing is a PNG of that size in one colour.
func Drawing(t testing.TB, width, height int, c color.Color) string {
	t.Helper()
	m := image.NewNRGBA(image.Rect(0, 0, width, height))
	for y := range height {
		for x := range width {
			if x > 0 && y > 0 || x+y == 0 { // white at its upper and left edges: none is a border
				m.Set(x, y, c)
			} else {
				m.Set(x, y, color.White)
			}
		}
	}
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// SignInForm is the sign-in form, filled in.
func SignInForm(email, password string) url.Values {
	return url.Values{"email": {email}, "password": {password}}
}
