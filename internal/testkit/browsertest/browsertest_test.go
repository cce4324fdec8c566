package browsertest

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"candor/internal/testkit"
)

func TestMain(m *testing.M) { os.Exit(Main(m)) }

const goodPage = `<!doctype html><html lang="en"><head><title>Good</title><link rel="icon" href="/icon"></head>
<body><main><h1>Good</h1><form action="/posted" method="post" enctype="multipart/form-data">
<label>Name <input name="name" value="before"></label>
<label>File <input type="file" name="file"></label>
<label>State <select name="state"><option>NSW</option><option>VIC</option></select></label>
<button>Send</button></form></main></body></html>`

// serve starts a server that answers / with body under a strict policy, and
// /posted with what was posted.
func serve(t *testing.T, body string) string {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("Content-Security-Policy", "default-src 'self'")
		fmt.Fprint(w, body)
	})
	mux.HandleFunc("GET /icon", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("GET /moving.css", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/css")
		fmt.Fprint(w,
			`@keyframes move { to { transform: translateY(600px) } } .moving { animation: move .3s linear 2 alternate } .cover { position: fixed; inset: 0 }`)
	})
	mux.HandleFunc("GET /leaving", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w,
			`<!doctype html><title>Leaving</title><link rel="icon" href="/icon"><script>const leave = () => { location.href = "/"; }</script>`)
	})
	mux.HandleFunc("POST /posted", func(w http.ResponseWriter, r *http.Request) {
		_, header, err := r.FormFile("file")
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<link rel="icon" href="/icon"><body>name=%s state=%s file=%s`, r.FormValue("name"), r.FormValue("state"),
			header.Filename)
	})
	server := testkit.Serve(t, mux)
	return server.URL
}

func TestBrowserTabFillsAndPostsAForm(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{{}, {Device: Desktop, Dark: true}, {NoScript: true}} {
		t.Run(fmt.Sprintf("%+v", options), func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "payslip.pdf")
			if err := os.WriteFile(file, []byte("%PDF-1.7"), 0o600); err != nil {
				t.Fatal(err)
			}
			url := serve(t, goodPage)
			tab := New(t, options)
			tab.Open(url)
			if !options.NoScript {
				tab.Axe()
			}
			wide, dark := options.Device == Desktop, options.Dark
			if Eval[bool](tab, "innerWidth === 1280") != wide ||
				Eval[bool](tab, "matchMedia('(prefers-color-scheme: dark)').matches") != dark {
				t.Error("the tab has another width or colour scheme")
			}
			tab.FitsWidth()
			tab.Type("input[name=name]", "Łukasz")
			tab.Select("select", "VIC")
			tab.Upload("input[type=file]", file)
			tab.Click("button")
			tab.WaitForText("body", "name=Łukasz state=VIC file=payslip.pdf")
			if got := tab.URL(); !strings.HasSuffix(got, "/posted") {
				t.Errorf("URL after the post = %s, want …/posted", got)
			}
			tab.Back()
			if got := tab.Title(); got != "Good" {
				t.Errorf("title after going back = %q, want Good", got)
			}
		})
	}
}

// complaints keeps a tab's failures instead of failing the test.
type complaints struct {
	testing.TB
	errors []string
}

func (c *complaints) Errorf(format string, args ...any) {
	c.errors = append(c.errors, fmt.Sprintf(format, args...))
}

func (c *complaints) Error(args ...any) { c.errors = append(c.errors, fmt.Sprint(args...)) }

func TestBrowserTabReportsWhatIsWrong(t *testing.T) {
	t.Parallel()
	const wrap = `<!doctype html><html lang="en"><head><title>Bad</title><link rel="icon" href="/icon">%s</head><body><main><h1>Bad</h1>%s</main></body></html>`
	cases := map[string]struct{ head, body, want string }{
		"inline script": {body: `<script>var a</script>`, want: "Content-Security-Policy violation"},
		"inline style":  {body: `<p style="color:red">x</p>`, want: "Content-Security-Policy violation"},
		"missing file":  {head: `<link rel="stylesheet" href="/gone.css">`, want: "status of 404"},
		"unlabelled":    {body: `<input>`, want: "axe: Form elements must have labels"},
		"low contrast": {head: `<meta name="viewport" content="width=device-width">`,
			body: `<p><font color="#cccccc">pale</font></p>`, want: "axe: Elements must meet minimum color contrast"},
		"sticks out":      {body: `<table width="2000"><tr><td>wide</table>`, want: "wider than the window"},
		"heading skipped": {body: `<h4>deep</h4>`, want: "axe: Heading levels"},
	}
	reported := &complaints{TB: t}
	tab := New(reported, Options{})
	for name, c := range cases {
		reported.errors = nil
		tab.Open(serve(t, fmt.Sprintf(wrap, c.head, c.body)))
		tab.Axe()
		tab.FitsWidth()
		tab.NoErrors()
		if all := strings.Join(reported.errors, "\n"); !strings.Contains(all, c.want) {
			t.Errorf("%s: complaints = %q, want one with %q", name, all, c.want)
		}
	}
}

// TestBrowserReplacedElements: a page that puts new elements in the place of its own all the
// time can be read and typed into.
func TestBrowserReplacedElements(t *testing.T) {
	t.Parallel()
	tab := New(t, Options{})
	tab.Open(serve(t, goodPage))
	Eval[bool](tab, `(() => {
		const renew = () => { const h1 = document.querySelector("h1"); h1.replaceWith(h1.cloneNode(true)); setTimeout(renew) };
		renew();
		return true;
	})()`)
	for range 100 {
		if got := tab.Text("h1"); got != "Good" {
			t.Fatalf("the heading is %q", got)
		}
	}
}

func TestBrowserTabReportsExceptions(t *testing.T) {
	t.Parallel()
	url := serve(t, goodPage)
	reported := &complaints{TB: t}
	tab := New(reported, Options{})
	tab.Open(url)
	Eval[bool](tab, "setTimeout(() => { throw new Error('boom') }), new Promise(r => setTimeout(() => r(true), 5))")
	tab.NoErrors()
	if all := strings.Join(reported.errors, "\n"); !strings.Contains(all, "boom") {
		t.Errorf("complaints = %q, want the exception", all)
	}
}

// TestBrowserWaitsWhilePagesChange: a page that is left never answers what it was asked
// last. That is nothing but a wait for the next page.
func TestBrowserWaitsWhilePagesChange(t *testing.T) {
	t.Parallel()
	url := serve(t, goodPage)
	tab := New(t, Options{})
	tab.Open(url + "/leaving")
	ask := `document.title === "Good" ? "arrived" : new Promise(leave)`
	if got, ok := tab.poll(ask, func(got string) bool { return got == "arrived" }); !ok {
		t.Errorf("the next page was never asked; the last answer is %q", got)
	}
}

func TestBrowserTabAcceptsDialogs(t *testing.T) {
	t.Parallel()
	url := serve(t, goodPage)
	tab := New(t, Options{})
	tab.Open(url)
	if !Eval[bool](tab, "confirm('Really?')") {
		t.Error("the question was answered with Cancel, want OK")
	}
	if got := tab.WaitForDialog(); got != "Really?" {
		t.Errorf("dialog = %q, want Really?", got)
	}
}

// TestBrowserClickWaitsForTheElement clicks what moves at first, with script and
// without.
func TestBrowserClickWaitsForTheElement(t *testing.T) {
	t.Parallel()
	for _, options := range []Options{{}, {NoScript: true}} {
		t.Run(fmt.Sprintf("%+v", options), func(t *testing.T) {
			t.Parallel()
			url := serve(t, `<!doctype html><html lang="en"><head><title>Moving</title><link rel="icon" href="/icon"><link rel="stylesheet" href="/moving.css"></head>
<body><main><h1>Moving</h1><form action="/posted" method="post" enctype="multipart/form-data"><input type="file" name="file"><button>Send</button></form></main></body></html>`)
			file := filepath.Join(t.TempDir(), "payslip.pdf")
			if err := os.WriteFile(file, []byte("%PDF-1.7"), 0o600); err != nil {
				t.Fatal(err)
			}
			tab := New(t, options)
			tab.Open(url)
			tab.Upload("input", file)
			Eval[bool](tab, "document.querySelector('button').className = 'moving', true")
			tab.Click("button")
			tab.WaitForText("body", "file=payslip.pdf")
		})
	}
}

func TestBrowserClickSaysWhatCovers(t *testing.T) {
	t.Parallel()
	url := serve(t, `<!doctype html><html lang="en"><head><title>Covered</title><link rel="icon" href="/icon"><link rel="stylesheet" href="/moving.css"></head>
<body><main><h1>Covered</h1><button id="under">Send</button><label><input type="checkbox" id="box"> <span>Box</span></label></main><div class="cover" id="cover"></div></body></html>`)
	tab := New(t, Options{})
	tab.Open(url)
	for selector, want := range map[string]string{"#under": `is covered by <div class="cover" id="cover">`, "#gone": "isn't there"} {
		got, err := tab.spot(tab.ctx, selector)
		if err != nil || !strings.Contains(got.Problem, want) {
			t.Errorf("%s: %q, %v; want %q", selector, got.Problem, err, want)
		}
	}
	Eval[bool](tab, "document.getElementById('cover').remove(), true")
	if got, err := tab.spot(tab.ctx, "#under"); err != nil || got.Problem != "" {
		t.Errorf("uncovered: %q, %v", got.Problem, err)
	}
}

// TestBrowserUnreadableFindsWhatCannotBeRead: text that leaves its box, is cut off, lies over
// other text or widens the page is found, each by itself.
func TestBrowserUnreadableFindsWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	tab := New(t, Options{})
	tab.Open(serve(t, `<!doctype html><html lang="en"><head><title>Text</title><link rel="icon" href="/icon"></head>
<body><main><h1>Text</h1><div id="outer"><p id="first">One <b>line</b> of text</p></div><p id="second">Another line</p></main></body></html>`))
	if got := tab.Unreadable(); len(got) > 0 {
		t.Errorf("a plain page: %q", got)
	}
	for style, want := range map[string]string{
		`outer.style.height = "5px", outer.style.overflow = "hidden"`:    "cut off by div#outer: One",
		`first.style.width = "9px", first.style.whiteSpace = "nowrap"`:   "leaves its box p#first: ",
		`second.style.marginTop = "-35px"`:                               "lies over: ",
		`first.style.width = "999px", first.style.textAlign = "right"`:   "scrolls sideways",
		`second.style.width = "1px", second.style.overflowX = "scroll"`:  "cut off by p#second: ",
		`outer.style.height = "0", outer.style.overflow = "clip", first`: "cut off by div#outer: line",
	} {
		tab.Reload()
		Eval[any](tab, style+", true")
		if got := strings.Join(tab.Unreadable(), "\n"); !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", style, got, want)
		}
	}
}

// unnamed is a test whose name doesn't begin with TestBrowser.
type unnamed struct{ testing.TB }

func (unnamed) Name() string { return "TestPages/phone" }

func (unnamed) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }

func TestTabsAreOfBrowserTests(t *testing.T) {
	t.Parallel()
	defer func() {
		const want = "TestPages opens a browser: rename it to TestBrowserPages"
		if got := fmt.Sprint(recover()); !strings.Contains(got, want) {
			t.Errorf("the tab says %q, want %q", got, want)
		}
	}()
	New(unnamed{t}, Options{})
}

// TestBrowserTabChangesItsLook: what fits at a desk and not on a phone is found by looking
// at it as it is there, and by the rules that are asked for alone.
func TestBrowserTabChangesItsLook(t *testing.T) {
	t.Parallel()
	reported := &complaints{TB: t}
	tab := New(reported, Options{})
	tab.Open(serve(t, `<!doctype html><html lang="en"><head><title>Wide</title><link rel="icon" href="/icon"><meta name="viewport" content="width=device-width"></head>
<body><main><h1>Wide</h1><input><table width="600"><tr><td>wide</table></main></body></html>`))
	const look = "[innerWidth, matchMedia('(prefers-color-scheme: dark)').matches].join()"
	tab.As(Desktop, true, func() {
		if got := Eval[string](tab, look); got != "1280,true" {
			t.Errorf("at a desk in the dark the page has %s", got)
		}
		tab.FitsWidth()
		tab.Axe(LookRules...)
	})
	if len(reported.errors) > 0 {
		t.Errorf("at a desk: %q", reported.errors)
	}
	if got := Eval[string](tab, look); !strings.HasSuffix(got, ",false") {
		t.Errorf("afterwards the page has %s", got)
	}
	tab.FitsWidth()
	tab.Axe()
	if all := strings.Join(reported.errors, "\n"); !strings.Contains(all, "wider than the window") ||
		!strings.Contains(all, "must have labels") {
		t.Errorf("on a phone: %q", all)
	}
}
