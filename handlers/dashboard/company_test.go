package dashboard_test

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

var companyKey = sync.OnceValue(func() *rsa.PrivateKey {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		panic(err)
	}
	return key
})

// A company has a provider that says what a test wants it to say.
type company struct {
	*harness.Harness
	*httptest.Server
	records  map[string][]string // TXT
	asked    url.Values          // by the last authorization request
	claims   map[string]any      // that replace those of an honest ID token; nil values remove
	info     map[string]any      // of the userinfo endpoint
	sign     func(payload []byte) string
	metadata map[string]any
	codes    int    // that were exchanged
	atToken  func() // happens while a code is exchanged

	atDiscovery atomic.Pointer[func()] // happens while the provider is asked what it is
}

// LookupTXT implements sso.Resolver.
func (p *company) LookupTXT(_ context.Context, name string) ([]string, error) {
	return p.records[name], nil
}

const companyClient, companySecret = "candor-client", "secret of the client"

// newCompany starts a server whose account has a provider and the verified domain.
func newCompany(t *testing.T) *company {
	t.Helper()
	p := &company{records: map[string][]string{}, metadata: map[string]any{}}
	p.sign = func(payload []byte) string { return p.signed(jose.RS256, companyKey(), payload) }
	p.Server = testkit.Serve(t, p)
	p.Harness = harness.New(t, func(c *handlers.Config) { c.SSO.Policy.Development, c.SSO.Resolver = true, p })
	p.OK(p.Service.SSO.VerifyDomain(p.Context(), p.Account.AccountID, harness.Operator, "lender.example"))
	p.connect(nil)
	return p
}

// ServeHTTP is the provider.
func (p *company) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var answer any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		if at := p.atDiscovery.Load(); at != nil {
			(*at)()
		}
		all := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "userinfo_endpoint": p.URL + "/userinfo"}
		maps.Copy(all, p.metadata)
		answer = all
	case "/keys":
		answer = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: companyKey().Public(), KeyID: "one", Algorithm: "RS256", Use: "sig"}}}
	case "/token":
		id, secret, _ := r.BasicAuth()
		sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		if id != companyClient || secret != url.QueryEscape(companySecret) || r.PostFormValue("code") != "good" ||
			base64.RawURLEncoding.EncodeToString(sum[:]) != p.asked.Get("code_challenge") {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		p.codes++
		if p.atToken != nil {
			p.atToken()
		}
		answer = map[string]string{"access_token": "access", "token_type": "Bearer", "id_token": p.sign(p.token())}
	case "/userinfo":
		answer = p.info
	default:
		w.WriteHeader(http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(answer)
}

// token is the payload of an ID token.
func (p *company) token() []byte {
	now := p.Clock.Now()
	all := map[string]any{"iss": p.URL, "aud": companyClient, "sub": "subject-1", "exp": now.Add(time.Hour).Unix(),
		"iat": now.Unix(), "nonce": p.asked.Get("nonce"), "email": "kim@lender.example", "email_verified": true, "name": "Kim Lee",
		"sid":       "sid-1",
		"auth_time": now.Unix()}
	return p.changed(all)
}

func (p *company) changed(all map[string]any) []byte {
	for name, value := range p.claims {
		all[name] = value
		if value == nil {
			delete(all, name)
		}
	}
	payload, err := json.Marshal(all)
	p.OK(err)
	return payload
}

func (p *company) signed(algorithm jose.SignatureAlgorithm, key any, payload []byte) string {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: jose.JSONWebKey{Key: key, KeyID: "one"}}, nil)
	p.OK(err)
	object, err := signer.Sign(payload)
	p.OK(err)
	text, err := object.CompactSerialize()
	p.OK(err)
	return text
}

// connectForm is the settings' form, filled in.
func (p *company) connectForm(more url.Values) url.Values {
	form := url.Values{"issuer": {p.URL}, "client_id": {companyClient}, "client_secret": {companySecret},
		"default_role": {"support"}}
	maps.Copy(form, more)
	return form
}

func (p *company) connect(more url.Values) {
	p.Helper()
	owner := p.Harness.Owner()
	owner.WantRedirect(owner.Post("/dashboard/test/settings/sign-in", p.connectForm(more)), "/dashboard/test/settings/sign-in")
}

var companyLink = regexp.MustCompile(`href="(http://127[^"]+)"`)

// follow reads the way to the provider off a page, and what it asks there.
func (p *company) follow(answer *httptest.ResponseRecorder) {
	p.Helper()
	link := companyLink.FindStringSubmatch(answer.Body.String())
	if answer.Code != http.StatusOK || link == nil {
		p.Fatalf("%d and no way to the provider:\n%.2000s", answer.Code, answer.Body)
	}
	to, err := url.Parse(html.UnescapeString(link[1]))
	p.OK(err)
	p.asked = to.Query()
	for name, want := range map[string]string{"response_type": "code", "code_challenge_method": "S256", "client_id": companyClient,
		"redirect_uri": p.callback(), "scope": "openid profile email"} {
		if got := p.asked.Get(name); got != want {
			p.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func (p *company) callback() string {
	return harness.BaseURL + "/dashboard/sign-in/company/" + p.Account.AccountID.String()
}

// begin opens a browser that is on its way to the provider.
func (p *company) begin() *harness.StaffBrowser {
	p.Helper()
	b := p.SignedOut()
	p.follow(b.Post("/dashboard/sign-in/company", url.Values{"email": {"Kim@Lender.example"}, "then": {"/dashboard/live"}}))
	return b
}

// back comes back from the provider.
func (p *company) back(b *harness.StaffBrowser, more url.Values) *httptest.ResponseRecorder {
	p.Helper()
	query := url.Values{"code": {"good"}, "state": {p.asked.Get("state")}}
	maps.Copy(query, more)
	return b.Get(strings.TrimPrefix(p.callback(), harness.BaseURL) + "?" + query.Encode())
}

// enters signs in and returns the browser.
func (p *company) enters() *harness.StaffBrowser {
	p.Helper()
	b := p.begin()
	b.WantRedirect(p.back(b, nil), "/dashboard/live")
	return b
}

// refused fails if the answer lets someone in.
func (p *company) refused(b *harness.StaffBrowser, answer *httptest.ResponseRecorder) {
	p.Helper()
	if answer.Code != http.StatusUnprocessableEntity || b.Cookies["__Host-candor_staff"] != "" {
		p.Errorf("%d, cookies %v: wants a refusal\n%.600s", answer.Code, b.Cookies, answer.Body)
	}
}

func (p *company) audited(action domain.AuditAction) string {
	p.Helper()
	return harness.QueryOne[string](p.Harness,
		`SELECT coalesce(string_agg(coalesce(after::text, ''), ' '), '') FROM audit_log WHERE action = '`+
			string(action)+`'`)
}

func TestCompanySignIn(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	b := p.enters()
	b.WantPage(b.Get("/dashboard/live/me"), http.StatusOK, "kim@lender.example", "Support")
	b.WantPage(b.Get("/dashboard/live/settings"), http.StatusForbidden)
	p.Clock.Advance(domain.SSOLifetime - time.Minute)
	b.WantPage(b.Get("/dashboard/live/me"), http.StatusOK)
	p.Clock.Advance(2 * time.Minute)
	b.WantRedirect(b.Get("/dashboard/live/me"), "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
	p.claims = map[string]any{"email": nil, "email_verified": nil} // as many providers do it
	p.info = map[string]any{"sub": "subject-1", "email": "kim.lee@lender.example", "email_verified": "true"}
	again := p.enters()
	again.WantPage(again.Get("/dashboard/live/me"), http.StatusOK, "kim@lender.example") // by the subject
	if n := harness.QueryOne[int](p.Harness, `SELECT count(*) FROM staff_user WHERE email ILIKE 'kim%'`); n != 1 {
		t.Errorf("%d people, want 1", n)
	}

	p.claims = map[string]any{"sub": "owner", "email": strings.ToUpper(p.Account.Email)}
	owner := p.enters()
	owner.WantPage(owner.Get("/dashboard/live/me"), http.StatusOK, p.Account.Email, "Owner")
	p.claims = map[string]any{"email_verified": false}
	refused := p.begin()
	p.refused(refused, p.back(refused, nil))
	again.WantRedirect(again.Get("/dashboard/live/me"), "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
	p.claims = nil
	again = p.enters()
	p.claims = map[string]any{}
	if p.audited(domain.AuditSSOLinked) == "" || p.audited(domain.AuditSSOJoined) == "" {
		t.Error("the audit log lacks who was linked or joined")
	}
	p.claims = map[string]any{"sub": "someone who has the address later", "email": p.Account.Email}
	thief := p.begin()
	p.refused(thief, p.back(thief, nil))
	stranger := p.SignedOut()
	stranger.WantPage(stranger.Post("/dashboard/sign-in/company", url.Values{"email": {"kim@other.example"}}),
		http.StatusUnprocessableEntity, "No company with this address’s domain")
	// Someone who never had a password can't get one by email.
	stranger.Post("/dashboard/forgot", url.Values{"email": {"kim@lender.example"}})
	if kim, err := p.DB.StaffByEmail(p.Context(), "kim@lender.example"); err != nil || !kim.OnlyByCompany() {
		t.Errorf("kim can choose a password: %v", err)
	}
	kim := again
	kim.WantPage(kim.Post("/dashboard/test/me/passkeys/new", nil), http.StatusUnprocessableEntity, "so you have no passkeys here")
}

// TestCompanySignInAttacks gives answers that must let no one in.
func TestCompanySignInAttacks(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	other := p.NewAccount("boss@other.example", "starter")
	execSQL(p.Harness, `UPDATE staff_user SET email = 'lent@lender.example' WHERE email = 'boss@other.example'`)
	claims := func(pairs ...any) map[string]any {
		out := map[string]any{}
		for i := 0; i < len(pairs); i += 2 {
			out[pairs[i].(string)] = pairs[i+1]
		}
		return out
	}
	now := p.Clock.Now()
	for name, c := range map[string]struct {
		claims map[string]any
		query  url.Values
		change func(b *harness.StaffBrowser)
		sign   func(payload []byte) string
	}{
		"state of another browser": {query: url.Values{"state": {"other"}}},
		"no state":                 {query: url.Values{"state": {""}}},
		"no cookie":                {change: func(b *harness.StaffBrowser) { clear(b.Cookies) }},
		"cookie too old":           {change: func(*harness.StaffBrowser) { p.Clock.Advance(11 * time.Minute) }},
		"changed cookie": {change: func(b *harness.StaffBrowser) {
			b.Cookies["__Secure-candor_company"] = "A" + b.Cookies["__Secure-candor_company"][1:]
		}},
		"wrong code":           {query: url.Values{"code": {"bad"}}},
		"another PKCE":         {change: func(*harness.StaffBrowser) { p.asked.Set("code_challenge", "other") }},
		"provider's error":     {query: url.Values{"error": {"access_denied"}}},
		"mixed up issuer":      {query: url.Values{"iss": {"https://evil.example"}}},
		"nonce of another":     {claims: claims("nonce", "other")},
		"no nonce":             {claims: claims("nonce", nil)},
		"issuer of another":    {claims: claims("iss", "https://evil.example")},
		"audience of another":  {claims: claims("aud", "other-client")},
		"authorized for other": {claims: claims("aud", []string{companyClient, "other"}, "azp", "other")},
		"expired":              {claims: claims("exp", now.Add(-time.Minute).Unix())},
		"of the future":        {claims: claims("iat", now.Add(time.Hour).Unix())},
		"no subject":           {claims: claims("sub", nil)},
		"not verified":         {claims: claims("email_verified", false)},
		"verified not said":    {claims: claims("email_verified", nil)},
		"another domain":       {claims: claims("email", "kim@other.example")},
		"domain below":         {claims: claims("email", "kim@evil.lender.example")},
		"two domains":          {claims: claims("email", "kim@lender.example@evil.example")},
		"of another account":   {claims: claims("email", "lent@lender.example")},
		"no address":           {claims: claims("email", nil)},
		"alg none": {sign: func(payload []byte) string {
			return base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`)) + "." +
				base64.RawURLEncoding.EncodeToString(payload) + "."
		}},
		"signed by the secret": {sign: func(payload []byte) string {
			return p.signed(jose.HS256, []byte(companySecret+"012345678901"), payload)
		}},
		"another key": {sign: func(payload []byte) string {
			key, err := rsa.GenerateKey(rand.Reader, 2048)
			p.OK(err)
			return p.signed(jose.RS256, key, payload)
		}},
	} {
		honest := p.sign
		b := p.begin()
		p.claims = c.claims
		if c.sign != nil {
			p.sign = c.sign
		}
		if c.change != nil {
			c.change(b)
		}
		answer := p.back(b, c.query)
		if answer.Code != http.StatusUnprocessableEntity || b.Cookies["__Host-candor_staff"] != "" {
			t.Errorf("%s: %d, cookies %v", name, answer.Code, b.Cookies)
		}
		p.sign, p.claims = honest, nil
	}
	if n := harness.QueryOne[int](p.Harness, `SELECT count(*) FROM sso_identity`); n != 0 {
		t.Errorf("%d people were let in", n)
	}
	if !strings.Contains(p.audited(domain.AuditSSORefused), "belongs to another account") {
		t.Error("the audit log doesn't say why")
	}

	b := p.begin()
	cookies := maps.Clone(b.Cookies)
	p.info = map[string]any{"sub": "another", "email": "kim@lender.example", "email_verified": true}
	p.claims = claims("email", nil)
	p.refused(b, p.back(b, nil)) // the userinfo is another person's
	p.claims = nil
	replay := p.SignedOut()
	replay.Cookies = cookies
	p.refused(replay, p.back(replay, nil))
	if p.codes == 0 {
		t.Error("no code was exchanged")
	}

	// The answer at another account's address.
	b = p.begin()
	answer := b.Get("/dashboard/sign-in/company/" + other.AccountID.String() + "?code=good&state=" + p.asked.Get("state"))
	p.refused(b, answer)
	// A provider that names itself in its answers must do so.
	p.metadata["authorization_response_iss_parameter_supported"] = true
	p.Clock.Advance(11 * time.Minute)
	b = p.begin()
	p.refused(b, p.back(b, nil))
	b = p.begin()
	b.WantRedirect(p.back(b, url.Values{"iss": {p.URL}}), "/dashboard/live")
	// No way to another site.
	b = p.SignedOut()
	p.follow(b.Post("/dashboard/sign-in/company", url.Values{"email": {"kim@lender.example"}, "then": {"https://evil.example/"}}))
	b.WantRedirect(p.back(b, url.Values{"iss": {p.URL}}), "/dashboard")
}

func TestCompanyGroups(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	p.connect(url.Values{"default_role": {""}, "groups_claim": {"groups"}, "group_roles": {"Tech = developer\nLending=support"}})
	p.claims = map[string]any{"groups": []string{"Other"}}
	b := p.begin()
	p.refused(b, p.back(b, nil))
	p.claims["groups"] = []string{"Lending", "Tech"}
	b = p.enters()
	b.WantPage(b.Get("/dashboard/live/me"), http.StatusOK, "Developer")
	p.claims["groups"] = "Lending"
	lower := p.enters()
	lower.WantPage(lower.Get("/dashboard/live/me"), http.StatusOK, "Support")
	b.WantPage(b.Get("/dashboard/live/keys"), http.StatusForbidden) // the other browser, too
	p.claims["groups"] = []string{}
	out := p.begin()
	p.refused(out, p.back(out, nil))
	b.WantRedirect(b.Get("/dashboard/live/me"), "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")

	p.claims = map[string]any{"sub": "owner", "email": p.Account.Email, "groups": []string{"Lending"}}
	owner := p.enters()
	owner.WantPage(owner.Get("/dashboard/live/me"), http.StatusOK, "Owner") // the last one
	p.Staff(domain.RoleOwner)
	owner.WantRedirect(owner.Post("/dashboard/test/team", url.Values{"email": {"new@lender.example"}, "role": {"owner"}}),
		"/dashboard/test/team")
	owner = p.enters()
	owner.WantPage(owner.Get("/dashboard/live/me"), http.StatusOK, "Support")
	audited(p.Harness, domain.AuditInvitationRevoked, 1)
	p.claims = map[string]any{"groups": make([]string, 600)}
	many := p.begin()
	p.refused(many, p.back(many, nil))
}

func TestOnlyCompany(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	support := p.Staff(domain.RoleSupport)
	byPassword := p.Harness.Owner()
	const only = "/dashboard/test/settings/sign-in/only"
	byPassword.WantPage(byPassword.Post(only, url.Values{"of": {"company"}}), http.StatusUnprocessableEntity,
		"Sign out, sign in with your company")
	p.claims = map[string]any{"sub": "owner", "email": p.Account.Email}
	owner := p.enters()
	owner.WantPage(owner.Post(only, url.Values{"of": {"company"}}), http.StatusUnprocessableEntity, "at least one owner")
	id := harness.QueryOne[string](p.Harness, `SELECT staff_id::text FROM sso_identity`)
	staff := domain.StaffID{}
	p.OK(staff.UUID.UnmarshalText([]byte(id)))
	keep := url.Values{"of": {"company"}, "keep": {staff.String()}}
	owner.WantPage(owner.Post(only, keep), http.StatusUnprocessableEntity, "at least one owner") // without an app
	secret, _ := owner.TwoStep()
	owner.WantRedirect(owner.Post(only, keep), "/dashboard/test/settings/sign-in")
	owner.WantPage(owner.Get("/dashboard/test/settings/sign-in"), http.StatusOK, "Let passwords in again", p.Account.Email)
	owner.WantPage(owner.Post("/dashboard/test/settings/sign-in", p.connectForm(url.Values{"client_id": {"another"}})),
		http.StatusUnprocessableEntity, "Let passwords in first")
	owner.WantRedirect(owner.Post("/dashboard/test/settings/sign-in", p.connectForm(nil)), "/dashboard/test/settings/sign-in")

	support.WantRedirect(support.Get("/dashboard/live"), "/dashboard/sign-in?then=%2Fdashboard%2Flive")
	p.claims = nil
	p.enters()
	execSQL(p.Harness, `UPDATE staff_user SET password_hash = (SELECT password_hash FROM staff_user WHERE email = $1)`,
		p.Account.Email)
	b := p.SignedOut()
	b.WantPage(b.Post("/dashboard/sign-in", harness.SignInForm("kim@lender.example", p.Account.Password)),
		http.StatusUnprocessableEntity, "by its own sign-in")
	b.WantPage(b.Post("/dashboard/sign-in", harness.SignInForm("nobody@lender.example", "x")),
		http.StatusUnprocessableEntity, "by its own sign-in")
	if kim, err := p.DB.StaffByEmail(p.Context(), "kim@lender.example"); err != nil || !kim.OnlyByCompany() {
		t.Errorf("kim can reset a password: %v", err)
	}
	p.Clock.Advance(time.Minute)
	b.WantRedirect(b.Post("/dashboard/sign-in", harness.SignInForm(p.Account.Email, p.Account.Password)),
		"/dashboard/sign-in/code?then=%2Fdashboard")
	b.WantRedirect(b.Post("/dashboard/sign-in/code", harness.CodeForm(p.Code(secret, 0))), "/dashboard")
	keepersStay(p, b, staff)
	reset, err := p.Service.StaffAuth.ResetFactors(p.Context(), "kim@lender.example", harness.Operator)
	if err != nil || !reset.NoPassword {
		t.Errorf("passwords let kim in again: %v", err)
	}
	b.WantRedirect(b.Post(only, url.Values{"of": {"passwords"}}), "/dashboard/test/settings/sign-in")
	b = p.SignedOut()
	b.WantRedirect(b.Post("/dashboard/sign-in", harness.SignInForm("kim@lender.example", p.Account.Password)), "/dashboard")
}

// TestCompanyAwayBlocksNoStranger: people who wait for a provider that hangs take no place from
// those who sign in with a password, and one of them asks it for all.
func TestCompanyAwayBlocksNoStranger(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	var asked atomic.Int32
	hanging := make(chan struct{})
	goOn := sync.OnceFunc(func() { close(hanging) })
	t.Cleanup(goOn)
	hangs := func() {
		asked.Add(1)
		<-hanging
	}
	p.Clock.Advance(11 * time.Minute)
	p.atDiscovery.Store(&hangs)
	const many = 12
	answers := make(chan int, many)
	for range many {
		go func() {
			answers <- p.SignedOut().Post("/dashboard/sign-in/company", url.Values{"email": {"kim@lender.example"}}).Code
		}()
	}
	testkit.Await(t, "the provider isn't asked", func() bool { return asked.Load() > 0 })
	testkit.Await(t, "strangers are kept out", func() bool {
		b := p.SignedOut()
		return b.Post("/dashboard/sign-in", harness.SignInForm(p.Account.Email, p.Account.Password)).Code == http.StatusSeeOther
	})
	goOn()
	for range many {
		if code := <-answers; code != http.StatusOK {
			t.Errorf("%d for who waited", code)
		}
	}
	if n := asked.Load(); n != 1 {
		t.Errorf("the provider was asked %d times", n)
	}
	// Away, it is what it was.
	broken := func() { p.metadata = map[string]any{"issuer": "https://other.example"} }
	p.atDiscovery.Store(&broken)
	p.Clock.Advance(11 * time.Minute)
	p.begin()
}

// TestCompanyOffice: a whole office signs in from one network, and what a provider that is ill
// sends is in no log.
func TestCompanyOffice(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	p := newCompany(t)
	for n := range 110 {
		if n%30 == 29 {
			p.Clock.Advance(time.Minute) // for the posts of the network
		}
		p.enters()
	}
	log := &testkit.LogBuffer{}
	p.Service.SSO.Logger = slog.New(slog.NewJSONHandler(log, nil))
	p.metadata = map[string]any{"issuer": strings.Repeat("x", 100<<10)}
	p.Clock.Advance(11 * time.Minute)
	p.begin()
	if n := len(log.String()); n == 0 || n > 1000 {
		t.Errorf("%d bytes in the log", n)
	}
}

// TestInvitedByCompany: who is invited joins by the company with the role of the invitation, which
// ends; where only the company signs in, no one is invited whom it can't sign in.
func TestInvitedByCompany(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	m := p.Mailbox()
	owner := p.Staff(domain.RoleOwner)
	invite := func(email string) *httptest.ResponseRecorder {
		return owner.Post("/dashboard/test/team", url.Values{"email": {email}, "role": {"finance"}})
	}
	owner.WantRedirect(invite("Kim@lender.example"), "/dashboard/test/team")
	link := strings.TrimPrefix(m.Link(m.Email("Kim@lender.example", "Join Lender & Sons on Candor")), harness.BaseURL)
	b := p.enters()
	b.WantPage(b.Get("/dashboard/live/me"), http.StatusOK, "kim@lender.example", "Finance")
	late := p.SignedOut()
	late.Get(link)
	late.WantPage(late.Get("/dashboard/invitation"), http.StatusNotFound)

	execSQL(p.Harness, `UPDATE sso_connection SET only_sso = true`)
	owner.WantPage(invite("kim@other.example"), http.StatusUnprocessableEntity, "Use an address of a verified domain")
	owner.WantRedirect(invite("sam@lender.example"), "/dashboard/test/team")
	link = strings.TrimPrefix(m.Link(m.Email("sam@lender.example", "Join Lender & Sons on Candor")), harness.BaseURL)
	sam := p.SignedOut()
	sam.Get(link)
	sam.WantPage(sam.Get("/dashboard/invitation"), http.StatusOK, "Continue with your company").Hides("Your name")
}

// TestOthersInviteNoOneOfTheCompany: no invitation of another account takes an address of a
// verified domain, which the company couldn't sign in any more.
func TestOthersInviteNoOneOfTheCompany(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	m := p.Mailbox()
	other := p.StaffOf(p.NewAccount("boss@other.example", "starter").AccountID, domain.RoleOwner)
	invite := func(email string) *httptest.ResponseRecorder {
		return other.Post("/dashboard/test/team", url.Values{"email": {email}, "role": {"owner"}})
	}
	open := func() string {
		all, err := p.Service.Team.Invitations(t.Context(), other.Session.AccountID)
		p.OK(err)
		return "/dashboard/test/team/invitations/" + all[0].ID.String() + "/link"
	}
	verify := func(name string) {
		p.OK(p.Service.SSO.VerifyDomain(p.Context(), p.Account.AccountID, harness.Operator, name))
	}
	joins := func(link string) *httptest.ResponseRecorder {
		b := p.SignedOut()
		b.Get(strings.TrimPrefix(link, harness.BaseURL))
		return b.Post("/dashboard/invitation", url.Values{"name": {"Ann"}, "new_password": {harness.GoodPassword}})
	}
	const elsewhere = "signs its people in to another account"
	other.WantPage(invite("Kim@Lender.example"), http.StatusUnprocessableEntity, elsewhere)
	other.WantRedirect(invite("ann@second.example"), "/dashboard/test/team")
	emailed := m.Link(m.Email("ann@second.example", "Join Lender & Sons on Candor"))
	verify("second.example")
	other.WantPage(other.Post(open(), nil), http.StatusUnprocessableEntity, elsewhere)
	other.WantPage(joins(emailed), http.StatusUnprocessableEntity, elsewhere)
	other.WantRedirect(invite("ann@third.example"), "/dashboard/test/team")
	copied := other.WantPage(other.Post(open(), nil), http.StatusOK, "shown once").Copies("Copy link")
	verify("third.example")
	other.WantPage(joins(copied), http.StatusUnprocessableEntity, elsewhere)
	p.claims = map[string]any{"email": "ann@third.example"}
	p.enters()
}

// TestPasswordConfirmsNoCompanySession: who has a session of the company and an old password can't
// change it, which would confirm the session without the provider (D142).
func TestPasswordConfirmsNoCompanySession(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	p.claims = map[string]any{"sub": "owner", "email": p.Account.Email}
	owner := p.enters()
	p.Clock.Advance(domain.StaffConfirmed)
	change := url.Values{"password": {p.Account.Password}, "new_password": {harness.GoodPassword}}
	owner.WantPage(owner.Post("/dashboard/live/me/password", change), http.StatusUnprocessableEntity,
		"Your company signed you in here")
	const only = "/dashboard/live/settings/sign-in/only"
	owner.WantPrompt(owner.Post(only, url.Values{"of": {"passwords"}, "from": {"/dashboard/live"}}), "/dashboard/live")
}

// TestKeepersHaveAPassword: an owner whom the company brought has no password to keep.
func TestKeepersHaveAPassword(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	bo := p.enters() // as kim
	kim, err := p.DB.StaffByEmail(t.Context(), "kim@lender.example")
	p.OK(err)
	first := p.Harness.Owner()
	promote := first.Post("/dashboard/test/team/"+kim.ID.String()+"/role", url.Values{"role": {"owner"}})
	first.WantRedirect(promote, "/dashboard/test/team")
	bo.TwoStep()
	bo = p.enters()
	keep := url.Values{"of": {"company"}, "keep": {kim.ID.String()}}
	const only = "/dashboard/test/settings/sign-in/only"
	bo.WantPage(bo.Post(only, keep), http.StatusUnprocessableEntity, "Each needs a password and two-step sign-in")
	first.WantPage(first.Get("/dashboard/test"), http.StatusOK) // nothing was changed
}

// TestRemovedDomainAdmitsNoOne: the sessions that a domain admitted end with it, whatever address is
// stored of who has them.
func TestRemovedDomainAdmitsNoOne(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	p.OK(p.Service.SSO.VerifyDomain(p.Context(), p.Account.AccountID, harness.Operator, "second.example"))
	p.enters()
	p.claims = map[string]any{"email": "kim@second.example"}
	kim := p.enters() // known by the subject
	owner := p.Harness.Owner()
	remove := func(name string) {
		owner.WantRedirect(owner.Post("/dashboard/test/settings/sign-in/domains/remove", url.Values{"domain": {name}}),
			"/dashboard/test/settings/sign-in")
	}
	p.OK(p.Service.SSO.AddDomain(p.Context(), p.Account.AccountID, harness.Operator, "third.example"))
	remove("third.example") // was never verified
	kim.WantPage(kim.Get("/dashboard/live/me"), http.StatusOK)
	remove("second.example")
	kim.WantRedirect(kim.Get("/dashboard/live/me"), "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
	owner.WantPage(owner.Get("/dashboard/live/me"), http.StatusOK)
}

// keepersStay: who keeps the password stays an owner with an app, and the last one stays. A
// keeper who is no owner any more keeps it no more.
func keepersStay(p *company, last *harness.StaffBrowser, staff domain.StaffID) {
	p.Helper()
	second := p.Staff(domain.RoleOwner)
	keep := func(b *harness.StaffBrowser, app string) {
		execSQL(p.Harness, `UPDATE staff_user SET break_glass = true, totp_secret = nullif($2, '')::bytea,
			password_hash = 'x' WHERE id = $1`, b.Session.ID, app)
	}
	demote := func(id domain.StaffID) *httptest.ResponseRecorder {
		return last.Post("/dashboard/test/team/"+id.String()+"/role", url.Values{"role": {"support"}})
	}
	refused := func() {
		p.Helper()
		last.WantPage(demote(staff), http.StatusUnprocessableEntity, "the last person who keeps the password")
	}
	refused()
	keep(second, "")
	refused() // the other has no app
	keep(second, "x")
	last.WantRedirect(demote(second.Session.ID), "/dashboard/test/team")
	second.WantRedirect(second.Get("/dashboard/test"), "/dashboard/sign-in?then=%2Fdashboard%2Ftest")
	p.Staff(domain.RoleOwner)
	refused()
	if n := harness.QueryOne[int](p.Harness, `SELECT count(*) FROM staff_user WHERE break_glass`); n != 1 {
		p.Errorf("%d people keep the password, want 1", n)
	}
}

// TestCompanyConfirms asks the provider where others are asked for the password.
func TestCompanyConfirms(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	p.enters() // kim
	p.claims = map[string]any{"sub": "owner", "email": p.Account.Email}
	owner := p.enters()
	p.Clock.Advance(domain.StaffConfirmed)
	invite := url.Values{"email": {"new@lender.example"}, "role": {"support"}, "from": {"/dashboard/test/team"}}
	held := owner.WantPrompt(owner.Post("/dashboard/test/team", invite), "/dashboard/test/team")
	prompt := url.Values{"held": {held}, "then": {"/dashboard/test/team"}}
	owner.WantPage(owner.Post("/dashboard/confirm", prompt), http.StatusUnprocessableEntity, "Sign in with your company again")
	p.follow(owner.Post("/dashboard/confirm/company", prompt))
	if p.asked.Get("prompt") != "login" || p.asked.Get("max_age") != "0" {
		t.Errorf("asked %v", p.asked)
	}
	for reason, claims := range map[string]map[string]any{
		"didn’t ask again":        {"auth_time": p.Clock.Now().Add(-time.Hour).Unix(), "sub": "owner"},
		"doesn’t say when":        {"auth_time": nil, "sub": "owner"},
		"another person answered": {"sub": "subject-1"}, // kim
	} {
		p.claims = claims
		if answer := p.back(owner, nil); answer.Code != http.StatusUnprocessableEntity {
			t.Errorf("%s: %d", reason, answer.Code)
		}
		if !strings.Contains(p.audited(domain.AuditSSORefused), reason) {
			t.Errorf("the audit log lacks %q", reason)
		}
		p.follow(owner.Post("/dashboard/confirm/company", prompt)) // still signed in
	}
	p.claims = map[string]any{"sub": "owner"}
	back := "/dashboard/confirm?held=" + held + "&then=%2Fdashboard%2Ftest%2Fteam"
	owner.WantRedirect(p.back(owner, nil), back)
	owner.WantPage(owner.Get(back), http.StatusOK, "Your company confirmed that it’s you")
	owner.WantRedirect(owner.Post("/dashboard/confirm", prompt), "/dashboard/test/team")
	owner.WantPage(owner.Get("/dashboard/test/team"), http.StatusOK, "new@lender.example")
}

// TestCompanyChangesMidway puts another client in place of the connection while someone is at
// the provider.
func TestCompanyChangesMidway(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	change := func(set string) {
		execSQL(p.Harness, `UPDATE sso_connection SET `+set)
	}
	p.atToken = func() { change(`client_id = 'another'`) }
	b := p.begin()
	p.refused(b, p.back(b, nil))
	if !strings.Contains(p.audited(domain.AuditSSORefused), "the connection was changed") {
		t.Error("the audit log doesn't say why")
	}
	p.atToken = nil
	change(`client_id = '` + companyClient + `'`)
	b = p.begin()
	change(`issuer = 'https://other.example'`)
	p.refused(b, p.back(b, nil))
}

func TestBackChannelLogout(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	p := newCompany(t)
	b := p.enters()
	const event = "http://schemas.openid.net/event/backchannel-logout"
	now := p.Clock.Now()
	send := func(id string, change map[string]any, sign func([]byte) string) int {
		p.claims = change
		token := map[string]any{"iss": p.URL, "aud": companyClient, "sub": "subject-1", "iat": now.Unix(),
			"exp": now.Add(time.Minute).Unix(),
			"jti": id, "sid": "sid-1", "events": map[string]any{event: map[string]any{}}}
		answer := p.SignedOut().Send(http.MethodPost, strings.TrimPrefix(p.callback(), harness.BaseURL)+"/logout",
			url.Values{"logout_token": {sign(p.changed(token))}}, nil)
		p.claims = nil
		return answer.Code
	}
	for n := range 310 {
		if code := send(strconv.Itoa(n), map[string]any{"sub": "subject-2"}, p.sign); code != http.StatusOK {
			t.Fatalf("%d: %d", n, code)
		}
	}
	for name, change := range map[string]map[string]any{
		"issuer": {"iss": "https://evil.example"}, "audience": {"aud": "other"}, "nonce": {"nonce": "x"}, "events": {"events": nil},
		"other event": {"events": map[string]any{"other": map[string]any{}}}, "null event": {"events": map[string]any{event: "x"}},
		"no jti": {"jti": nil}, "no one": {"sub": nil, "sid": nil}, "old": {"iat": now.Add(-time.Hour).Unix()},
		"expired": {"exp": now.Add(-time.Minute).Unix()},
	} {
		if code := send(name, change, p.sign); code != http.StatusBadRequest {
			t.Errorf("%s: %d", name, code)
		}
	}
	forged := func(payload []byte) string {
		key, err := rsa.GenerateKey(rand.Reader, 2048)
		p.OK(err)
		return p.signed(jose.RS256, key, payload)
	}
	if code := send("forged", nil, forged); code != http.StatusBadRequest {
		t.Errorf("forged: %d", code)
	}
	b.WantPage(b.Get("/dashboard/live/me"), http.StatusOK)
	if code := send("other", map[string]any{"sid": "sid-2"}, p.sign); code != http.StatusOK {
		t.Errorf("another session: %d", code)
	}
	b.WantPage(b.Get("/dashboard/live/me"), http.StatusOK)
	if code := send("good", nil, p.sign); code != http.StatusOK {
		t.Errorf("good: %d", code)
	}
	b.WantRedirect(b.Get("/dashboard/live/me"), "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
	if code := send("good", nil, p.sign); code != http.StatusBadRequest {
		t.Errorf("replayed: %d", code)
	}
	b = p.enters()
	owner := p.Harness.Owner()
	owner.WantRedirect(owner.Post("/dashboard/test/settings/sign-in/remove", nil), "/dashboard/test/settings/sign-in")
	b.WantRedirect(b.Get("/dashboard/live/me"), "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
}

// TestCompanySettings refuses what is typed wrongly, and issuers that must not be called.
func TestCompanySettings(t *testing.T) {
	t.Parallel()
	p := newCompany(t)
	owner := p.Harness.Owner()
	const settings = "/dashboard/test/settings/sign-in"
	redirects := testkit.Serve(t, http.RedirectHandler(p.URL+"/.well-known/openid-configuration", http.StatusFound))
	long := testkit.Serve(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"issuer":"` + strings.Repeat("x", 300<<10)))
	}))
	for text, form := range map[string]url.Values{
		"Enter the issuer": {"issuer": {""}}, "Enter the client id": {"client_id": {""}},
		"The URL must use https": {"issuer": {"http://login.example.com"}}, "public": {"issuer": {"https://10.0.0.1"}},
		"169.254": {"issuer": {"https://169.254.169.254"}}, "names another issuer": {"issuer": {p.URL + "/"}},
		"it names": {"issuer": {redirects.URL}}, "Copy the issuer": {"issuer": {long.URL}},
		"Enter the client secret": {"client_id": {"another"}, "client_secret": {""}}, "Choose a role": {"default_role": {"owner"}},
		"Enter both": {"groups_claim": {"groups"}}, "Write a line": {"group_roles": {"Lending is support"}},
	} {
		if text == "169.254" || text == "public" {
			text = "address"
		}
		owner.WantPage(owner.Post(settings, p.connectForm(form)), http.StatusUnprocessableEntity, text)
	}
	if body := owner.Get(settings).Body.String(); strings.Contains(body, companySecret) {
		t.Error("the page has the secret")
	}
	post := func(path, name string) *httptest.ResponseRecorder {
		return owner.Post(settings+path, url.Values{"domain": {name}})
	}
	for _, name := range []string{"", "com", "co.uk", "a b.example", "10.0.0.1"} {
		owner.WantPage(post("/domains", name), http.StatusUnprocessableEntity, "Enter a domain")
	}
	owner.WantRedirect(post("/domains", "Second.example"), settings)
	owner.WantPage(post("/domains/check", "second.example"), http.StatusUnprocessableEntity, "The DNS record isn’t there")
	list, err := p.DB.SSODomains(p.Context(), p.Account.AccountID)
	p.OK(err)
	p.records["_candor.second.example."] = []string{"v=spf1", list[1].Record()}
	other := p.NewAccount("boss@other.example", "starter")
	p.OK(p.Service.SSO.VerifyDomain(p.Context(), other.AccountID, harness.Operator, "second.example"))
	owner.WantPage(post("/domains/check", "second.example"), http.StatusUnprocessableEntity, "Another account has this domain")
	p.OK(p.Service.SSO.RemoveDomain(p.Context(), other.AccountID, harness.Operator, "second.example"))
	owner.WantRedirect(post("/domains/check", "second.example"), settings)
	kim := p.enters()
	owner.WantRedirect(post("/domains/remove", "lender.example"), settings)
	kim.WantRedirect(kim.Get("/dashboard/live/me"), "/dashboard/sign-in?then=%2Fdashboard%2Flive%2Fme")
	p.refused(p.SignedOut(), p.SignedOut().Post("/dashboard/sign-in/company", url.Values{"email": {"kim@lender.example"}}))
}
