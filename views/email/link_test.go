package email_test

import (
	"encoding/base64"
	"image/color"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/views/email"
	"candor/views/i18n"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// TestLinkEmails: each email with a link has the same text and links as text and as HTML in
// each language, loads nothing but its own logo, and a hostile name makes no markup and no
// link (D103).
func TestLinkEmails(t *testing.T) {
	t.Parallel()
	const url, stop = "https://candor.example/f/sess_1/b0.x", "https://candor.example/f/sess_1/reminders/y"
	logo, width, height, colour := "a.png", 480, 96, "ffe600"
	hostile, name := `Jo <b>&"`, "pay at www.evil.example"
	partner := &domain.Account{Name: `Harbour <i>&"`, BrandColour: &colour, LogoName: &logo, LogoWidth: &width, LogoHeight: &height,
		TimeZone: "Australia/Sydney"}
	session := &domain.Session{Status: domain.InProgress, CustomerName: &hostile, ExpiresAt: time.Date(2026, 12, 20, 13, 30, 0,
		0, time.UTC)}
	subjects := map[string]bool{}
	for _, language := range domain.Languages {
		for _, kind := range []domain.LinkEmailKind{domain.LinkItself, domain.LinkUnopened1, domain.LinkUnfinished1,
			domain.LinkEnding} {
			ctx := i18n.At(i18n.In(t.Context(), language), partner.Zone())
			parts := email.LinkParts{Partner: partner, Session: session, Kind: kind, Section: "Assets", URL: url, StopURL: stop}
			e := email.Link(ctx, parts)
			subjects[e.Subject] = true
			html, err := e.HTML()
			if err != nil {
				t.Fatal(err)
			}
			text := e.Text()
			reminder := kind != domain.LinkItself
			if !strings.Contains(text, url) || !strings.Contains(html, `href="`+url+`"`) || strings.Contains(text, stop) != reminder ||
				strings.Contains(html, `href="`+stop+`"`) != reminder {
				t.Errorf("%s, %s: the links differ:\n%s\n%s", language, kind, text, html)
			}
			if strings.Contains(html, "<i>") || strings.Contains(html, "<b>") || strings.Count(html, "src=") != 1 ||
				!strings.Contains(html, `src="cid:logo"`) || strings.Contains(html, "url(") {
				t.Errorf("%s, %s: markup of a name, or something is loaded:\n%s", language, kind, html)
			}
			if strings.ContainsAny(text, "$%") || strings.Contains(text, "AUD") {
				t.Errorf("%s, %s: money is told:\n%s", language, kind, text)
			}
			if !strings.Contains(text, hostile) || !strings.Contains(text, i18n.MomentOf(ctx, session.ExpiresAt)) {
				t.Errorf("%s, %s: no name or no date:\n%s", language, kind, text)
			}
			session := *session
			session.CustomerName = &name
			parts.Session = &session
			if strings.Contains(email.Link(ctx, parts).Text(), "evil") {
				t.Errorf("%s, %s: the customer’s name is a link", language, kind)
			}
		}
	}
	if len(subjects) != 12 {
		t.Errorf("%d subjects, want 12: %v", len(subjects), subjects)
	}
}

// TestBrowserLinkEmails looks at the link's email and a reminder on a phone, light and dark, in
// each language. With -pictures it draws them.
func TestBrowserLinkEmails(t *testing.T) {
	t.Parallel()
	const url = "https://candor.example/f/sess_01kx2v8p9fe0pvr4y8m3n5t6qz/b0.7Nq0aXk2TzWmVb4cYdR8eQ"
	logo, width, height, colour, help := "a.png", 240, 48, "ffe600", "help@harbour.example"
	partner := &domain.Account{Name: "Harbour Lending", BrandColour: &colour, LogoName: &logo, LogoWidth: &width,
		LogoHeight: &height, TimeZone: "Australia/Sydney", HelpEmail: &help}
	name := "Mai Nguyen"
	session := &domain.Session{Status: domain.InProgress, CustomerName: &name,
		ExpiresAt: time.Date(2026, 12, 20, 13, 30, 0, 0, time.UTC)}
	picture := "data:image/png;base64," + base64.StdEncoding.EncodeToString([]byte(harness.Drawing(t, width, height, color.Black)))
	server := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		language, kind, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
		ctx := i18n.At(i18n.In(r.Context(), domain.Language(language)), partner.Zone())
		html, err := email.Link(ctx, email.LinkParts{Partner: partner, Session: session, Kind: domain.LinkEmailKind(kind),
			Section: "Assets", URL: url, StopURL: url}).HTML()
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte(strings.ReplaceAll(html, "cid:logo", picture)))
	}))
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Phone})
	for _, language := range domain.Languages {
		for _, kind := range []domain.LinkEmailKind{domain.LinkItself, domain.LinkUnfinished1} {
			tab.Open(server.URL + "/" + string(language) + "/" + string(kind))
			for _, dark := range []bool{false, true} {
				tab.Dark(dark)
				tab.Screenshot("views/emails/" + string(language) + "-" + string(kind))
				tab.Axe(slices.Concat(browsertest.TextRules, browsertest.LookRules)...)
				if wide := browsertest.Eval[bool](tab, "document.documentElement.scrollWidth > innerWidth"); wide {
					t.Errorf("%s, %s: wider than the phone", language, kind)
				}
			}
		}
	}
	tab.NoErrors()
}
