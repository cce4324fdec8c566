package handlers_test

import (
	"crypto/sha256"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"candor/db"
	"candor/internal/domain"
)

// A staffBrowser is a browser in which a staff user is signed in.
type staffBrowser struct {
	*bench
	session *domain.StaffSession
	cookies map[string]string
	from    string // the address; "" for that of httptest
}

// staffOf signs a new staff user of the account in, with that role.
func (b *bench) staffOf(account domain.AccountID, role domain.Role) *staffBrowser {
	b.Helper()
	now := b.clock.Now()
	id := domain.NewStaffID()
	session := &domain.StaffSession{
		Staff:     domain.Staff{ID: id, AccountID: account, Email: id.String() + "@lender.example", Role: role, CreatedAt: now},
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: "192.0.2.1",
	}
	token := "token of " + id.String()
	hash := sha256.Sum256([]byte(token))
	b.ok(b.db.InTx(b.Context(), func(tx *db.Tx) error {
		if err := tx.InsertStaff(b.Context(), &session.Staff, ""); err != nil {
			return err
		}
		return tx.InsertStaffSession(b.Context(), session, hash[:])
	}))
	return &staffBrowser{bench: b, session: session, cookies: map[string]string{"__Host-candor_staff": token}}
}

// staff signs a new staff user of the bench's account in, with that role.
func (b *bench) staff(role domain.Role) *staffBrowser {
	b.Helper()
	return b.staffOf(b.account.AccountID, role)
}

// stranger is a browser in which nobody is signed in.
func (b *bench) stranger() *staffBrowser {
	return &staffBrowser{bench: b, cookies: map[string]string{}}
}

// get opens a page.
func (s *staffBrowser) get(path string) *httptest.ResponseRecorder {
	s.Helper()
	return s.send(http.MethodGet, path, nil, nil)
}

// post sends a form as the page itself would.
func (s *staffBrowser) post(path string, values url.Values) *httptest.ResponseRecorder {
	s.Helper()
	return s.send(http.MethodPost, path, values, http.Header{"Sec-Fetch-Site": {"same-origin"}})
}

// send sends a form, or asks for a page.
func (s *staffBrowser) send(method, path string, values url.Values, header http.Header) *httptest.ResponseRecorder {
	s.Helper()
	r := httptest.NewRequestWithContext(s.Context(), method, baseURL+path, strings.NewReader(values.Encode()))
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range header {
		r.Header[name] = value
	}
	return s.do(r)
}

// do sends a request with the browser's cookies, and keeps those of the
// answer.
func (s *staffBrowser) do(r *http.Request) *httptest.ResponseRecorder {
	s.Helper()
	for name, value := range s.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	if s.from != "" {
		r.RemoteAddr = s.from + ":1234"
	}
	answer := s.serve(r)
	for _, cookie := range answer.Result().Cookies() {
		s.cookies[cookie.Name] = cookie.Value
		if cookie.MaxAge < 0 {
			delete(s.cookies, cookie.Name)
		}
	}
	return answer
}

// wantPage fails unless the answer is a page with that status and text.
func (s *staffBrowser) wantPage(answer *httptest.ResponseRecorder, status int, texts ...string) {
	s.Helper()
	if answer.Code != status {
		s.Fatalf("status %d, want %d:\n%.1000s", answer.Code, status, answer.Body)
	}
	for _, text := range texts {
		if !strings.Contains(answer.Body.String(), text) {
			s.Errorf("the page lacks %q:\n%.3000s", text, answer.Body)
		}
	}
}

// wantRedirect fails unless the answer leads to the path.
func (s *staffBrowser) wantRedirect(answer *httptest.ResponseRecorder, to string) {
	s.Helper()
	if answer.Code != http.StatusSeeOther || answer.Header().Get("Location") != to {
		s.Fatalf("status %d to %q, want 303 to %q:\n%.1000s", answer.Code, answer.Header().Get("Location"), to, answer.Body)
	}
}
