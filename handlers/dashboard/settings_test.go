package dashboard_test

import (
	"image/color"
	"image/png"
	"net/http"
	"net/http/httptest"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/accounts"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

func TestSettingsAreOnTheForm(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner := h.Staff(domain.RoleOwner)
	path := "/dashboard/test/settings"
	owner.WantPage(owner.Get(path), http.StatusOK, "Lender & Sons")
	wrong := owner.WantPage(owner.Post(path, url.Values{"name": {""}, "help_email": {"x"}, "help_phone": {"call me"},
		"brand_colour": {"red"}}), http.StatusUnprocessableEntity,
		"Enter the name", "help@example.com", "phone number such as", "six hex digits")
	wrong.WantField("brand_colour", "red")
	owner.WantRedirect(owner.Post(path, url.Values{"name": {harness.Hostile}, "help_email": {"help@lender.example"},
		"help_phone": {"1300 123 456"}, "brand_colour": {"#B0241C"}}), path)
	owner.WantPage(owner.Get(path), http.StatusOK, "Settings saved", "help@lender.example").WantField("brand_colour", "#b0241c")

	customer := h.NewCustomer()
	page := customer.WantPage(customer.Get(""), http.StatusOK).Shows("help@lender.example", "1300 123 456", "<script>")
	if got := page.Loads("/brand/"); !slices.Equal(got, []string{"/brand/b0241c.css"}) {
		t.Errorf("the form loads the brand's style %q", got)
	}
	sheet := owner.Get("/brand/b0241c.css")
	if sheet.Code != http.StatusOK || !strings.HasPrefix(sheet.Header().Get("Content-Type"), "text/css") ||
		!strings.Contains(sheet.Body.String(), "--brand:light-dark(#b0241c,") {
		t.Errorf("style sheet: %d, %s", sheet.Code, sheet.Body)
	}
	for _, path := range []string{"/brand/b0241c", "/brand/red.css", "/brand/b0241c.css.css"} {
		owner.WantPage(owner.Get(path), http.StatusNotFound)
	}
	wantEntries(owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "brand colour: b0241c"), "Settings changed")
}

// TestSettingsBySubject: a form changes what it has, with one Save, and so does a page of the
// previous release. Other settings stay.
func TestSettingsBySubject(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, path := h.Owner(), "/dashboard/test/settings"
	stored := func() accounts.Settings {
		t.Helper()
		account, err := h.Service.Accounts.Get(t.Context(), h.Account.AccountID)
		h.OK(err)
		return accounts.SettingsOf(account)
	}
	forms := url.Values{"help_email": {"help@lender.example"}, "help_phone": {"1300 123 456"}, "money_help": {"Our team"},
		"money_help_url": {"https://lender.example/help"}, "next_steps": {"We call you."}, "receipt_email": {"true"},
		"languages": {"", "vi"}, "default_expires_in_days": {"7"}}
	owner.WantRedirect(owner.Post(path+"/forms", forms), path)
	want := stored()
	if want.HelpEmail != "help@lender.example" || !want.ReceiptEmail || want.DefaultExpiresInDays != 7 ||
		!slices.Equal(want.Languages, []string{"vi"}) {
		t.Errorf("stored %+v", want)
	}
	for _, post := range []struct {
		form   string
		fields url.Values
		change func()
	}{
		{"/brand", url.Values{"name": {"Harbour"}, "brand_colour": {"#B0241C"}},
			func() { want.Name, want.BrandColour = "Harbour", "#b0241c" }},
		{"/time-zone", url.Values{"time_zone": {"Australia/Perth"}}, func() { want.TimeZone = "Australia/Perth" }},
		{"/forms", url.Values{"languages": {""}}, func() { want.Languages = nil }},
		{"", url.Values{"name": {"Old page"}, "help_email": {""}, "help_phone": {"1300 123 456"}, "brand_colour": {""},
			"money_help": {"Our team"}, "money_help_url": {""}, "next_steps": {"We write."}}, func() {
			want.Name, want.HelpEmail, want.BrandColour, want.MoneyHelpURL = "Old page", "", "", ""
			want.NextSteps, want.ReceiptEmail = "We write.", false
		}},
		{"/preview", url.Values{"name": {"Not stored"}, "brand_colour": {"000000"}}, func() {}},
		{"/brand", nil, func() {}},
	} {
		owner.Post(path+post.form, post.fields)
		if post.change(); !reflect.DeepEqual(stored(), want) {
			t.Errorf("%s %v: stored %+v, want %+v", post.form, post.fields, stored(), want)
		}
	}
	wrong := owner.Post(path+"/brand", url.Values{"name": {"Typed"}, "brand_colour": {"red"}})
	owner.WantPage(wrong, http.StatusUnprocessableEntity).
		WantError("brand_colour", "six hex digits").WantField("name", "Typed").WantField("next_steps", "We write.")
}

// TestPreviewOfTheForm: the form's first page as it will look, in a frame of this site alone,
// without script; the settings say what is used for a colour that is hard to read.
func TestPreviewOfTheForm(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, path := h.Owner(), "/dashboard/test/settings"
	typed := owner.Post(path+"/preview", url.Values{"name": {"Harbour"}, "brand_colour": {"#7FD4FF"}})
	shown := owner.WantPage(typed, http.StatusOK, "Your financial statement", "Harbour").Hides("Lender & Sons")
	if got := shown.Loads("/brand/"); !slices.Equal(got, []string{"/brand/7fd4ff.css"}) || len(shown.All("script")) > 0 {
		t.Errorf("the preview loads %q and has %d scripts", got, len(shown.All("script")))
	}
	if policy := typed.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "frame-ancestors 'self'") ||
		typed.Header().Get("X-Frame-Options") != "" {
		t.Errorf("the preview's headers: %v", typed.Header())
	}
	for _, wrong := range []string{"red", harness.Hostile, ""} {
		answer := owner.Post(path+"/preview", url.Values{"name": {" "}, "brand_colour": {wrong}})
		if got := owner.WantPage(answer, http.StatusOK, "Lender & Sons").Loads("/brand/"); len(got) > 0 {
			t.Errorf("%q is drawn with %q", wrong, got)
		}
	}
	settings := owner.Get(path)
	if policy := settings.Header().Get("Content-Security-Policy"); !strings.Contains(policy, "frame-src 'self'") ||
		!strings.Contains(policy, "frame-ancestors 'none'") {
		t.Errorf("the settings' policy: %s", policy)
	}
	owner.WantRedirect(owner.Post(path+"/brand", url.Values{"name": {"Harbour"}, "brand_colour": {"7fd4ff"}}), path)
	owner.WantPage(owner.Get(path), http.StatusOK, "#7fd4ff has 1.6:1 on white. Text needs 4.5:1, so text and buttons use #")
	owner.WantPage(owner.Get(path+"/preview"), http.StatusOK, "Harbour")
	support := h.Staff(domain.RoleSupport)
	support.WantPage(support.Get(path+"/preview"), http.StatusForbidden)
}

// wantLogo returns the address of the page's one picture, and fails unless it is
// named after the account and has that size.
func wantLogo(p *page.Page, width, height string) string {
	p.Helper()
	pictures := p.All("img")
	if len(pictures) != 1 {
		p.Fatalf("%d pictures, want the logo", len(pictures))
	}
	logo := pictures[0]
	if logo.Attr("alt") != "Lender & Sons" || logo.Attr("width") != width || logo.Attr("height") != height {
		p.Errorf("the logo %q has %s × %s, want %s × %s", logo.Attr("alt"), logo.Attr("width"), logo.Attr("height"), width, height)
	}
	return logo.Attr("src")
}

func TestLogo(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, customer, path := h.Staff(domain.RoleOwner), h.NewCustomer(), "/dashboard/test/settings"
	owner.WantPage(owner.Post(path+"/logo", url.Values{"name": {"x"}}), http.StatusUnprocessableEntity, "Select a file").
		WantField("name", "Lender & Sons")
	owner.WantPage(owner.SendLogo("logo.svg", "<svg><script>alert(1)</script></svg>"), http.StatusUnprocessableEntity).
		WantError("file", "SVG files can contain scripts")
	owner.WantPage(owner.SendLogo("logo.png", strings.Repeat("x", 2<<20)), http.StatusUnprocessableEntity, "512 KB or smaller")
	if page := customer.WantPage(customer.Get(""), http.StatusOK).Shows("L Lender & Sons"); len(page.All("img")) > 0 {
		t.Error("the form has a picture without a logo")
	}

	owner.WantRedirect(owner.SendLogo("logo.png", harness.Drawing(t, 960, 192, color.NRGBA{13, 87, 72, 255})), path)
	wantLogo(owner.WantPage(owner.Get(path), http.StatusOK, "Logo saved").Offers("Remove logo"), "240", "48")
	logo := wantLogo(customer.WantPage(customer.Get(""), http.StatusOK).Hides("L Lender & Sons"), "240", "48")
	answer := h.SignedOut().Get(logo)
	for header, want := range map[string]string{
		"Content-Type": "image/png", "Cache-Control": "public, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'; sandbox", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := answer.Header().Get(header); got != want {
			t.Errorf("%s: %q, want %q", header, got, want)
		}
	}
	if size, err := png.DecodeConfig(answer.Body); answer.Code != http.StatusOK || err != nil || size.Width != domain.MaxLogoWidth ||
		size.Height != domain.MaxLogoHeight {
		t.Errorf("the logo: %d, %v, %v", answer.Code, size, err)
	}
	for _, other := range []string{"/logo/", "/logo/x.png", "/logo/%ff%00.png", strings.Replace(logo, ".png", ".jpg", 1),
		logo + ".svg", strings.Replace(logo, "logo/", "logo/..%2f", 1)} {
		owner.WantPage(owner.Get(other), http.StatusNotFound)
	}

	owner.WantRedirect(owner.SendLogo("logo.png", harness.Drawing(t, 96, 96, color.NRGBA{200, 0, 0, 255})), path)
	owner.WantPage(owner.Get(logo), http.StatusNotFound) // replaced
	wantLogo(owner.WantPage(owner.Get(path), http.StatusOK), "48", "48")
	owner.WantRedirect(owner.Post(path+"/logo/remove", nil), path)
	owner.WantPage(owner.Get(path), http.StatusOK, "Logo removed", "first letter")
	if page := customer.WantPage(customer.Get(""), http.StatusOK); len(page.All("img")) > 0 {
		t.Error("the logo is on the form still")
	}
	name := strings.TrimPrefix(logo, "/logo/")
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "logo: "+name, "logo: "+name+" → ", " → none")
}

func TestDefaultExpiry(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	owner, path := h.Staff(domain.RoleOwner), "/dashboard/test/settings"
	create := func(key, more string) (days int) {
		t.Helper()
		created := h.PostOnce(key, `{"form_type": "financial_statement", "customer_email": "jo@customer.example"`+more+`}`).
			WantStatus(http.StatusCreated).Object()
		from, err := time.Parse(time.RFC3339, created["created_at"].(string))
		h.OK(err)
		to, err := time.Parse(time.RFC3339, created["expires_at"].(string))
		h.OK(err)
		return int(to.Sub(from) / (24 * time.Hour))
	}
	if got := create("before", ""); got != 30 {
		t.Errorf("%d days, want the contract's 30", got)
	}
	for _, wrong := range []string{"", "0", "91", "-1", "1.5", "many", "9999999999999999999"} {
		answer := owner.Post(path+"/forms", url.Values{"default_expires_in_days": {wrong}})
		owner.WantPage(answer, http.StatusUnprocessableEntity, "Enter a number of days from 1 to 90").
			WantField("default_expires_in_days", wrong)
	}
	owner.WantRedirect(owner.Post(path+"/forms", url.Values{"default_expires_in_days": {" 7 "}}), path)
	for request, want := range map[string]int{"": 7, `, "expires_in_days": null`: 7, `, "expires_in_days": 90`: 90} {
		if got := create("after"+request, request); got != want {
			t.Errorf("%q: %d days, want %d", request, got, want)
		}
	}
	if got := create("before", ""); got != 30 {
		t.Errorf("the same answer again has %d days, want 30", got)
	}
	owner.WantPage(owner.Get("/dashboard/live/sessions/new"), http.StatusOK).WantField("expires_in_days", "7")
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "default expires in days: 30 → 7")
}

// TestRetentionIsReviewed follows a shorter retention from what the page says
// it would delete to that being deleted.
func TestRetentionIsReviewed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	path := "/dashboard/test/settings"
	old := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(old.ID)
	h.Upload(old.ID, "payslip.pdf")
	h.Complete(old.ID)
	h.StorePDF(old.ID, []byte("%PDF-1.7"))
	h.Clock.Advance(10 * 24 * time.Hour)
	young := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(young.ID)
	h.StorePDF(young.ID, []byte("%PDF-1.7"))
	owner := h.Staff(domain.RoleOwner)
	files := func(session *domain.Session, want int) {
		t.Helper()
		h.Get("/sessions/" + session.ID.String() + "/pdf").WantStatus(want)
	}

	documents := func() []domain.Document {
		t.Helper()
		out, err := h.DB.Documents(h.Context(), old.ID)
		h.OK(err)
		return out
	}

	for _, wrong := range []string{"", "0", "91", "x"} {
		owner.WantPage(owner.Get(path+"/retention?retention_days="+wrong), http.StatusUnprocessableEntity,
			"Enter a number of days from 1 to 90")
		owner.WantPage(owner.Post(path+"/retention", url.Values{"retention_days": {wrong}, "from_days": {"90"}}),
			http.StatusUnprocessableEntity, "Enter a number of days from 1 to 90")
	}
	owner.WantPage(owner.Get(path+"/retention?retention_days=11"), http.StatusOK, "Nothing is deleted now", "instead of 90")
	owner.WantPage(owner.Get(path+"/retention?retention_days=90"), http.StatusOK, "Nothing would change")
	owner.WantPage(owner.Get(path+"/retention?retention_days=10"), http.StatusOK,
		"Keep files for 10 days?", "Files of 1 completed statement will be deleted", "20 Nov 2026", "within a day", "can’t be undone",
		"Leave it at 90 days")
	files(old, http.StatusOK)

	// The counts have changed since they were shown: the page asks again.
	owner.WantRedirect(owner.Post(path+"/retention", url.Values{"retention_days": {"10"}}), path+"/retention?retention_days=10")
	owner.WantRedirect(owner.Post(path+"/retention", url.Values{"retention_days": {"10"}, "from_days": {"60"}}),
		path+"/retention?retention_days=10")
	owner.WantPage(owner.Get(path+"/retention?retention_days=10"), http.StatusOK, "Someone else has just changed this")
	files(old, http.StatusOK)

	owner.WantRedirect(owner.Post(path+"/retention", url.Values{"retention_days": {"10"}, "from_days": {"90"}}), path)
	h.Get("/sessions/"+old.ID.String()+"/pdf").WantError(http.StatusNotFound, "pdf_expired", "")
	document := documents()[0].ID.String()
	h.Get("/sessions/"+old.ID.String()+"/documents/"+document).WantError(http.StatusNotFound, "document_not_found", "")
	h.Get("/sessions/" + old.ID.String() + "/data").WantStatus(http.StatusOK)
	files(young, http.StatusOK)
	owner.WantPage(owner.Get("/dashboard/test/sessions/"+old.ID.String()), http.StatusOK, "their retention has ended")
	answers := owner.WantPage(owner.Get("/dashboard/test/sessions/"+old.ID.String()+"/answers"), http.StatusOK, "payslip.pdf")
	if links := answers.Leads("/dashboard/test/sessions/" + old.ID.String() + "/documents"); len(links) > 0 {
		t.Errorf("documents that are deleted can be downloaded: %q", links)
	}
	retire := func(want int) {
		t.Helper()
		h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
			n, err := tx.RetireSessions(h.Context(), h.Clock.Now(), 10)
			if n != want {
				t.Errorf("retention deleted the files of %d sessions, want %d", n, want)
			}
			return err
		}))
	}
	retire(1)
	if left := documents(); len(left) != 0 {
		t.Errorf("%d documents are left", len(left))
	}

	owner.WantPage(owner.Get(path+"/retention?retention_days=30"), http.StatusOK, "instead of 10", "can’t be restored")
	owner.WantRedirect(owner.Post(path+"/retention", url.Values{"retention_days": {"30"}, "from_days": {"10"}}), path)
	files(old, http.StatusNotFound)
	h.Clock.Advance(30*24*time.Hour - time.Second)
	files(young, http.StatusOK)
	retire(0)
	h.Clock.Advance(time.Second)
	files(young, http.StatusNotFound)
	retire(1)

	owner = h.Staff(domain.RoleOwner)
	owner.WantPage(owner.Get("/dashboard/test/audit"), http.StatusOK, "retention days: 90 → 10", "retention days: 10 → 30")
	h.Clock.Advance(time.Hour) // the password is asked again before anything is deleted
	review := path + "/retention?retention_days=1"
	owner.WantRedirect(owner.Get(review), "/dashboard/confirm?then="+url.QueryEscape(review))
	owner.WantPrompt(owner.Post(path+"/retention", url.Values{"retention_days": {"1"}, "from_days": {"30"}, "from": {review}}),
		review)
}

// TestDashboardFormsAreBounded checks that posts with fields that no page has
// don't fill the disk, signed in or not.
func TestDashboardFormsAreBounded(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for path, browser := range map[string]*harness.StaffBrowser{
		"/dashboard/sign-in": h.SignedOut(), "/dashboard/test/settings/logo": h.SignedOut(),
		"/dashboard/test/settings": h.Staff(domain.RoleOwner),
	} {
		body := &largeFile{head: "--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"f\"\r\n\r\n", most: 32 << 20}
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, harness.BaseURL+path, body)
		r.Header.Set("Content-Type", "multipart/form-data; boundary=x")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		browser.Do(r)
		if body.sent > 8<<20 {
			t.Errorf("%s read %d bytes", path, body.sent)
		}
	}
}

// largeFile is a file that doesn't end before most bytes.
type largeFile struct {
	head       string
	sent, most int
}

func (f *largeFile) Read(p []byte) (int, error) {
	if f.sent > f.most {
		return 0, http.ErrBodyReadAfterClose
	}
	n := copy(p, f.head)
	f.head = f.head[n:]
	for i := n; i < len(p); i++ {
		p[i] = 'x'
	}
	f.sent += len(p)
	return len(p), nil
}
