package fuzz

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
)

// A visit is a browser on a page: a customer's or a staff user's.
type visit struct {
	root string // where it starts again
	at   string
	body string // of the page there
	do   func(*http.Request) *httptest.ResponseRecorder
}

// visitForm opens the link of a new session.
func (f *fuzzer) visitForm() *visit {
	customer := f.Customer(f.NewSession(f.TestScope(), domain.NewSession{}))
	return &visit{root: customer.Path(""), do: customer.Send}
}

// visitDashboard signs a staff user in.
func (f *fuzzer) visitDashboard() *visit {
	staff := f.StaffOf(f.other, pick(f.rng, []domain.Role{domain.RoleOwner, domain.RoleOwner, domain.RoleDeveloper,
		domain.RoleSupport}))
	return &visit{root: "/dashboard/" + pick(f.rng, []string{"test", "live"}), do: staff.Do}
}

// step follows a link of the page, sends one of its forms, or goes somewhere by
// its address.
func (f *fuzzer) step(v *visit) {
	if v.body == "" || chance(f.rng, 5) {
		f.open(v, http.MethodGet, v.root, "", "")
	}
	shown := page.Read(f.TB, v.body)
	forms := shown.Forms()
	switch links := shown.Leads(prefixOf(v.root)); {
	case len(forms) > 0 && chance(f.rng, 60):
		f.submit(v, pick(f.rng, forms))
	case len(links) > 0 && chance(f.rng, 85):
		f.open(v, http.MethodGet, pick(f.rng, links), "", "")
	default:
		f.open(v, http.MethodGet, f.somewhere(v), "", "")
	}
}

// prefixOf is what all addresses of an application begin with.
func prefixOf(root string) string { return root[:strings.Index(root[1:], "/")+2] }

// somewhere is the address of a route, with odd parts.
func (f *fuzzer) somewhere(v *visit) string {
	class := handlers.Staff
	if strings.HasPrefix(v.root, "/f/") {
		class = handlers.Customer
	}
	route := pick(f.rng, harness.RoutesOf(class))
	var parts []string
	for part := range strings.SplitSeq(route.Path, "/") {
		switch {
		case part == ":mode":
			part = "test"
		case part == ":session" && class == handlers.Customer:
			part = strings.Split(v.root, "/")[2]
		case strings.HasPrefix(part, ":"):
			part = url.PathEscape(pick(f.rng, append(oddTexts, f.ids["sess"]...)))
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "/") + "?" + url.Values{pick(f.rng, []string{"before", "q", "status", "from", "then",
		"lang"}): {pick(f.rng, oddTexts)}}.Encode()
}

// submit sends a form: some values as they stand, some that its fields offer, some
// that none would take.
func (f *fuzzer) submit(v *visit, form page.Form) {
	values := form.Values()
	for _, name := range sorted(form.Fields) {
		switch field := form.Fields[name]; {
		case chance(f.rng, 40):
		case len(field.Choices) > 0 && chance(f.rng, 85):
			values[name] = []string{pick(f.rng, field.Choices)}
			if chance(f.rng, 30) {
				values.Add(name, pick(f.rng, field.Choices))
			}
		case chance(f.rng, 60):
			values.Set(name, pick(f.rng, []string{"12", "1985", "1,234.56", "jo@lender.example", "Jo Citizen", "2026-11-20", "2000",
				"0412 345 678", harness.GoodPassword, "https://lender.example/hook"}))
		default:
			values.Set(name, pick(f.rng, oddTexts))
		}
	}
	if chance(f.rng, 10) {
		name := pick(f.rng, append(sorted(values), "x"))
		values[strings.NewReplacer("0", "49", "1", "-1").Replace(name)+pick(f.rng, []string{"", ".0", "[]", "\x00"})] = []string{
			pick(f.rng, oddTexts)}
	}
	if len(form.Buttons) > 0 {
		for name, value := range pick(f.rng, form.Buttons) {
			values[name] = value
		}
	}
	address := form.Action
	if address == "" {
		address = v.at
	}
	switch {
	case form.Method == http.MethodGet:
		address, _, _ = strings.Cut(address, "?")
		f.open(v, http.MethodGet, address+"?"+values.Encode(), "", "")
	case form.File:
		contentType, body := f.multipart(values)
		f.open(v, http.MethodPost, address, contentType, body)
	default:
		f.open(v, http.MethodPost, address, "application/x-www-form-urlencoded", values.Encode())
	}
}

func (f *fuzzer) multipart(values url.Values) (contentType, body string) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	for name, all := range values {
		for _, value := range all {
			f.OK(w.WriteField(name, value))
		}
	}
	part, err := w.CreateFormFile("file", pick(f.rng, []string{"payslip.pdf", "a.png", "../x", "\u202e.pdf", ""}))
	f.OK(err)
	_, err = part.Write(pick(f.rng, [][]byte{harness.PDFOf(100), harness.PDFOf(70_000), []byte("\x89PNG\r\n\x1a\n"),
		[]byte("<svg/>"), nil}))
	f.OK(err)
	f.OK(w.Close())
	return w.FormDataContentType(), b.String()
}

// open sends a request as the browser does, follows where it leads, and fails the
// test on a fault of ours.
func (f *fuzzer) open(v *visit, method, address, contentType, body string) {
	what := fmt.Sprintf("%s %.300s %.900q", method, address, body)
	for range 5 {
		target, err := url.Parse(harness.BaseURL + address)
		if err != nil || strings.HasSuffix(target.Path, "/sign-out") {
			return
		}
		r := httptest.NewRequestWithContext(f.Context(), method, "/", strings.NewReader(body))
		r.URL, r.RequestURI = target, address
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Origin", harness.BaseURL)
		if contentType != "" {
			r.Header.Set("Content-Type", contentType)
		}
		if chance(f.rng, 30) {
			r.Header.Set("Hx-Request", "true")
		}
		f.requests++
		answer := v.do(r)
		switch code := answer.Code; {
		case code >= http.StatusInternalServerError || code < http.StatusOK:
			f.differs(what, "status %d: %.500s", code, answer.Body)
			return
		case code == http.StatusSeeOther:
			method, body, contentType = http.MethodGet, "", ""
			address = answer.Header().Get("Location")
			if !strings.HasPrefix(address, "/") {
				return
			}
			continue
		}
		if strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
			v.at, v.body = address, answer.Body.String()
			f.wellFormed(what, v.body)
		}
		return
	}
	f.differs(what, "it leads on and on, last to %s", address)
}

// wellFormed fails unless the page's text has no trace of a fault.
func (f *fuzzer) wellFormed(what, body string) {
	for _, trace := range []string{"%!", "<script>alert(1)", "onerror=alert(1)>", "runtime error", "panic:"} {
		if strings.Contains(body, trace) {
			f.differs(what, "the page shows %q", trace)
		}
	}
}
