package main_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/client"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/ports"
	"candor/internal/testkit/process"
)

// formsHost is the name in packaging/Caddyfile and packaging/nginx.conf.
const formsHost = "forms.example.com"

// TestReverseProxies starts the proxies with the configurations of packaging/, in
// which only ports, files and the certificate are others, and sends a partner's, a
// customer's and a staff user's traffic through each.
func TestReverseProxies(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	for name, start := range map[string]func(*testing.T, *proxy){"Caddy": startCaddy, "nginx": startNginx} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := dbtest.DSN(t)
			env := process.ProductionEnvironment(t, dsn).With("CANDOR_TRUSTED_PROXIES", "127.0.0.1,::1",
				"CANDOR_FORM_RATE_PER_MINUTE", "5")
			account := process.CreateAccount(t, env)
			candor := process.Serve(t, env, "web")
			free := ports.ForTest(t, 2)
			p := &proxy{candor: strings.TrimPrefix(candor.URL, "http://"), http: ports.Local(free[0]), https: ports.Local(free[1]),
				dir: t.TempDir()}
			p.makeCertificate(t)
			start(t, p)
			p.waitUntilServing(t)

			link := p.checkAPI(t, account.TestKey)
			p.checkUpload(t, link)
			p.checkLive(t, dbtest.Open(t, dsn), account)
			p.checkAddresses(t)
			p.checkCompression(t)
			p.checkClearText(t)
		})
	}
}

// proxy is a reverse proxy in front of a web process.
type proxy struct {
	candor, http, https  string // addresses
	dir                  string
	certificate, keyFile string
	authority            *x509.CertPool
}

// makeCertificate makes a certificate for formsHost that its clients trust.
func (p *proxy) makeCertificate(t *testing.T) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: formsHost}, DNSNames: []string{formsHost},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	private, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	p.certificate = p.write(t, "certificate.pem", string(own))
	p.keyFile = p.write(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: private})))
	p.authority = x509.NewCertPool()
	p.authority.AppendCertsFromPEM(own)
}

func (p *proxy) write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(p.dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// example reads a file of packaging/ and replaces what a test can't have; each must be
// there, so that the test runs what operators get.
func example(t *testing.T, name string, replaced ...string) string {
	t.Helper()
	content, err := os.ReadFile("../../packaging/" + name)
	if err != nil {
		t.Fatal(err)
	}
	text := string(content)
	for i := 0; i+1 < len(replaced); i += 2 {
		if !strings.Contains(text, replaced[i]) {
			t.Fatalf("packaging/%s has no %q", name, replaced[i])
		}
		text = strings.ReplaceAll(text, replaced[i], replaced[i+1])
	}
	return text
}

func startCaddy(t *testing.T, p *proxy) {
	t.Helper()
	_, httpPort, _ := net.SplitHostPort(p.http)
	_, httpsPort, _ := net.SplitHostPort(p.https)
	text := example(t, "Caddyfile",
		"reverse_proxy localhost:8080", "reverse_proxy "+p.candor,
		"\nforms.example.com {", "\nforms.example.com {\n\tbind 127.0.0.1\n\ttls "+p.certificate+" "+p.keyFile,
		"\nhttp://forms.example.com {", "\nhttp://forms.example.com {\n\tbind 127.0.0.1")
	global := fmt.Sprintf("{\n\tadmin off\n\thttp_port %s\n\thttps_port %s\n}\n", httpPort, httpsPort)
	p.run(t, "caddy", "run", "--adapter", "caddyfile", "--config", p.write(t, "Caddyfile", global+text))
}

func startNginx(t *testing.T, p *proxy) {
	t.Helper()
	text := example(t, "nginx.conf",
		"server 127.0.0.1:8080;", "server "+p.candor+";",
		"listen 443 ssl http2;", "listen "+p.https+" ssl http2;", "\tlisten [::]:443 ssl http2;\n", "",
		"listen 80;", "listen "+p.http+";", "\tlisten [::]:80;\n", "",
		"/etc/letsencrypt/live/forms.example.com/fullchain.pem", p.certificate,
		"/etc/letsencrypt/live/forms.example.com/privkey.pem", p.keyFile,
		"/var/log/nginx/candor.log", filepath.Join(p.dir, "error.log"))
	temporary := ""
	for _, name := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		temporary += fmt.Sprintf("%s_temp_path %s;\n", name, filepath.Join(p.dir, name))
	}
	// As Debian's nginx.conf, which has gzip on.
	main := "daemon off;\nmaster_process off;\npid " + filepath.Join(p.dir, "pid") +
		";\nevents {}\nhttp {\ngzip on;\naccess_log off;\n" + temporary + text + "}\n"
	p.run(t, "nginx", "-e", "stderr", "-c", p.write(t, "nginx.conf", main))
}

// run starts the proxy and ends it after the test.
func (p *proxy) run(t *testing.T, name string, args ...string) {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		path = "/usr/sbin/" + name // not in the PATH of users
	}
	cmd := exec.Command(path, args...)
	cmd.Env = append(os.Environ(), "HOME="+p.dir, "XDG_DATA_HOME="+p.dir, "XDG_CONFIG_HOME="+p.dir)
	testkit.Start(t, cmd)
}

func (p *proxy) waitUntilServing(t *testing.T) {
	t.Helper()
	browser := p.browser("127.0.0.1").HTTP
	testkit.Await(t, "the proxy serves", func() bool {
		response, err := browser.Get("https://" + formsHost + "/healthz")
		if err == nil {
			_ = response.Body.Close() // the status is enough
		}
		return err == nil && response.StatusCode == http.StatusOK
	})
}

// browser is one at an address of this machine, which trusts the certificate and
// reaches formsHost at the proxy.
func (p *proxy) browser(from string) *client.Client {
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	c := client.New("")
	c.HTTP.Transport = &http.Transport{
		ForceAttemptHTTP2: true, DisableCompression: true, TLSClientConfig: &tls.Config{RootCAs: p.authority,
			MinVersion: tls.VersionTLS12},
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			to := p.https
			if strings.HasSuffix(addr, ":80") {
				to = p.http
			}
			return dialer.DialContext(ctx, network, to)
		},
	}
	return c
}

// ask sends a request and returns its response, whose body was read.
func ask(t *testing.T, browser *http.Client, method, address, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		request.Header.Set(headers[i], headers[i+1])
	}
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, content
}

// checkAPI creates a session and returns its link.
func (p *proxy) checkAPI(t *testing.T, key string) string {
	t.Helper()
	api := process.NewPartner(t, "https://"+formsHost, key)
	api.HTTP = p.browser("127.0.0.1").HTTP
	link := api.CreateSession("").SessionURL
	if !strings.HasPrefix(link, "https://"+formsHost+"/f/") {
		t.Fatalf("the link is %s", link)
	}
	return link
}

// checkUpload sends a document of the largest size.
func (p *proxy) checkUpload(t *testing.T, link string) {
	t.Helper()
	form := process.OpenFormWith(t, p.browser("127.0.0.4"), link)
	const largest = 10 << 20
	form.Upload("statement.pdf", append([]byte("%PDF-1.4\n"), append(bytes.Repeat([]byte("candor "), largest/7-10),
		"\n%%EOF\n"...)...))
	if _, page := ask(t, form.HTTP, http.MethodGet, form.Form+"/documents", ""); !bytes.Contains(page, []byte("statement.pdf")) {
		t.Error("the page doesn't list the uploaded document")
	}
	for _, name := range []string{"client_body", "proxy"} {
		if stored, _ := os.ReadDir(filepath.Join(p.dir, name)); len(stored) > 0 {
			t.Errorf("nginx stored a document in clear text: %v", stored)
		}
	}
}

// checkLive follows the dashboard's stream until a message of a change arrives, which
// a proxy that buffers would keep back.
func (p *proxy) checkLive(t *testing.T, pool *db.DB, account client.Account) {
	t.Helper()
	browser := p.browser("127.0.0.1").HTTP
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+formsHost+"/dashboard/test/live?on=session",
		nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Accept", "text/event-stream")
	request.AddCookie(&http.Cookie{Name: "__Host-candor_staff", Value: staffToken(t, pool, account), Path: "/", Secure: true})
	response, err := browser.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Fatalf("the stream returned %d", response.StatusCode)
	}
	p.checkAPI(t, account.TestKey) // a change
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if lines.Text() == "event: session" {
			return
		}
	}
	t.Errorf("the stream ended without a message: %v", lines.Err())
}

// staffToken signs an owner in and returns the cookie's value. The account's first
// user would have to change the password first.
func staffToken(t *testing.T, pool *db.DB, account client.Account) string {
	t.Helper()
	id, err := domain.ParseAccountID(account.AccountID)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now().UTC()
	owner := domain.NewStaffID()
	session := &domain.StaffSession{
		Staff: domain.Staff{ID: owner, AccountID: id, Email: owner.String() + "@lender.example", Role: domain.RoleOwner,
			CreatedAt: now},
		SessionID: domain.NewStaffSessionID(), Stage: domain.SignInFull, StartedAt: now, SeenAt: now, ConfirmedAt: now,
		ExpiresAt: now.Add(domain.StaffLifetime), Address: "192.0.2.1",
	}
	token := "token of " + owner.String()
	hash := sha256.Sum256([]byte(token))
	if err := pool.InTx(t.Context(), func(tx *db.Tx) error {
		if err := tx.InsertStaff(t.Context(), &session.Staff, ""); err != nil {
			return err
		}
		return tx.InsertStaffSession(t.Context(), session, hash[:])
	}); err != nil {
		t.Fatal(err)
	}
	return token
}

// checkAddresses uses up one client's limit of wrong links. A forged address doesn't
// help that client, and another client isn't limited.
func (p *proxy) checkAddresses(t *testing.T) {
	t.Helper()
	wrong := "https://" + formsHost + "/f/" + domain.NewSessionID().String() + "/wrong"
	guesser := p.browser("127.0.0.2").HTTP
	limited := false
	for range 20 { // CANDOR_FORM_RATE_PER_MINUTE is 5, of which twice at once
		response, _ := ask(t, guesser, http.MethodGet, wrong, "")
		if limited = response.StatusCode == http.StatusTooManyRequests; limited {
			break
		}
	}
	forged, _ := ask(t, guesser, http.MethodGet, wrong, "", "X-Forwarded-For", "198.51.100.7")
	if !limited || forged.StatusCode != http.StatusTooManyRequests {
		t.Errorf("20 wrong links: limited %t, with a forged address %d; want 429", limited, forged.StatusCode)
	}
	if other, _ := ask(t, p.browser("127.0.0.3").HTTP, http.MethodGet, wrong, ""); other.StatusCode == http.StatusTooManyRequests {
		t.Error("another client is limited, too: the proxy doesn't pass the address on")
	}
}

// checkCompression: JSON and pages are compressed once.
func (p *proxy) checkCompression(t *testing.T) {
	t.Helper()
	for path, start := range map[string]string{"/v1/openapi.json": "{", "/dashboard/sign-in": "<!doctype html>"} {
		response, content := ask(t, p.browser("127.0.0.1").HTTP, http.MethodGet, "https://"+formsHost+path, "",
			"Accept-Encoding", "gzip")
		if got := response.Header.Values("Content-Encoding"); len(got) != 1 || got[0] != "gzip" {
			t.Errorf("%s has Content-Encoding %q, want gzip", path, got)
			continue
		}
		unpacked, err := gzip.NewReader(bytes.NewReader(content))
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := io.ReadAll(unpacked); err != nil || !strings.HasPrefix(strings.ToLower(string(plain)), start) {
			t.Errorf("%s was compressed twice, or not as a whole: %v", path, err)
		}
	}
}

// checkClearText: over http, pages lead to https and the API refuses.
func (p *proxy) checkClearText(t *testing.T) {
	t.Helper()
	browser := p.browser("127.0.0.1").HTTP
	response, _ := ask(t, browser, http.MethodGet, "http://"+formsHost+"/f/a/b?c=d", "")
	if to := response.Header.Get("Location"); response.StatusCode != http.StatusPermanentRedirect ||
		to != "https://"+formsHost+"/f/a/b?c=d" {
		t.Errorf("http leads to %q with %d", to, response.StatusCode)
	}
	for _, path := range []string{"/v1", "/v1/sessions"} {
		response, content := ask(t, browser, http.MethodPost, "http://"+formsHost+path, "{}", "Authorization",
			"Bearer "+url.QueryEscape("candor_test_x"))
		if response.StatusCode != http.StatusForbidden || !bytes.Contains(content, []byte(`"code":"forbidden"`)) ||
			response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("POST http://…%s returned %d %q %s", path, response.StatusCode, response.Header.Get("Content-Type"), content)
		}
	}
}
