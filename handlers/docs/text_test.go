package docs_test

import (
	"encoding/xml"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/page"
	"candor/internal/webhook"
)

// fetch asks for a path with an Accept header.
func fetch(h *harness.Harness, path, accept string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(h.Context(), http.MethodGet, harness.BaseURL+path, nil)
	r.Header.Set("Accept", accept)
	return h.Serve(r)
}

var (
	heading = regexp.MustCompile(`(?s)<h[1-4][ >].*?</h[1-4]>`)
	fenced  = regexp.MustCompile("(?s)```.*?```|`[^`\n]*`")
	tag     = regexp.MustCompile(`</?[a-z][^>]*>`)
)

// TestPagesAreMarkdown reads each page as Markdown, by its address and by Accept: it has
// every heading and every piece of code of the page, and no markup.
func TestPagesAreMarkdown(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for _, path := range []string{"/docs", "/docs/guides", "/docs/reference", "/docs/changelog"} {
		asked, named := fetch(h, path, "text/markdown, text/html, */*"), fetch(h, path+".md", "*/*")
		text := named.Body.String()
		contentType := named.Header().Get("Content-Type")
		if asked.Code != http.StatusOK || asked.Body.String() != text || contentType != "text/markdown; charset=utf-8" {
			t.Errorf("%s as Markdown: %d, %v", path, asked.Code, named.Header())
		}
		browser := fetch(h, path, "text/html,application/xhtml+xml,*/*;q=0.8")
		for _, answer := range []*httptest.ResponseRecorder{asked, browser} {
			vary := strings.Join(answer.Header().Values("Vary"), ",")
			if !strings.Contains(vary, "Accept,") || !strings.Contains(vary, "Cookie") {
				t.Errorf("%s: Vary is %q", path, vary)
			}
		}
		html := browser.Body.String()
		for _, one := range heading.FindAllString(html, -1) {
			if words := page.Read(t, one).Text(); !strings.Contains(strings.ReplaceAll(text, "`", ""), "# "+words) {
				t.Errorf("%s.md has no heading %q", path, words)
			}
		}
		for _, b := range blocks(html) {
			code := strings.TrimSpace(b.code)
			if !strings.Contains(text, code) && !strings.Contains(strings.ReplaceAll(text, "\n   ", "\n"), code) {
				t.Errorf("%s.md doesn't have the code %s", path, b.id)
			}
		}
		if found := tag.FindString(fenced.ReplaceAllString(text, "")); found != "" {
			t.Errorf("%s.md has the markup %q", path, found)
		}
		t.Logf("%s.md: %d bytes", path, len(text))
	}
	const guide = "/docs/guides/sdks"
	if got := fetch(h, guide, "text/markdown"); got.Code != http.StatusOK || got.Body.String() != get(h, guide+".md") {
		t.Errorf("a guide by Accept: %d, %v", got.Code, got.Header())
	}
	if got := fetch(h, guide, "text/html"); got.Code != http.StatusFound || got.Header().Get("Location") != "/docs/guides#sdks" {
		t.Errorf("a guide's address in a browser: %d, %v", got.Code, got.Header())
	}
}

var linked = regexp.MustCompile(`\[[^]]+\]\(` + regexp.QuoteMeta(harness.BaseURL) + `([^)#]*)`)

// TestLLMsText follows every link of llms.txt, and looks for what they lead to in
// llms-full.txt.
func TestLLMsText(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	text, full := get(h, "/llms.txt"), get(h, "/llms-full.txt")
	if !regexp.MustCompile(`\A# Candor\n\n> [^\n]+\n`).MatchString(text) {
		t.Errorf("llms.txt begins with:\n%.300s", text)
	}
	links := linked.FindAllStringSubmatch(text, -1)
	for _, link := range links {
		answer := fetch(h, link[1], "*/*")
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d", link[1], answer.Code)
		}
		title, _, _ := strings.Cut(answer.Body.String(), "\n")
		if strings.HasSuffix(link[1], ".md") && !strings.Contains(full, title+"\n") {
			t.Errorf("llms-full.txt doesn't have %q", title)
		}
	}
	if len(links) < 16 {
		t.Errorf("llms.txt has %d links", len(links))
	}
}

// TestChangelogFeed reads the changelog's feed as a feed reader does.
func TestChangelogFeed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var feed struct {
		XMLName xml.Name `xml:"http://www.w3.org/2005/Atom feed"`
		ID      string   `xml:"id"`
		Updated string   `xml:"updated"`
		Entries []struct {
			Title   string `xml:"title"`
			Updated string `xml:"updated"`
			Content string `xml:"content"`
			Link    struct {
				Href string `xml:"href,attr"`
			} `xml:"link"`
		} `xml:"entry"`
	}
	answer := fetch(h, "/docs/changelog.atom", "*/*")
	h.OK(xml.Unmarshal(answer.Body.Bytes(), &feed))
	shown := get(h, "/docs/changelog")
	before := time.Now().AddDate(100, 0, 0)
	for _, one := range feed.Entries {
		at, err := time.Parse(time.RFC3339, one.Updated)
		if err != nil || !at.Before(before) || one.Content == "" {
			t.Errorf("%s of %s (%v) isn't older than the entry before", one.Title, one.Updated, err)
		}
		before = at
		_, anchor, _ := strings.Cut(one.Link.Href, "#")
		if !strings.Contains(shown, `id="`+anchor+`"`) || !strings.Contains(shown, one.Title) {
			t.Errorf("%s leads to %s, which isn't there", one.Title, one.Link.Href)
		}
	}
	if len(feed.Entries) < 2 || feed.Updated != feed.Entries[0].Updated {
		t.Errorf("%d entries, updated %s", len(feed.Entries), feed.Updated)
	}
}

// TestStatusesAreListed compares the guide's tables with the states that there are.
func TestStatusesAreListed(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	guide := get(h, "/docs/guides/statuses.md")
	for title, all := range map[string][]string{
		"Sessions": domain.Status("").Enum(), "Webhook deliveries": domain.DeliveryState("").Enum(),
		"Subscriptions": domain.SubscriptionStatus("").Enum(), "Emailed links": domain.LinkEmailState("").Enum(),
		"Webhook endpoints": domain.Health("").Enum(),
	} {
		_, part, _ := strings.Cut(guide, "\n## "+title+"\n")
		part, _, _ = strings.Cut(part, "\n## ")
		for _, one := range all {
			if !strings.Contains(part, "`"+one+"`") {
				t.Errorf("%s lacks %s", title, one)
			}
		}
		if rows := strings.Count(part, "\n| `"); title != "Sessions" && rows != len(all) {
			t.Errorf("%s has %d rows, want %d", title, rows, len(all))
		}
	}
}

// TestLimitsAreConfigured changes a limit: the guide says it.
func TestLimitsAreConfigured(t *testing.T) {
	t.Parallel()
	h := harness.New(t, func(c *handlers.Config) {
		c.Rate.PerMinute, c.Rate.Burst = 123, 456
		c.Schedule, _ = webhook.ParseSchedule("0s,3m,7h")
	})
	text := get(h, "/docs/guides/limits.md") + get(h, "/docs/guides/webhooks.md")
	for _, want := range []string{
		"| requests | 123 a minute for each account and mode, in bursts of up to 456 |",
		"| attempts of a webhook | 3 |",
		"3 attempts in all; the waits between them are 3 minutes and 7 hours",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in:\n%s", want, text)
		}
	}
}
