package webhook

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// testAuthority issues certificates for receivers.
type testAuthority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *testAuthority {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "Test authority"},
		NotBefore: time.Now().Add(-48 * time.Hour), NotAfter: time.Now().Add(48 * time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &testAuthority{certificate: certificate, key: key}
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *testAuthority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// issue returns a certificate for 127.0.0.1 unless names are given.
func (a *testAuthority) issue(t *testing.T, notAfter time.Time, names ...string) tls.Certificate {
	t.Helper()
	return a.issueFrom(t, &x509.Certificate{
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: notAfter, DNSNames: names,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	})
}

func (a *testAuthority) issueFrom(t *testing.T, template *x509.Certificate) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template.SerialNumber, template.KeyUsage = big.NewInt(2), x509.KeyUsageDigitalSignature
	if len(template.DNSNames) == 0 {
		template.IPAddresses = []net.IP{net.IPv4(127, 0, 0, 1)}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.certificate, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// selfSigned returns a self-signed certificate for 127.0.0.1.
func selfSigned(t *testing.T) tls.Certificate {
	t.Helper()
	key := newKey(t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(3), Subject: pkix.Name{CommonName: "127.0.0.1"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// startTLS serves handler with certificate on loopback.
func startTLS(t *testing.T, certificate tls.Certificate, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	return startTLSWith(t, &tls.Config{Certificates: []tls.Certificate{certificate}}, handler)
}

// startOldTLS speaks TLS of versions that are no longer safe.
func startOldTLS(t *testing.T, certificate tls.Certificate, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	return startTLSWith(t, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS10,
		MaxVersion: tls.VersionTLS11}, handler)
}

func startTLSWith(t *testing.T, config *tls.Config, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewUnstartedServer(handler)
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server
}

func startPlain(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server
}

// startRaw accepts connections on loopback and gives each to serve, which must
// not outlive the connection. It returns the base URL and the number accepted.
func startRaw(t *testing.T, serve func(net.Conn)) (url string, accepted *atomic.Int32) {
	t.Helper()
	listener, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	accepted = new(atomic.Int32)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			accepted.Add(1)
			go func() {
				defer conn.Close()
				serve(conn)
			}()
		}
	}()
	return "http://" + listener.Addr().String(), accepted
}

// readRequest reads one request from conn.
func readRequest(conn net.Conn) {
	buffer := make([]byte, 64<<10)
	_, _ = conn.Read(buffer)
}

// dripOn sends text byte by byte until conn is closed.
func dripOn(conn net.Conn, text string, every time.Duration) {
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for i := 0; ; i++ {
		if _, err := conn.Write([]byte{text[i%len(text)]}); err != nil {
			return
		}
		<-ticker.C
	}
}

// startDNS answers on loopback with the addresses in turn, the last one for
// good, each to the query of its kind (A or AAAA), and with "no such host" if
// there are none.
func startDNS(t *testing.T, addresses ...string) *net.Resolver {
	t.Helper()
	server, err := net.ListenPacket("udp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		buffer := make([]byte, 1500)
		left := addresses
		for {
			n, client, err := server.ReadFrom(buffer)
			if err != nil {
				return
			}
			var query dnsmessage.Message
			if query.Unpack(buffer[:n]) != nil || len(query.Questions) != 1 {
				continue
			}
			answer := dnsmessage.Message{
				Header:    dnsmessage.Header{ID: query.ID, Response: true, Authoritative: true, RecursionAvailable: true},
				Questions: query.Questions,
			}
			if len(left) == 0 {
				answer.RCode = dnsmessage.RCodeNameError
			} else if answer.Answers = answerDNS(query.Questions[0], left[0]); len(answer.Answers) > 0 && len(left) > 1 {
				left = left[1:]
			}
			packed, err := answer.Pack()
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = server.WriteTo(packed, client)
		}
	}()
	return resolverAt(server.LocalAddr())
}

func resolverAt(server net.Addr) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "udp4", server.String())
	}}
}

// answerDNS returns the address as an answer, none if it is of another kind
// than was requested.
func answerDNS(question dnsmessage.Question, text string) []dnsmessage.Resource {
	address := netip.MustParseAddr(text)
	header := dnsmessage.ResourceHeader{Name: question.Name, Type: question.Type, Class: dnsmessage.ClassINET}
	switch {
	case question.Type == dnsmessage.TypeA && address.Is4():
		return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AResource{A: address.As4()}}}
	case question.Type == dnsmessage.TypeAAAA && address.Is6():
		return []dnsmessage.Resource{{Header: header, Body: &dnsmessage.AAAAResource{AAAA: address.As16()}}}
	}
	return nil
}
