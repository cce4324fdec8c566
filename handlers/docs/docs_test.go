package docs_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"candor/handlers/docs/samples"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
	"candor/static"
)

// TestReferenceHasEverything walks the API's document and the tables of events
// and errors: what they have is on the page, with its anchor and samples.
func TestReferenceHasEverything(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	page := get(h, "/docs/reference")
	code := map[string]string{}
	for _, b := range blocks(page) {
		code[b.id] = b.code
		if strings.TrimSpace(b.code) != b.code {
			t.Errorf("%s begins or ends with space: %q", b.id, b.code)
		}
	}
	wants := func(what, id string) {
		if !strings.Contains(page, `id="`+id+`"`) {
			t.Errorf("the reference has no %s: no id %q", what, id)
		}
	}
	doc := harness.Described.Load(t, h.Handler)
	for path, item := range doc.Paths.Map() {
		for method, o := range item.Operations() {
			wants(method+" "+path, o.OperationID)
			for _, p := range o.Parameters {
				wants("parameter of "+o.OperationID, o.OperationID+"-"+p.Value.Name)
			}
			if o.RequestBody != nil {
				for name := range o.RequestBody.Value.Content.Get("application/json").Schema.Value.Properties {
					wants("field of "+o.OperationID, o.OperationID+"-"+name)
				}
			}
			for _, language := range samples.All(samples.Request{}) {
				if got := code[o.OperationID+"-"+language.ID]; !strings.Contains(got, "CANDOR_API_KEY") || strings.Contains(got, "/{") {
					t.Errorf("%s in %s: %q", o.OperationID, language.Language, got)
				}
			}
			if success := o.Responses.Status(200); success != nil && success.Value.Content.Get("application/json") != nil &&
				!json.Valid([]byte(code[o.OperationID+"-response"])) {
				t.Errorf("%s has no example of its response", o.OperationID)
			}
		}
	}
	inFeed := doc.Components.Schemas["FeedEvent"].Value.Discriminator.Mapping
	for name, schema := range doc.Components.Schemas {
		if strings.HasSuffix(name, "Request") {
			continue
		}
		if event := schema.Value.Properties["event"]; event != nil && inFeed[fmt.Sprint(event.Value.Const)].Ref != "" {
			name = "FeedEvent" // which stands for all of them
		}
		wants("object", "object-"+name)
		for field := range schema.Value.Properties {
			wants("field of "+name, name+"-"+field)
		}
	}
	for name := range doc.Components.Headers {
		wants("header", "header-"+name)
	}
	for _, info := range domain.CodeTable {
		wants("error", "error-"+string(info.Code))
		if section := part(page, "error-"+string(info.Code)); !strings.Contains(section, "What to do:") ||
			!strings.Contains(code["error-"+string(info.Code)+"-body"], `"code": "`+string(info.Code)+`"`) {
			t.Errorf("%s isn't described:\n%s", info.Code, section)
		}
	}
	for _, info := range domain.EventTable {
		wants("event", "event-"+string(info.Type))
		if !json.Valid([]byte(code["event-"+string(info.Type)+"-body"])) {
			t.Errorf("%s has no example", info.Type)
		}
	}
}

var (
	anchors = regexp.MustCompile(` id="([^"]+)"`)
	hrefs   = regexp.MustCompile(` href="([^"]+)"`)
)

// TestLinksLead follows every link between the pages, every address of the search
// index, and that of each guide there is a file of.
func TestLinksLead(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	ids, links := map[string]bool{"/docs/listen.mjs": get(h, "/docs/listen.mjs") != ""}, map[string]string{}
	for _, path := range []string{"/docs", "/docs/guides", "/docs/reference", "/docs/changelog"} {
		page := get(h, path)
		ids[path] = true
		for _, m := range anchors.FindAllStringSubmatch(page, -1) {
			if ids[path+"#"+m[1]] {
				t.Errorf("%s has the id %q twice", path, m[1])
			}
			ids[path+"#"+m[1]] = true
		}
		for _, m := range hrefs.FindAllStringSubmatch(page, -1) {
			if strings.HasPrefix(m[1], "#") {
				m[1] = path + m[1]
			}
			links[m[1]] = path
		}
	}
	var index [][4]string
	h.OK(json.Unmarshal([]byte(get(h, "/docs/search.json")), &index))
	if len(index) < 200 {
		t.Errorf("the search knows only %d places", len(index))
	}
	for _, one := range index {
		links[one[2]] = "the search index"
	}
	files, err := filepath.Glob("guides/*.md")
	h.OK(err)
	for _, file := range files {
		if name := strings.TrimSuffix(filepath.Base(file), ".md"); name != "changelog" {
			links["/docs/guides#"+name] = file
		}
	}
	for link, from := range links {
		switch {
		case strings.HasPrefix(link, "/docs"):
			if path, _, _ := strings.Cut(link, "#"); strings.Contains(path, ".") {
				get(h, path)
			} else if !ids[link] {
				t.Errorf("%s leads to %s, which isn't there", from, link)
			}
		case strings.HasPrefix(link, "/dashboard"):
			if answer := h.Owner().Get(link); answer.Code != http.StatusOK && answer.Code != http.StatusSeeOther {
				t.Errorf("%s leads to %s: %d", from, link, answer.Code)
			}
		case strings.HasPrefix(link, "/"):
			get(h, link)
		}
	}
}

var (
	unread   = regexp.MustCompile(`(?s)<(pre|code|script)\b.*?</(pre|code|script)>|<[^>]*>`)
	straight = regexp.MustCompile(`\w*'\w+`)
)

func TestApostrophes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, path := range []string{"/docs", "/docs/guides", "/docs/reference", "/docs/changelog"} {
		text := html.UnescapeString(unread.ReplaceAllString(get(h, path), " "))
		for _, found := range straight.FindAllString(text, -1) {
			t.Errorf("%s: %q: people read ’", path, found)
		}
	}
}

// TestIndexBelow types the address with a slash at its end.
func TestIndexBelow(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	if answer := h.SignedOut().Get("/docs/"); answer.Code != http.StatusMovedPermanently || answer.Header().
		Get("Location") != "/docs" {
		t.Errorf("%d to %q", answer.Code, answer.Header().Get("Location"))
	}
}

// TestNothingBelow asks for a page that isn't there.
func TestNothingBelow(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	answer := h.Serve(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/docs/webhooks", nil))
	if answer.Code != http.StatusNotFound {
		t.Errorf("status %d, want 404", answer.Code)
	}
	page.Read(t, answer.Body.String()).Shows("This page can’t be shown", "There is nothing at this address.").
		LeadsTo("/docs", "/docs/guides", "/docs/reference")
}

// TestPublicPagesAreKept asks for each page again with its tag.
func TestPublicPagesAreKept(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	total := 0
	for _, path := range []string{"/docs", "/docs/guides", "/docs/reference", "/docs/changelog", "/docs/search.json",
		"/docs/guides/webhooks.md"} {
		ask := func(tag string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, harness.BaseURL+path, nil)
			r.Header.Set("Accept-Encoding", "gzip")
			r.Header.Set("If-None-Match", tag)
			return h.Serve(r)
		}
		first := ask("")
		t.Logf("%s: %d bytes compressed", path, first.Body.Len())
		total += first.Body.Len()
		if first.Code != http.StatusOK || first.Header().Get("Cache-Control") != "public, no-cache" || first.Header().
			Get("Content-Encoding") != "gzip" {
			t.Errorf("%s: %d, %v", path, first.Code, first.Header())
		}
		if again := ask(first.Header().Get("ETag")); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s with its tag: %d and %d bytes", path, again.Code, again.Body.Len())
		}
	}
	for _, name := range []string{"docs.css", "docs.js"} {
		var b bytes.Buffer
		w := gzip.NewWriter(&b)
		_, err := w.Write([]byte(get(h, static.URL(name))))
		h.OK(err)
		h.OK(w.Close())
		t.Logf("%s: %d bytes compressed", name, b.Len())
		total += b.Len()
	}
	if most := 110 << 10; total > most {
		t.Errorf("all of the documentation is %d bytes compressed, want at most %d", total, most)
	}
}

// secret is an endpoint's secret, not its prefix alone.
var secret = regexp.MustCompile(`whsec_\w{8}`)

// TestStaffSeeTheirOwn reads the reference as staff who are signed in.
func TestStaffSeeTheirOwn(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	live := h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{})
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	key := h.Account.TestKey
	owner := h.Owner()
	owner.WantPage(owner.Get("/dashboard/test/keys"), http.StatusOK).LeadsTo("/docs")
	for role, sees := range map[domain.Role]bool{domain.RoleOwner: true, domain.RoleDeveloper: true, domain.RoleSupport: false} {
		staff := h.Staff(role)
		staff.WantPage(staff.Get("/docs"), http.StatusOK, "You are signed in to Lender & Sons")
		answer := staff.Get("/docs/reference")
		page := answer.Body.String()
		if got := answer.Header().Get("Cache-Control"); answer.Code != http.StatusOK || got != "private, no-store" ||
			answer.Header().Get("ETag") != "" {
			t.Errorf("%s: %d, Cache-Control %q", role, answer.Code, got)
		}
		if hint := "candor_test_…" + key[len(key)-4:]; strings.Contains(page, hint) != sees {
			t.Errorf("%s sees the key's end: %t, want %t", role, !sees, sees)
		}
		if strings.Contains(page, key) || strings.Contains(page, live.ID.String()) || secret.MatchString(page) {
			t.Errorf("%s: the page has a secret or something of live mode", role)
		}
		if !strings.Contains(page, "/v1/sessions/"+session.ID.String()+"/data") {
			t.Errorf("%s: the samples don't have the newest test session", role)
		}
	}
	answer := h.SignedOut().Get("/docs/reference")
	if strings.Contains(answer.Body.String(), session.ID.String()) || !slices.Contains(answer.Header().Values("Vary"),
		"Cookie, Accept") {
		t.Errorf("signed out, the page is someone's own: %v", answer.Header())
	}
}

// TestErrorsLeadToTheDocs follows error.doc_url of an answer, of a kept one, and
// of the document's examples; GET /v1 leads to the docs, too.
func TestErrorsLeadToTheDocs(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	page := get(h, "/docs/reference")
	leads := func(what, code, link string) {
		path, anchor, _ := strings.Cut(link, "#")
		if path != harness.BaseURL+"/docs/reference" || anchor != "error-"+code || !strings.Contains(page, `id="`+anchor+`"`) {
			t.Errorf("%s of %s leads to %q", what, code, link)
		}
	}
	linkOf := func(a harness.Answer) string {
		link, _ := a.Object()["error"].(map[string]any)["doc_url"].(string)
		return link
	}
	leads("an answer", "invalid_email", linkOf(h.PostOnce("once", `{"form_type":"financial_statement","customer_email":"x"}`)))
	leads("a kept answer", "invalid_email", linkOf(h.PostOnce("once", `{"form_type":"financial_statement","customer_email":"x"}`)))
	leads("an unknown address", "not_found", linkOf(h.Get("/nothing")))
	for code, example := range harness.Described.Load(t, h.Handler).Components.Examples {
		link, _ := example.Value.Value.(map[string]any)["error"].(map[string]any)["doc_url"].(string)
		leads("the example", code, link)
	}
	if got := h.Do(harness.Call{Method: http.MethodGet, Key: harness.NoKey}).WantStatus(http.StatusOK).
		Object(); got["docs"] != harness.BaseURL+"/docs" {
		t.Errorf("GET /v1: %v", got)
	}
}
