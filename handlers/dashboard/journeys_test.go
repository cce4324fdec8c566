package dashboard_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/service/webhooks"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/testkit/page"
	"candor/internal/webhook"
)

// A journey is what a person of a lender comes for, from Home to where it is done. Most is
// how many clicks it may take.
type journey struct {
	what string
	most int
	walk func(*walker)
}

// A walker follows the links and presses the buttons of the pages, and counts. Typing, and
// what is chosen in a form, aren't clicks; a box that is ticked or a part that is unfolded is
// counted on its own.
type walker struct {
	*harness.StaffBrowser
	world                *journeys
	page                 *page.Page // nil for a file
	path, file           string
	typed                url.Values
	clicks, loads, ticks int
}

// home begins, or begins again.
func (w *walker) home(mode string) {
	w.Helper()
	w.path = "/dashboard/" + mode
	w.page = w.WantPage(w.Get(w.path), http.StatusOK)
}

// arrive takes the answer to a click.
func (w *walker) arrive(path string, answer *httptest.ResponseRecorder) {
	w.Helper()
	if to := answer.Header().Get("Location"); answer.Code == http.StatusSeeOther {
		path, answer = to, w.Get(to)
	}
	if answer.Code != http.StatusOK {
		w.Fatalf("%s answers %d: %.1000s", path, answer.Code, answer.Body)
	}
	w.path, w.page, w.file, w.typed = path, nil, "", url.Values{}
	if !strings.HasPrefix(answer.Header().Get("Content-Type"), "text/html") {
		w.file = answer.Body.String()
		return
	}
	w.loads++
	w.page = page.Read(w, answer.Body.String())
}

// follow clicks the link with that name.
func (w *walker) follow(name string) {
	w.Helper()
	w.clicks++
	path, _, _ := strings.Cut(w.page.Link(name), "#")
	w.arrive(path, w.Get(path))
}

// find types into the search field, and clicks what that offers first.
func (w *walker) find(text string) {
	w.Helper()
	w.clicks++
	mode := strings.Split(w.path, "/")[2]
	for _, a := range typed(w.StaffBrowser, mode, text).All("a") {
		w.arrive(a.Attr("href"), w.Get(a.Attr("href")))
		return
	}
	w.Fatalf("%q finds nothing", text)
}

// fill types into a field of the page.
func (w *walker) fill(name, value string) {
	w.Helper()
	w.page.Offers(name)
	w.typed.Add(name, value)
}

// tick ticks a box of the page.
func (w *walker) tick(name, value string) {
	w.Helper()
	w.fill(name, value)
	w.ticks++
}

// unfold opens the part with that summary.
func (w *walker) unfold(name string) {
	w.Helper()
	w.ticks++
	if !slices.ContainsFunc(w.page.All("summary"), func(s *page.Page) bool { return s.Text() == name }) {
		w.Fatalf("the page has no %q to unfold", name)
	}
}

// press presses the button with that name.
func (w *walker) press(name string) {
	w.Helper()
	w.clicks++
	form, values := w.page.Pressed(name, slices.Collect(maps.Keys(w.typed))...)
	for field, typed := range w.typed {
		values[field] = typed
	}
	if form.Method == http.MethodGet {
		w.arrive(form.Action, w.Get(form.Action+"?"+values.Encode()))
		return
	}
	w.arrive(form.Action, w.Post(form.Action, values))
}

// journeys is what the journeys find there.
type journeys struct {
	*harness.Harness
	owner           *harness.StaffBrowser
	ann, craig, mia *domain.Session // completed; in progress, with a link that ends soon; of live mode
}

func newJourneys(t *testing.T) *journeys {
	t.Helper()
	h, _ := newLogged(t, withTestEvents(t))
	w := &journeys{Harness: h}
	outage := newOutageWalk(t, h)
	outage.down.Store(http.StatusServiceUnavailable)
	outage.events(4)
	two := 2
	w.ann = h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Ann Lee", ReferenceID: "LOAN-2026-00417"})
	h.Complete(w.ann.ID)
	h.StorePDF(w.ann.ID, harness.PDFOf(2000))
	w.craig = h.NewSession(h.TestScope(), domain.NewSession{CustomerName: "Craig Wang", ExpiresInDays: &two})
	h.Open(w.craig.ID)
	for _, name := range statement.SectionNames[:4] {
		h.Fill(w.craig.ID, name)
	}
	w.mia = h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true},
		domain.NewSession{CustomerName: "Mia Tran", CustomerEmail: "mia@customer.example"})
	name := "CRM"
	_, err := h.Service.Webhooks.CreateEndpoint(t.Context(), h.TestScope(), nil, harness.Operator,
		webhooks.EndpointParams{URL: &outage.hook.URL, Description: &name})
	h.OK(err)
	for _, name := range []string{"Loan system", "Portal"} {
		_, _, err = h.Service.Keys.Create(t.Context(), h.TestScope(), harness.Operator, keys.Params{Name: name})
		h.OK(err)
	}
	logCalls(h, w.ann.ID)
	h.Mailbox()
	w.owner = h.Owner()
	w.owner.Post("/dashboard/live/sessions/"+w.mia.ID.String()+"/email", url.Values{"sends": {"0"}})
	h.AwaitLinkEmails()
	outage.quiet()
	return w
}

// of are the journeys of customers, then those of what is around them.
func allJourneys() []journey { return append(customerJourneys(), officeJourneys()...) }

func customerJourneys() []journey {
	return []journey{
		{"Find a customer by name, phone, or end of a reference", 3, func(w *walker) {
			for _, text := range []string{"craig wa", "0491 570 156", "0417"} {
				w.home("test")
				w.clicks, w.loads = 0, 0
				w.find(text)
				w.page.Offers("Copy session id")
			}
		}},
		{"See what is missing, and which section is next", 3, func(w *walker) {
			w.find("craig")
			w.page.Shows("4 of 7 sections finished. Next: ")
		}},
		{"Extend links that end soon and are past section 4", 3, func(w *walker) {
			w.follow("1 with at least 4 sections")
			w.tick("session", w.world.craig.ID.String())
			w.press("Extend")
			w.page.Shows("Links extended: 1")
		}},
		{"Send a link again", 3, func(w *walker) {
			w.home("live")
			w.find("mia tran")
			w.press("Send again")
			w.page.Shows("is being emailed")
		}},
		{"Renew a link", 3, func(w *walker) {
			w.find("craig")
			w.unfold("Renew link…")
			w.press("Renew link")
			w.page.Shows("Link renewed")
		}},
		{"Cancel a session, and undo that", 3, func(w *walker) {
			w.find("craig")
			w.unfold("Cancel this session…")
			w.press("Cancel session")
			w.press("Undo")
			w.page.Shows("In progress").Offers("Cancel session")
		}},
		{"Read what a customer answered", 3, func(w *walker) {
			w.find("ann lee")
			w.follow("Read answers")
			w.page.Shows("Net worth")
		}},
		{"Download the PDF", 3, func(w *walker) {
			w.find("ann lee")
			w.follow("Download PDF")
			if !strings.HasPrefix(w.file, "%PDF") {
				w.Errorf("the file is %.20q", w.file)
			}
		}},
		{"Ask a customer again for one section", 3, func(w *walker) {
			w.find("ann lee")
			w.follow("Ask again")
			w.tick("ask", statement.DocumentsSection)
			w.fill("note-documents", "The June payslip is missing a page.")
			w.press("Create session")
			w.page.Shows("The June payslip is missing a page.")
		}},
		{"See where customers stop", 3, func(w *walker) { w.page.Shows("Where customers stop", "Most frequent error") }},
		{"Export the list as CSV", 3, func(w *walker) {
			w.follow("Sessions")
			w.follow("Export as CSV")
			if !strings.Contains(w.file, "Craig Wang") {
				w.Errorf("the file is %.200q", w.file)
			}
		}},
	}
}

func officeJourneys() []journey {
	return []journey{
		{"Retry everything after an outage", 2, func(w *walker) {
			w.follow("Open outage")
			w.press("Send everything undelivered now")
			w.page.Shows("Retry started")
		}},
		{"See why one webhook failed, and its body", 3, func(w *walker) {
			w.follow("Show deliveries")
			w.follow(string(domain.SessionPDFReady))
			w.page.Shows("503 Service Unavailable", `"sequence"`)
		}},
		{"Send a test event", 3, func(w *walker) {
			w.follow("Webhooks")
			w.follow("CRM")
			w.press("Send test event")
			w.page.Shows("Response", "503")
		}},
		{"Pause an endpoint", 3, func(w *walker) {
			w.follow("Webhooks")
			w.follow("CRM")
			w.press("Pause")
			w.page.Offers("Resume")
		}},
		{"See an API request as curl", 3, func(w *walker) {
			w.follow("API requests")
			w.follow("GET /v1/sessions")
			w.page.Shows("curl http")
		}},
		{"Restrict a key", 3, func(w *walker) {
			w.find("loan system")
			w.fill("access", "restricted")
			w.tick("permissions", string(domain.AllPermissions[0]))
			w.press("Save")
			w.page.Shows("May ")
		}},
		{"Rotate a key", 3, func(w *walker) {
			w.follow("API keys")
			w.follow("Portal")
			w.press("Rotate key")
			w.page.Shows("Copy your API key")
		}},
		{"Invite a colleague", 3, func(w *walker) {
			w.follow("Team")
			w.fill("email", "new@lender.example")
			w.fill("role", "support")
			w.press("Send invitation")
			w.page.Shows("new@lender.example")
		}},
		{"Change the spend cap", 3, func(w *walker) {
			w.home("live")
			w.follow("Billing")
			w.fill("spend_cap", "500")
			w.press("Save")
			w.page.Shows("Spend cap and alerts saved")
		}},
		{"See who did what", 3, func(w *walker) {
			w.follow("Audit log")
			w.page.Shows("Who", "To what")
		}},
	}
}

// TestJourneys walks what staff of a lender come for, from Home: none takes more than three
// clicks, and doc/benchmarks.md says how many.
func TestJourneys(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	world := newJourneys(t)
	var table strings.Builder
	for _, j := range allJourneys() {
		t.Run(j.what, func(t *testing.T) {
			browser := *world.owner
			browser.Harness = world.In(t)
			w := &walker{StaffBrowser: &browser, world: world, typed: url.Values{}}
			w.home("test")
			j.walk(w)
			if w.clicks > j.most {
				t.Errorf("%d clicks, want at most %d", w.clicks, j.most)
			}
			fmt.Fprintf(&table, "| %s | %d | %d | %d |\n", j.what, w.clicks, w.ticks, w.loads)
		})
	}
	doc, err := os.ReadFile("../../doc/benchmarks.md")
	world.OK(err)
	if !strings.Contains(string(doc), table.String()) {
		t.Errorf("doc/benchmarks.md has another table than\n%s", &table)
	}
}

// TestFromSignUpToAWebhook: twelve clicks at most lead from sign-up to a webhook whose
// signature the developer's server has verified.
func TestFromSignUpToAWebhook(t *testing.T) {
	t.Parallel()
	h := harness.New(t, withTestEvents(t))
	hook, m := hooktest.NewReceiver(t, nil), h.Mailbox()
	w := &walker{StaffBrowser: h.SignedOut()}
	w.arrive("/dashboard/sign-in", w.Get("/dashboard/sign-in"))
	w.follow("Create an account")
	for name, typed := range map[string]string{"company": "Harbour Lending", "name": "Sam Taylor", "email": "sam@harbour.example",
		"new_password": harness.GoodPassword} {
		w.fill(name, typed)
	}
	w.press("Create account")
	link := m.Link(m.Email("sam@harbour.example", "Confirm your email address"))
	w.clicks++
	w.arrive(link, w.Get(link))
	w.fill("password", harness.GoodPassword)
	w.press("Create account")
	w.follow("Open the quickstart")
	w.press("Create test key")
	_, key, _ := strings.Cut(w.page.Shows("This key is shown only now.").Copies("Copy"), "CANDOR_API_KEY=")
	h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: strings.TrimSpace(key), Body: harness.ValidBody}).
		WantStatus(http.StatusCreated)
	w.follow("add its URL")
	w.fill("url", hook.URL)
	w.press("Save URL")
	w.press("Show secret")
	secret := w.page.Copies("Copy secret")
	w.follow("Webhook settings")
	w.press("Send test event")
	w.page.Shows("200 OK")
	got := hook.Requests()[0]
	if want := webhook.Signature(secret, got.Body); !strings.Contains(got.Header.Get("X-Webhook-Signature"), want) {
		t.Errorf("the signature %q is not of the secret, which makes %q", got.Header.Get("X-Webhook-Signature"), want)
	}
	if w.clicks > 12 {
		t.Errorf("%d clicks", w.clicks)
	}
}
