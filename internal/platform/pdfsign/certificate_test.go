package pdfsign_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"candor/internal/platform/pdfsign"
	"candor/internal/testkit/signtest"
)

// load does what a start does.
func load(files signtest.Files) error {
	chain, err := pdfsign.ReadChain(files.Certificate)
	if err != nil {
		return err
	}
	key, err := pdfsign.ReadKey(files.Key)
	if err != nil {
		return err
	}
	s, err := pdfsign.New(chain, key)
	if err != nil {
		return err
	}
	return s.Check(time.Now())
}

// Each odd certificate or key is refused with a sentence that says what to do, and
// that has nothing of the key.
func TestOddCertificatesAreRefused(t *testing.T) {
	t.Parallel()
	key := signtest.ECDSA(t)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*x509.Certificate)) signtest.Files { return signtest.New(t, key, change) }
	good := with(func(*x509.Certificate) {})
	rewritten := func(kind string, blocks ...[]byte) string {
		path := filepath.Join(t.TempDir(), "some.pem")
		signtest.Write(t, path, kind, blocks...)
		return path
	}
	locked := rewritten("RSA PRIVATE KEY")
	block := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Headers: map[string]string{"Proc-Type": "4,ENCRYPTED"},
		Bytes: private})
	if err := os.WriteFile(locked, block, 0o600); err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		files signtest.Files
		want  string // in the error; "" for none
	}{
		"good":         {good, ""},
		"no key usage": {with(func(c *x509.Certificate) { c.KeyUsage, c.ExtKeyUsage = 0, nil }), ""},
		"expired": {with(func(c *x509.Certificate) {
			c.NotAfter = time.Date(2026, 3, 5, 0, 0, 0, 0, time.UTC)
		}), "the certificate of " + signtest.Subject + " expired on 5 March 2026: get a new one"},
		"not yet valid": {with(func(c *x509.Certificate) {
			c.NotBefore = time.Now().AddDate(0, 1, 0)
			c.NotAfter = c.NotBefore.AddDate(1, 0, 0)
		}), "is valid only from"},
		"for encryption": {with(func(c *x509.Certificate) {
			c.KeyUsage = x509.KeyUsageKeyEncipherment
		}), "may not sign documents: get a certificate with the key usage digitalSignature"},
		"of a web server": {with(func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
			"is for web servers, which readers of PDFs don't accept"},
		"short RSA": {signtest.New(t, signtest.RSA(t, 1024)),
			"has an RSA key of 1024 bits: get a certificate for one of 2048 or more"},
		"Ed25519": {signtest.New(t, edwards), "has a key of the kind Ed25519"},
		"another's key": {signtest.Files{Certificate: good.Certificate, Key: signtest.New(t, signtest.ECDSA(t)).Key},
			"is not the key of the certificate of " + signtest.Subject},
		"no file":              {signtest.Files{Certificate: "/nowhere.pem", Key: good.Key}, "/nowhere.pem: no such file"},
		"a key as certificate": {signtest.Files{Certificate: good.Key, Key: good.Key}, "has no certificate"},
		"a certificate as key": {signtest.Files{Certificate: good.Certificate, Key: good.Certificate}, "has no private key"},
		"chain out of order": {signtest.Files{Certificate: rewritten("CERTIFICATE", decoded(t, good.Authority),
			decoded(t, good.Certificate)), Key: good.Key}, "put the signer's certificate first"},
		"encrypted PKCS #8": {signtest.Files{Certificate: good.Certificate, Key: rewritten("ENCRYPTED PRIVATE KEY", private)},
			"has a passphrase: write the key without one"},
		"encrypted PEM": {signtest.Files{Certificate: good.Certificate, Key: locked},
			"has a passphrase: write the key without one"},
		"garbage": {signtest.Files{Certificate: good.Certificate, Key: rewritten("PRIVATE KEY", []byte("hidden"))},
			"has a key that can't be read"},
	} {
		err := load(tt.files)
		if (err == nil) != (tt.want == "") || err != nil && (!strings.Contains(err.Error(), tt.want) ||
			strings.Contains(err.Error(), "hidden")) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
}

// decoded is the first block of a PEM file.
func decoded(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(content)
	return block.Bytes
}

// A signer knows its names and when the first of its certificates expires. After that
// it signs nothing.
func TestSignerExpires(t *testing.T) {
	t.Parallel()
	end := time.Now().AddDate(0, 0, 20).UTC().Truncate(time.Second)
	s := signtest.New(t, signtest.ECDSA(t), func(c *x509.Certificate) { c.NotAfter = end }).Signer(t)
	if s.Subject() != signtest.Subject || s.Issuer() != signtest.Issuer || !s.Expires().Equal(end) {
		t.Errorf("signer %q by %q until %s", s.Subject(), s.Issuer(), s.Expires())
	}
	file := drawn(t)
	if _, err := s.Sign(file, end); err != nil {
		t.Errorf("at its end: %v", err)
	}
	if signed, err := s.Sign(file, end.Add(time.Second)); err == nil || signed != nil ||
		!strings.Contains(err.Error(), "expired on") {
		t.Errorf("after its end: %d bytes, %v", len(signed), err)
	}
}
