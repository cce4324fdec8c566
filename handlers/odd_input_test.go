package handlers_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	tokens "go/token"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/platform/ratelimit"
	"candor/internal/service/staff/auth"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
	"candor/internal/testkit/hooktest"
	"candor/internal/webhook"
)

// An oddCase says which fields a route of the dashboard reads, each with a
// value that it takes, so that an odd one beside them comes as far as it can.
type oddCase struct {
	fields string // as in a query; names in braces are ids of walkObjects
	as     func(*oddHarness) *harness.StaffBrowser
	first  func(*oddHarness, *harness.StaffBrowser) // before each request
}

// oddCases are the routes that read fields.
var oddCases = map[string]oddCase{
	"GET /dashboard/:mode/sessions/new":   {fields: "like={session}&days=7"},
	"GET /dashboard/:mode/figures":        {fields: "from=2026-11-01&to=2026-11-20&by=documents"},
	"GET /dashboard/:mode/figures/export": {fields: "from=2026-11-01&to=2026-11-20&by=documents&of=states"},
	"GET /dashboard/:mode/sessions": {
		fields: "q=jo@customer.example&status=pending&from=2026-11-01&to=2026-11-20&before={session}&newest={session}&sort=oldest&at=2026-11-20T00:00:00Z&columns=state&figure=way%3Dapi&progress=opened"},
	"POST /dashboard/:mode/sessions/views":        {fields: "name=Mine&query=status%3Dpending"},
	"POST /dashboard/:mode/sessions/views/delete": {fields: "name=Mine"},
	"POST /dashboard/:mode/sessions/chosen":       {fields: "session={session}&do=extend&days=30&ends={session}+2026-12-20T00:00:00Z&back=/dashboard/test/sessions"},
	"GET /dashboard/:mode/search":                 {fields: "q=jo"},
	"GET /dashboard/:mode/sessions/export":        {fields: "q=LOAN-1&status=pending&from=2026-11-01&to=2026-11-20"},
	"POST /dashboard/:mode/sessions": {
		fields: "customer_email=jo@customer.example&customer_name=Jo&reference_id=LOAN-1&return_url=https://lender.example/&expires_in_days=30&language=en-AU&like={session}&prefill_from=on&ask=income&note-income=Again&deliver=email&remind=on"},
	"GET /dashboard/:mode/sessions/:session":         {fields: "days=60"},
	"POST /dashboard/:mode/sessions/:session/extend": {fields: "days=60&more=7"},
	"POST /dashboard/:mode/sessions/:session/email":  {fields: "sends=0"},
	"POST /dashboard/:mode/sessions/:session/erase":  {fields: "sessions={session}&confirm=jo@customer.example"},
	"GET /dashboard/:mode/webhooks": {
		fields: "state=failed&type=session.created&status=timeout&endpoint={endpoint}&session={session}&from=2026-11-01&to=2026-11-20&before=9"},
	"POST /dashboard/:mode/webhooks/url": {fields: "url=https://lender.example/hook"},
	"POST /dashboard/:mode/webhooks/endpoints": {
		fields: "url=https://lender.example/hook&description=CRM&event_types=session.expired"},
	"POST /dashboard/:mode/webhooks/test":    {fields: "url={receiver}&type=session.expired"},
	"GET /dashboard/:mode/events":            {fields: "q={event}&type=session.created&before=9"},
	"GET /dashboard/:mode/webhooks/settings": {fields: "type=session.expired"},
	"GET /dashboard/:mode/webhooks/verify":   {fields: "in=go"},
	"GET /dashboard/:mode/webhooks/redeliveries": {
		fields: "preview=1&state=failing&since=2026-11-01&until=2026-11-20&endpoint={endpoint}&type=session.created&status=timeout&rate=10"},
	"POST /dashboard/:mode/webhooks/redeliveries": {
		fields: "state=failing&since=2026-11-01&until=2026-11-20&endpoint={endpoint}&type=session.created&status=timeout&rate=10"},
	"POST /dashboard/:mode/keys": {
		fields: "name=Loans&access=restricted&permissions=sessions:read&expires_at=2026-12-31&networks=203.0.113.0/24"},
	"POST /dashboard/:mode/keys/:key/change": {
		fields: "name=Loans&access=restricted&permissions=sessions:read&expires_at=2026-12-31&networks=203.0.113.0/24"},
	"POST /dashboard/:mode/keys/:key/rotate": {fields: "overlap=1h"},
	"POST /dashboard/:mode/keys/:key/delete": {fields: "typed_name=Unknown"},
	"GET /dashboard/:mode/requests": {
		fields: "id={request}&key={key}&method=GET&status=404&code=not_found&from=2026-11-01&to=2026-11-20&before={request}"},
	"GET /dashboard/:mode/audit": {
		fields: "who=Theirs&action=api_key.created&from=2026-11-01&to=2026-11-20&before={audit}"},
	"GET /dashboard/:mode/audit/export": {fields: "who=Theirs&action=api_key.created&from=2026-11-01&to=2026-11-20"},
	"POST /dashboard/:mode/settings": {
		fields: "name=Lender&help_email=help@lender.example&help_phone=1300+123+456&money_help=Hardship+team&money_help_url=https://lender.example/help&next_steps=We+call+you&receipt_email=true&brand_colour=b0241c"},
	"POST /dashboard/:mode/settings/brand":   {fields: "name=Lender&brand_colour=b0241c"},
	"POST /dashboard/:mode/settings/preview": {fields: "name=Lender&brand_colour=b0241c"},
	"POST /dashboard/:mode/settings/forms": {
		fields: "help_email=help@lender.example&help_phone=1300+123+456&money_help=Hardship+team&money_help_url=https://lender.example/help&next_steps=We+call+you&receipt_email=true&languages=vi&default_expires_in_days=7"},
	"POST /dashboard/:mode/settings/time-zone": {fields: "time_zone=Australia/Perth"},
	"POST /dashboard/:mode/settings/two-step":  {fields: "of=everyone"},
	"GET /dashboard/:mode/settings/retention":  {fields: "retention_days=30"},
	"POST /dashboard/:mode/settings/retention": {fields: "retention_days=30&from_days=90"},
	"GET /dashboard/:mode/team":                {fields: "email=jo@lender.example&role=support"},
	"POST /dashboard/:mode/settings/sign-in": {fields: "issuer=https://192.0.2.1&client_id=candor&client_secret=x&default_role=support" +
		"&groups_claim=groups&group_roles=Lending=support&trusts_email=true"},
	"POST /dashboard/:mode/settings/sign-in/only":           {fields: "of=company&keep=usr_01h455vb4pex5vsknk084sn02q"},
	"POST /dashboard/:mode/settings/sign-in/domains":        {fields: "domain=lender.com"},
	"POST /dashboard/:mode/settings/sign-in/domains/check":  {fields: "domain=lender.com"},
	"POST /dashboard/:mode/settings/sign-in/domains/remove": {fields: "domain=lender.com"},

	"POST /dashboard/:mode/team":             {fields: "email=jo@lender.example&role=support&may_download=yes"},
	"POST /dashboard/:mode/ask":              {fields: "for=webhooks"},
	"POST /dashboard/:mode/team/:staff/role": {fields: "role=support&may_download=yes"},
	"GET /dashboard/:mode/live":              {fields: "on=session,delivery&session={session}&since=1770000000000&every=2"},
	"GET /dashboard/:mode/billing":           {fields: "before=9"},
	"POST /dashboard/:mode/billing/email":    {fields: "billing_email=jo@lender.example"},
	"POST /dashboard/:mode/billing/details": {
		fields: "buyer_name=Lender+Pty+Ltd&abn=51+824+753+556&address=1+High+St&purchase_order=PO-7"},
	"POST /dashboard/:mode/billing/spend":     {fields: "spend_cap=500&alert_1=100&alert_2=250&alert_3=&stop_now=yes"},
	"POST /dashboard/:mode/billing/subscribe": {fields: "plan=starter"},
	"GET /dashboard/:mode/billing/plan":       {fields: "plan=starter"},
	"POST /dashboard/:mode/billing/plan":      {fields: "plan=starter"},
	"POST /dashboard/:mode/billing/cancel": {fields: "when=end&reason=Too+dear",
		first: posts("/dashboard/test/billing/reactivate")},
	"POST /dashboard/:mode/me/emails":    {fields: "webhooks=on&keys=on"},
	"POST /dashboard/:mode/me/name":      {fields: "name=Jo"},
	"POST /dashboard/:mode/me/shortcuts": {fields: "keys=off&back=/dashboard/live"},
	"POST /dashboard/:mode/me/theme":     {fields: "theme=dark&back=/dashboard/live"},
	"POST /dashboard/:mode/me/password": {fields: "password=wrong&new_password=three+small+green+boats",
		as: withPassword},
	"POST /dashboard/:mode/me/two-step/on":  {fields: "code=123456", first: posts("/dashboard/test/me/two-step")},
	"POST /dashboard/:mode/me/two-step/off": {fields: "off_password=wrong&off_code=123456", as: withPassword},
	"POST /dashboard/:mode/me/passkeys": {fields: `token={question}&name=Phone&response={"id":"x"}`,
		as: asked("/dashboard/test/me/passkeys/new")},
	"GET /dashboard/sign-in": {fields: "then=/dashboard/live", as: stranger},
	"POST /dashboard/sign-in": {fields: "email=partner@lender.example&password=wrong&then=/dashboard/live",
		as: stranger},
	"GET /dashboard/sign-in/company":  {fields: "then=/dashboard/live", as: stranger},
	"POST /dashboard/sign-in/company": {fields: "email=jo@lender.example&then=/dashboard/live", as: stranger},
	"GET /dashboard/sign-in/code":     {fields: "then=/dashboard/live", as: halfIn},
	"POST /dashboard/sign-in/code":    {fields: "code=123456&then=/dashboard/live", as: halfIn},
	"POST /dashboard/sign-in/passkey": {fields: "then=/dashboard/live", as: stranger},
	"POST /dashboard/sign-in/passkey/answer": {fields: `token={question}&response={"id":"x"}&then=/dashboard/live`,
		as: asked("/dashboard/sign-in/passkey")},
	"POST /dashboard/forgot": {fields: "email=partner@lender.example", as: stranger},
	"POST /dashboard/sign-up": {
		fields: "company=Harbour&name=Sam&email=sam@harbour.example&new_password=three+small+green+boats", as: stranger},
	"GET /dashboard/confirm":         {fields: "then=/dashboard/live&held={held}", as: held},
	"POST /dashboard/confirm":        {fields: "password=wrong&then=/dashboard/live&held={held}", as: held},
	"POST /dashboard/confirm/cancel": {fields: "then=/dashboard/live&held={held}", as: held},
}

// emailCases are those that an email leads to.
var emailCases = map[string]oddCase{
	"POST /dashboard/reset":      {fields: "new_password=three+small+green+boats", as: stranger, first: openReset},
	"POST /dashboard/verify":     {fields: "password=three+small+green+boats", as: stranger, first: openVerify},
	"POST /dashboard/invitation": {fields: "name=Kim&new_password=three+small+green+boats", as: stranger, first: openInvitation},
}

// An oddHarness is a bench to which odd input is sent, and the ids that it names.
type oddHarness struct {
	*harness.Harness
	mail *harness.Mailbox
	ids  map[string]string
	sent int
}

func stranger(b *oddHarness) *harness.StaffBrowser { return b.SignedOut() }

// withPassword is the owner of an account of their own, who has a password.
func withPassword(b *oddHarness) *harness.StaffBrowser {
	own := *b.Harness
	own.Account = b.NewAccount(domain.NewStaffID().String()+"@lender.example", "starter")
	return own.Owner()
}

// held is an owner with a password, whose form waits for it.
func held(b *oddHarness) *harness.StaffBrowser {
	s := withPassword(b)
	b.Clock.Advance(domain.StaffConfirmed)
	b.ids["held"] = s.WantPrompt(s.Post("/dashboard/test/keys", nil), "/dashboard/test/keys")
	return s
}

// halfIn has given the password and no code yet.
func halfIn(b *oddHarness) *harness.StaffBrowser {
	browser := withPassword(b)
	browser.TwoStep()
	return browser.HalfIn()
}

// posts sends an empty form to the path first.
func posts(path string) func(*oddHarness, *harness.StaffBrowser) {
	return func(_ *oddHarness, s *harness.StaffBrowser) { s.Post(path, nil) }
}

// asked is who has been asked for a passkey by the page at the path.
func asked(path string) func(*oddHarness) *harness.StaffBrowser {
	return func(b *oddHarness) *harness.StaffBrowser {
		s := b.Staff(domain.RoleOwner)
		b.ids["question"] = s.WantPage(s.Post(path, nil), http.StatusOK).Field("token").Value
		return s
	}
}

// byEmail opens the link of an email that ask asks for, unless one is open.
func byEmail(ask func(b *oddHarness, email string)) func(*oddHarness, *harness.StaffBrowser) {
	return func(b *oddHarness, s *harness.StaffBrowser) {
		if s.Cookies["__Secure-candor_letter"] != "" {
			return
		}
		email := domain.NewStaffID().String() + "@lender.example"
		ask(b, email)
		for message := range b.mail.Sent {
			if message.To == email {
				s.Get(b.mail.Link(message))
				return
			}
		}
	}
}

var (
	openReset = byEmail(func(b *oddHarness, email string) {
		b.NewAccount(email, "starter")
		b.OK(b.Service.StaffAuth.RequestReset(b.Context(), email, domain.Visitor{IPAddress: "192.0.2.1"}))
	})
	openVerify = byEmail(func(b *oddHarness, email string) {
		params := auth.NewAccount{Company: "Harbour", Name: "Sam", Email: email, Password: harness.GoodPassword}
		b.OK(b.Service.StaffAuth.SignUp(b.Context(), params, domain.Visitor{IPAddress: "192.0.2.1"}))
	})
	openInvitation = byEmail(func(b *oddHarness, email string) {
		_, err := b.Service.Team.Invite(b.Context(), b.Account.AccountID, harness.Operator,
			harness.NewInvitation(email, domain.RoleSupport))
		b.OK(err)
	})
)

func newOddHarness(t *testing.T) *oddHarness {
	t.Helper()
	h := harness.New(t, func(c *handlers.Config) {
		limiter, err := ratelimit.New(ratelimit.Config{PerMinute: 1000, Burst: 1000, Keys: 10})
		if err != nil {
			t.Fatal(err)
		}
		policy := webhook.Policy{Development: true}
		c.Webhooks.Policy, c.Webhooks.TestLimiter, c.Webhooks.TestClient = policy, limiter, webhook.NewClient(policy)
	})
	ids := harness.Objects(h, h.TestScope())
	for name, id := range harness.Marked(h, h.TestScope()) {
		if ids[name] == "" {
			ids[name] = id
		}
	}
	ids["receiver"], ids["mode"], ids["token"] = hooktest.NewReceiver(t, nil).URL, "test", "x"
	ids["staff"] = h.Staff(domain.RoleSupport).Session.ID.String()
	return &oddHarness{Harness: h, ids: ids}
}

// oddTexts are what PostgreSQL takes for no text, which all posted forms are
// looked through for at one place.
func oddTexts(valid string) []string {
	return []string{"\xff", "\x00", "\xed\xa0\x80", valid + "\x00", valid + "\xff"}
}

// oddValues are what no page sends in a field that takes the value.
func oddValues(valid string) []string {
	return []string{
		"\u202e\ufeff" + valid + "\r\n", strings.Repeat("x", 10<<10), "-1", "99999999999999999999",
		"9999-12-31", "9999-12-31T23:59", "0000-01-01", "%zz",
	}
}

// oddBodies are forms that can't be read, with their types.
var oddBodies = [][2]string{
	{"application/x-www-form-urlencoded", "name=%zz"}, {"multipart/form-data; boundary=x",
		"--x\r\nContent-Disposition: form-data; name=\"name\"\r\n\r\nhalf"},
	{"application/json", "{}"}, {"application/x-www-form-urlencoded", "name=a;email=b"}, {"application/x-www-form-urlencoded",
		"%00=%00&=&&=%ff"}, {"multipart/form-data", "--x--"},
	{"multipart/form-data; boundary=x",
		"--x\r\nContent-Disposition: form-data; name=\"\x00\"; filename=\"\xff\"\r\n\r\n\xff\r\n--x--\r\n"},
	{"multipart/form-data; boundary=" + strings.Repeat("x", 10<<10), "--x--"}, {"", "name=x"}, {"\x7f/;;", "name=x"},
}

// odd sends a request and fails where it isn't answered, or with an error of
// ours.
func (b *oddHarness) odd(s *harness.StaffBrowser, method, target, contentType, body string) {
	b.Helper()
	b.sent++
	r := httptest.NewRequestWithContext(b.Context(), method, harness.BaseURL+"/", strings.NewReader(body))
	address, err := url.Parse(harness.BaseURL + target)
	if err != nil {
		b.Fatal(err)
	}
	r.URL, r.RequestURI = address, target
	r.RemoteAddr = fmt.Sprintf("198.51.%d.%d:1", b.sent/250, b.sent%250) // not throttled by the address
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	if contentType != "" {
		r.Header["Content-Type"] = []string{contentType}
	}
	what := fmt.Sprintf("%s %.200s with %.200q", method, target, body)
	defer func() {
		if v := recover(); v != nil {
			b.Errorf("%s: panic: %v", what, v)
		}
	}()
	if answer := s.Do(r); answer.Code >= http.StatusInternalServerError || answer.Code == 0 {
		b.Errorf("%s: %d", what, answer.Code)
	}
}

// walkOdd sends to a route each odd value in each of its fields, in its path
// and in its query, and bodies that can't be read.
func (b *oddHarness) walkOdd(route string, of oddCase) {
	b.Helper()
	method, path, _ := strings.Cut(route, " ")
	s := b.Staff(domain.RoleOwner)
	if of.as != nil {
		s = of.as(b)
	}
	fields, err := url.ParseQuery(regexp.MustCompile(`{\w+}`).ReplaceAllStringFunc(of.fields, func(name string) string {
		return url.QueryEscape(b.ids[name[1:len(name)-1]])
	}))
	b.OK(err)
	own := parameter.ReplaceAllStringFunc(path, func(name string) string { return b.ids[name[1:]] })
	send := func(values url.Values) {
		if of.first != nil {
			of.first(b, s)
		}
		if method == http.MethodGet {
			b.odd(s, method, own+"?"+values.Encode(), "", "")
			return
		}
		b.odd(s, method, own, "application/x-www-form-urlencoded", values.Encode())
	}
	for name, valid := range fields {
		with := func(values ...string) {
			changed := maps.Clone(fields)
			changed[name] = values
			send(changed)
		}
		texts := oddTexts(valid[0])
		if method != http.MethodGet {
			texts = texts[:1]
		}
		for _, value := range append(texts, oddValues(valid[0])...) {
			with(value)
		}
		with(valid[0], "\x00", valid[0])
	}
	for _, query := range []string{"%zz", "a=1;b=2", "%00=%00&then=%00&from=%ff&before=%00&lang=%00"} {
		b.odd(s, method, own+"?"+query, "", "")
	}
	for _, name := range parameter.FindAllString(path, -1) {
		for _, value := range append(oddTexts(b.ids[name[1:]]), "99999999999999999999", strings.Repeat("x", 10<<10), "%zz", "..", "") {
			odd := strings.Replace(path, name, url.PathEscape(value), 1)
			b.odd(s, method, parameter.ReplaceAllStringFunc(odd, func(name string) string { return b.ids[name[1:]] }), "", "")
		}
	}
	if method != http.MethodGet {
		for range 3 { // all of them over the routes, which read them at one place
			body := oddBodies[b.sent%len(oddBodies)]
			b.odd(s, method, own, body[0], body[1])
		}
	}
}

// TestOddInput sends to each route of the dashboard what no page of ours does.
// The answer says what is wrong; it is never our fault.
func TestOddInput(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newOddHarness(t)
	var routes []string
	for _, route := range harness.RoutesOf(handlers.Staff, handlers.SignedOut, handlers.SignedIn) {
		if _, ok := emailCases[harness.RouteName(route)]; !ok {
			routes = append(routes, harness.RouteName(route))
		}
	}
	slices.SortFunc(routes, lastOnesLast)
	for _, route := range routes {
		t.Run(route, func(t *testing.T) {
			sub := *b
			sub.Harness = b.In(t)
			sub.walkOdd(route, oddCases[route])
			b.sent = sub.sent
			sub.wantNoErrorLogged()
		})
	}
	for route := range oddCases {
		if !slices.Contains(routes, route) {
			t.Errorf("%s is in oddCases and is no route", route)
		}
	}
}

func TestOddInputByEmail(t *testing.T) {
	t.Parallel()
	b := newOddHarness(t)
	b.mail = b.Mailbox()
	for route, of := range emailCases {
		b.walkOdd(route, of)
	}
	b.wantNoErrorLogged()
}

// lastOnesLast orders routes so that those that end what others need come last.
func lastOnesLast(a, b string) int {
	if d := rank(a) - rank(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

func rank(route string) int {
	return len(regexp.MustCompile(`(cancel|delete|remove|revoke|erase|end|end-others|abandon|stop|sign-out)$`).FindString(route))
}

var errorLogged = regexp.MustCompile(`(?m)^.*"level":"ERROR".*$`)

func (b *oddHarness) wantNoErrorLogged() {
	b.Helper()
	for i, line := range errorLogged.FindAllString(b.Logs.String(), -1) {
		if i < 3 {
			b.Errorf("logged: %.500s", line)
		}
	}
	b.Logs.Clear()
}

// TestOddInputKnowsEveryField reads the dashboard's source: a field that is new
// there is new in oddCases, too.
func TestOddInputKnowsEveryField(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, cases := range []map[string]oddCase{oddCases, emailCases} {
		for _, of := range cases {
			for _, pair := range strings.Split(of.fields, "&") {
				name, _, _ := strings.Cut(pair, "=")
				known[name] = true
			}
		}
	}
	var files []string
	for _, folder := range []string{"dashboard", "dashboard/auth"} {
		found, err := filepath.Glob(folder + "/*.go")
		if err != nil || len(found) == 0 {
			t.Fatal("no source", err)
		}
		files = append(files, found...)
	}
	found := 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(tokens.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field := fieldRead(n); field != "" {
				found++
				if !known[field] {
					t.Errorf(
						"%s reads the field %q: give it, with a value that it takes, to its routes in oddCases; if it holds an id, to fieldCases",
						name, field)
				}
			}
			return true
		})
	}
	if found < 50 {
		t.Errorf("only %d fields are read; does this test still see how?", found)
	}
}

var fieldName = regexp.MustCompile(`^[a-z_]+$`)

// fieldRead is the name of the form's or query's field that the code reads, ""
// where it reads none.
func fieldRead(n ast.Node) string {
	var name ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		called, ok := n.Fun.(*ast.SelectorExpr)
		if !ok || len(n.Args) != 1 || !slices.Contains([]string{"FormValue", "QueryParam", "Get", "Has"}, called.Sel.Name) {
			return ""
		}
		name = n.Args[0]
	case *ast.IndexExpr:
		name = n.Index
	}
	literal, ok := name.(*ast.BasicLit)
	if !ok || literal.Kind != tokens.STRING {
		return ""
	}
	if text, err := strconv.Unquote(literal.Value); err == nil && fieldName.MatchString(text) {
		return text
	}
	return ""
}
