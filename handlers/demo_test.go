package handlers_test

import (
	"bytes"
	"fmt"
	"image/png"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/billing"
	"candor/internal/demo"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/servicetest"
	"candor/internal/testkit/signtest"
	"candor/views/pdf"
)

// TestBrowserDemoPartner makes up a partner and looks at it as its owner does. With
// -pictures it makes one as large as `make seed` does, and draws every page of
// the dashboard and the README's pictures.
func TestBrowserDemoPartner(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h, base := harness.Listen(t)
	fonts, err := pdf.LoadFonts("")
	h.OK(err)
	signer := signtest.New(t, signtest.ECDSA(t)).Signer(t)
	runner := billing.Runner{DB: h.DB, Provider: billing.Manual{}, Logger: h.Service.Logger,
		Ledger: &billing.Ledger{Events: h.Service.Outbox, Terms: h.Service.Billing.Ledger.Terms}}
	services := func(clock domain.Clock) *demo.Services {
		h.OK(runner.Run(t.Context(), harness.StartTime)) // as a worker does that runs beside it
		s := servicesOfDemo(h, clock)
		s.Signer = signer
		return s
	}
	n := 60
	if browsertest.Pictures() {
		n = demo.Sessions
	}
	p, err := demo.Fill(t.Context(), services, fonts, harness.StartTime, n)
	h.OK(err)
	if _, err := demo.Fill(t.Context(), services, fonts, harness.StartTime, n); err != demo.ErrSeeded { //nolint:errorlint // it is that very one
		t.Errorf("filled again: %v, want ErrSeeded", err)
	}
	h.CountFigures()
	demoAddsUp(h, p)
	token, _, err := h.Service.StaffAuth.SignIn(t.Context(), p.Team[0].Email, demo.Password, domain.Visitor{IPAddress: "192.0.2.1"})
	h.OK(err)
	owner := &harness.StaffBrowser{Harness: h, Cookies: map[string]string{"candor_staff": token}}
	var pages []string // of live mode
	for _, mode := range []string{"test", "live"} {
		ids := demoIDs(h, p.Account, mode == "live")
		for _, route := range harness.RoutesOf(handlers.Staff) {
			path := strings.Replace(route.Path, ":mode", mode, 1)
			for name, id := range ids {
				path = strings.Replace(path, name, id, 1)
			}
			if strings.HasSuffix(path, "settings/retention") {
				path += "?retention_days=30"
			}
			if strings.HasSuffix(path, "/search") {
				path += "?q=a"
			}
			if route.Method == http.MethodGet && route.AnswersHead() && !strings.Contains(path, ":") &&
				!strings.HasSuffix(path, "/receipt") {
				answer := owner.Get(path)
				if answer.Code != http.StatusOK {
					t.Errorf("GET %s: %d\n%.500s", path, answer.Code, answer.Body)
				}
				if mode == "live" && strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
					pages = append(pages, path)
				}
			}
		}
	}
	suitsAPhone(t, base, owner, pages)
	if browsertest.Pictures() {
		drawDemo(h, t, base, p)
	}
}

// suitsAPhone fails unless the pages fit a phone with all their folds open, links and
// buttons in their tables are large enough for a thumb, and axe finds nothing.
func suitsAPhone(t *testing.T, base string, owner *harness.StaffBrowser, pages []string) {
	t.Helper()
	if len(pages) < 29 {
		t.Errorf("%d pages", len(pages))
	}
	tab := browsertest.New(t, browsertest.Options{Device: browsertest.Phone})
	tab.SetCookies(base, owner.Cookies)
	for _, path := range pages {
		t.Run(path, func(t *testing.T) {
			page := tab.In(t)
			page.Open(base + path)
			page.Unfolded(func() {
				page.FitsWidth()
				page.TableTargets()
				page.Axe()
			})
			page.NoErrors()
		})
	}
}

// signedInToDemo is a tab in which the demo partner's owner is signed in.
func signedInToDemo(h *harness.Harness, base string, p *demo.Partner, options browsertest.Options) *browsertest.Tab {
	h.Helper()
	tab := browsertest.New(h, options)
	tab.Open(base + "/dashboard/sign-in")
	tab.Screenshot("demo/sign-in")
	tab.Type("#email", p.Team[0].Email)
	tab.Type("#password", demo.Password)
	tab.Click("main .button-primary")
	tab.WaitForText("h1", "Home")
	return tab
}

// servicesOfDemo are the bench's use cases with another clock.
func servicesOfDemo(h *harness.Harness, clock domain.Clock) *demo.Services {
	config := h.Service.Config
	config.Clock = clock
	s := servicetest.New(config)
	return &demo.Services{
		DB: s.DB, Ring: s.Ring, Vault: s.Vault, BaseURL: s.BaseURL, Terms: s.Terms,
		Accounts: s.Accounts, Auth: s.StaffAuth, Keys: s.Keys, Sessions: s.Sessions, Team: s.Team, Webhooks: s.Webhooks,
	}
}

// demoAddsUp fails unless what is counted beside the sessions says the same as
// they do, and each event has its number and its delivery.
func demoAddsUp(h *harness.Harness, p *demo.Partner) {
	h.Helper()
	for what, query := range map[string]string{
		"sessions that are counted by day": `
			SELECT (SELECT count(*) FROM session WHERE account_id = $1) - (SELECT sum(created) FROM session_count WHERE account_id = $1)`,
		"sessions that are counted as completed": `
			SELECT (SELECT count(*) FROM session WHERE account_id = $1 AND status = 'completed') - (SELECT sum(completed)
				FROM session_count WHERE account_id = $1)`,
		"forms that are counted as completed": `
			SELECT (SELECT count(*) FROM session WHERE account_id = $1 AND status = 'completed')
				- (SELECT sum(completed) FROM form_count WHERE account_id = $1 AND section = '')`,
		"sections that are counted as reached, with what was erased": `
			SELECT (SELECT count(*) FROM section JOIN session ON id = session_id WHERE account_id = $1) + (SELECT sum(sections)
				FROM erasure WHERE account_id = $1)
				- (SELECT sum(reached) FROM form_count WHERE account_id = $1 AND section <> '')`,
		"live sessions that are used up": `
			SELECT (SELECT count(*) FROM session WHERE account_id = $1 AND livemode) - (SELECT sum(sessions) FROM subscription_usage
				WHERE account_id = $1)`,
		"events and the last number of each mode": `
			SELECT (SELECT count(*) FROM event WHERE account_id = $1) - (SELECT sum(last) FROM event_sequence WHERE account_id = $1)`,
		"events out of order": `
			SELECT count(*) FROM event a JOIN event b USING (account_id, livemode) WHERE account_id = $1 AND b.sequence = a.sequence + 1
				AND b.created_at < a.created_at`,
		"events and deliveries, but for what was erased": `
			SELECT (SELECT count(*) FROM event WHERE account_id = $1) - (SELECT count(*) FROM delivery WHERE account_id = $1)
				- (SELECT sum(deliveries) FROM erasure WHERE account_id = $1)`,
		"deliveries and attempts": `SELECT (SELECT sum(attempts_total) FROM delivery WHERE account_id = $1) - (SELECT count(*) FROM delivery_attempt)`,
		"completed sessions without a PDF, but for the one that was erased": `
			SELECT count(*) - 1 FROM session LEFT JOIN statement_pdf ON id = session_id WHERE account_id = $1 AND status = 'completed'
				AND session_id IS NULL`,
		"PDFs that aren't signed":                      `SELECT count(*) FROM statement_pdf JOIN session ON id = session_id WHERE account_id = $1 AND pdf_signer IS NULL`,
		"invoices that aren't by a seller with an ABN": `SELECT count(*) FROM invoice WHERE account_id = $1 AND coalesce(seller->>'abn', '') = ''`,
		"receipts for erased data, but for the one":    `SELECT count(*) - 1 FROM erasure WHERE account_id = $1`,
		"what happened after now": `
			SELECT (SELECT count(*) FROM event WHERE created_at > $2) + (SELECT count(*) FROM session WHERE created_at > $2
				OR completed_at > $2 OR last_activity_at > $2)
				+ (SELECT count(*) FROM audit_log WHERE account_id = $1 AND at > $2) + (SELECT count(*) FROM delivery_attempt
					WHERE started_at > $2)`,
		"attempts that aren't counted": `
			SELECT greatest(0, (SELECT count(*) FROM delivery_attempt JOIN delivery ON id = delivery_id WHERE account_id = $1)
				- (SELECT coalesce(sum(attempts), 0) FROM endpoint_day JOIN webhook_endpoint ON id = endpoint_id WHERE account_id = $1))`,
		"successes that aren't counted": `
			SELECT greatest(0, (SELECT count(*) FROM delivery WHERE account_id = $1 AND state = 'delivered')
				- (SELECT coalesce(sum(delivered), 0) FROM endpoint_day JOIN webhook_endpoint ON id = endpoint_id WHERE account_id = $1))`,
		"outages that go on after an answer": `
			SELECT count(*) FROM outage o WHERE account_id = $1 AND EXISTS (
				SELECT FROM delivery d JOIN delivery_attempt a ON a.delivery_id = d.id WHERE d.endpoint_id = o.endpoint_id
					AND a.error_class IS NULL AND a.started_at > o.last_failure_at AND a.started_at < o.answered_at)`,
		"networks that used a key last before they did first": `SELECT count(*) FROM api_key_network JOIN api_key ON id = key_id WHERE account_id = $1 AND last_at < first_at`,
		"networks and the log of API requests": `
			SELECT (SELECT count(*) FROM api_request WHERE account_id = $1) - (SELECT sum(requests) FROM api_key_network
				JOIN api_key ON id = key_id WHERE account_id = $1)`,
		"keys whose last use isn't their networks'": `
			SELECT count(*) FROM api_key k WHERE account_id = $1
				AND last_used_at IS DISTINCT FROM (SELECT date_trunc('minute', max(last_at)) FROM api_key_network WHERE key_id = k.id)`,
		"open sessions past their end": `SELECT count(*) FROM session WHERE account_id = $1 AND status IN ('pending', 'in_progress') AND expires_at <= $2`,
	} {
		args := []any{p.Account}
		if strings.Contains(query, "$2") {
			args = append(args, harness.StartTime)
		}
		var off int
		h.OK(h.DB.Raw().GetContext(h.Context(), &off, query, args...))
		if off != 0 {
			h.Errorf("%s: off by %d, want 0", what, off)
		}
	}
}

// demoIDs are objects for the ids in the dashboard's paths.
func demoIDs(h *harness.Harness, account domain.AccountID, live bool) map[string]string {
	h.Helper()
	var session domain.SessionID
	h.OK(h.DB.Raw().GetContext(h.Context(), &session, `
		SELECT session.id FROM session JOIN document ON session_id = session.id
		WHERE account_id = $1 AND livemode = $2 AND status = 'completed' AND webhook_url IS NULL
		ORDER BY completed_at DESC, document.id LIMIT 1`, account, live))
	documents, err := h.DB.Documents(h.Context(), session)
	h.OK(err)
	deliveries, err := h.DB.Deliveries(h.Context(), session)
	h.OK(err)
	var request domain.RequestID
	h.OK(h.DB.Raw().GetContext(h.Context(), &request,
		`SELECT id FROM api_request WHERE account_id = $1 AND livemode = $2 ORDER BY id DESC LIMIT 1`, account, live))
	return map[string]string{
		":invoice": harness.QueryOne[domain.InvoiceID](h, `SELECT id FROM invoice WHERE account_id = $1 ORDER BY number DESC LIMIT 1`,
			account).String(),
		":session": session.String(), ":document": documents[0].ID.String(), ":delivery": deliveries[0].ID.String(),
		":request": request.String(),
		":event":   deliveries[0].EventID.String(),
		":outage": harness.QueryOne[domain.OutageID](h,
			`SELECT id FROM outage WHERE account_id = $1 AND livemode = $2 ORDER BY started_at DESC LIMIT 1`, account, live).String(),
		":endpoint": harness.QueryOne[domain.EndpointID](h,
			`SELECT id FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND is_default`, account, live).String(),
		":key": harness.QueryOne[domain.KeyID](h,
			`SELECT id FROM api_key WHERE account_id = $1 AND livemode = $2 AND deleted_at IS NULL ORDER BY id DESC LIMIT 1`, account,
			live).String(),
	}
}

// drawDemo draws every page of the dashboard over the demo partner.
func drawDemo(h *harness.Harness, t *testing.T, base string, p *demo.Partner) {
	ids := demoIDs(h, p.Account, true)
	session := func(where string) string {
		return "sessions/" + harness.QueryOne[domain.SessionID](h, `SELECT id FROM session WHERE account_id = $1 AND livemode AND `+
			where+` ORDER BY created_at DESC LIMIT 1`, p.Account).String()
	}
	failed := harness.QueryOne[domain.DeliveryID](h,
		`SELECT id FROM delivery WHERE account_id = $1 AND livemode AND state = 'failed' ORDER BY sequence DESC LIMIT 1`,
		p.Account).String()
	over := harness.QueryOne[domain.OutageID](h, `SELECT id FROM outage WHERE account_id = $1 AND livemode
		ORDER BY last_sequence - first_sequence DESC LIMIT 1`, p.Account).String()
	refused := harness.QueryOne[domain.RequestID](h,
		`SELECT id FROM api_request WHERE account_id = $1 AND livemode AND error_code <> '' ORDER BY id DESC LIMIT 1`,
		p.Account).String()
	pages := []struct{ name, path string }{
		{"search", "search?q=an"}, {"quickstart", "quickstart"}, {"event", "events/" + ids[":event"]}, {"key", "keys/" + ids[":key"]},
		{"key-leaked", "keys/" + ids[":key"] + "/leaked"},
		{"invoice", "billing/invoices/" + ids[":invoice"]}, {"sessions-none", "sessions?q=xyzzy"},
		{"audit-reads", "audit?action=session.data_read"},
		{"home", ""}, {"sessions", "sessions"}, {"sessions-completed", "sessions?status=completed"},
		{"session-completed", "sessions/" + ids[":session"]},
		{"session-open", session("status = 'in_progress' AND sections_completed > 2")},
		{"session-pending", session("status = 'pending'")},
		{"session-expired", session("status = 'expired'")}, {"session-cancelled",
			session("status = 'cancelled' AND data_erased_at IS NULL")},
		{"session-erased", session("data_erased_at IS NOT NULL")}, {"session-erase", "sessions/" + ids[":session"] + "/erase"},
		{"session-new", "sessions/new"},
		{"session-answers", "sessions/" + ids[":session"] + "/answers"}, {"figures", "figures"},
		{"figures-member", "figures?from=1+September+2026&by=metadata.product"},
		{"sessions-columns", "sessions?columns=customer,state,activity,ends&sort=ends"},
		{"webhooks", "webhooks"}, {"webhooks-failed", "webhooks?state=failed"}, {"webhook-settings", "webhooks/settings"},
		{"outage", "webhooks/outages/" + ids[":outage"]}, {"outage-over", "webhooks/outages/" + over},
		{"endpoint", "webhooks/endpoints/" + ids[":endpoint"]}, {"endpoint-new", "webhooks/endpoints/new"},
		{"company-sign-in", "settings/sign-in"},
		{"events", "events"}, {"delivery", "webhooks/deliveries/" + ids[":delivery"]},
		{"delivery-failed", "webhooks/deliveries/" + failed}, {"verify", "webhooks/verify"}, {"redeliveries", "webhooks/redeliveries"},
		{"keys", "keys"}, {"key-new", "keys/new"}, {"requests", "requests"}, {"requests-errors", "requests?status=4"},
		{"request", "requests/" + refused},
		{"billing", "billing"}, {"billing-plan", "billing/plan?plan=starter"}, {"billing-cancel", "billing/cancel"}, {"team", "team"},
		{"audit", "audit"}, {"settings", "settings"}, {"retention", "settings/retention?retention_days=30"}, {"me", "me"},
	}
	for _, look := range harness.Looks() {
		tab := signedInToDemo(h, base, p, look)
		for _, page := range pages {
			tab.Open(base + strings.TrimSuffix("/dashboard/live/"+page.path, "/"))
			tab.Screenshot("demo/" + page.name)
			tab.FitsWidth()
			if page.name == "home" && look.Device == browsertest.Desktop && !look.Dark {
				tab.Picture("doc/images/dashboard.webp")
			}
		}
		tab.Open(base + "/dashboard/test")
		tab.Screenshot("demo/home-test")
	}
	drawForm(h, t, base, p)
	drawPDF(h, ids[":session"])
}

// drawForm draws the form as the demo partner's customer sees it half-way.
func drawForm(h *harness.Harness, t *testing.T, base string, p *demo.Partner) {
	id := harness.QueryOne[domain.SessionID](h, `
		SELECT id FROM session WHERE account_id = $1 AND livemode AND status = 'in_progress' AND sections_completed = 3
			ORDER BY created_at DESC LIMIT 1`, p.Account)
	tab := browsertest.New(t, browsertest.Options{})
	tab.Open(base + strings.TrimPrefix(h.Service.Sessions.URL(&domain.Session{ID: id}, true), harness.BaseURL))
	tab.Screenshot("demo/form")
	tab.Picture("doc/images/form.webp")
}

// drawPDF draws the first page of a session's PDF.
func drawPDF(h *harness.Harness, session string) {
	h.Helper()
	id, err := domain.ParseSessionID(session)
	h.OK(err)
	content, err := h.Service.Vault.PDF(h.Context(), h.DB, id)
	h.OK(err)
	draw := exec.CommandContext(h.Context(), "pdftoppm", "-png", "-r", "84", "-f", "1", "-l", "1", "-singlefile", "-")
	draw.Stdin = bytes.NewReader(content)
	drawn, err := draw.Output()
	h.OK(err)
	page, err := png.Decode(bytes.NewReader(drawn))
	h.OK(err)
	var small bytes.Buffer
	h.OK((&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&small, page))
	h.OK(os.WriteFile(filepath.Join("..", "doc", "images", "statement.png"), small.Bytes(), 0o644))
	if small.Len() > 120<<10 {
		h.Error(fmt.Errorf("the picture of the PDF has %d bytes, want at most 120 KiB", small.Len()))
	}
}
