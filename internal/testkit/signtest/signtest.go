// Package signtest makes certificates for signing PDFs, and asks pdfsig about
// signatures.
package signtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"candor/internal/platform/pdfsign"
)

// Names of the certificates.
const (
	Subject = "Harbour Lending documents"
	Issuer  = "Test authority for documents"
)

// Files are the PEM files of a signer, and the authority's certificate.
type Files struct {
	Certificate, Key, Authority string
}

// ECDSA returns a new key on P-256.
func ECDSA(t testing.TB) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// RSA returns a new key of that many bits.
func RSA(t testing.TB, bits int) crypto.Signer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// New makes a signer's certificate, which change adapts, issued by a new authority.
func New(t testing.TB, key crypto.Signer, change ...func(*x509.Certificate)) Files {
	t.Helper()
	now := time.Now()
	authority := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: Issuer}, NotBefore: now.AddDate(-10, 0, 0),
		NotAfter: now.AddDate(10, 0, 0),
		IsCA:     true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageCRLSign,
	}
	certificate := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: Subject}, NotBefore: now.AddDate(-1, 0, 0),
		NotAfter:    now.AddDate(1, 0, 0),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageContentCommitment,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageEmailProtection},
	}
	for _, f := range change {
		f(certificate)
	}
	issuing := ECDSA(t)
	dir := t.TempDir()
	files := Files{Certificate: filepath.Join(dir, "signer.pem"), Key: filepath.Join(dir, "signer.key"),
		Authority: filepath.Join(dir, "authority.pem")}
	root := issue(t, authority, authority, issuing.Public(), issuing)
	Write(t, files.Authority, "CERTIFICATE", root)
	Write(t, files.Certificate, "CERTIFICATE", issue(t, certificate, authority, key.Public(), issuing), root)
	private, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	Write(t, files.Key, "PRIVATE KEY", private)
	return files
}

func issue(t testing.TB, certificate, by *x509.Certificate, key crypto.PublicKey, with crypto.Signer) []byte {
	t.Helper()
	der, err := x509.CreateCertificate(rand.Reader, certificate, by, key, with)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

// Write writes a PEM file.
func Write(t testing.TB, path, kind string, blocks ...[]byte) {
	t.Helper()
	var content []byte
	for _, b := range blocks {
		content = append(content, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: b})...)
	}
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// Signer reads the files as a start does.
func (f Files) Signer(t testing.TB) *pdfsign.Signer {
	t.Helper()
	chain, err := pdfsign.ReadChain(f.Certificate)
	if err != nil {
		t.Fatal(err)
	}
	key, err := pdfsign.ReadKey(f.Key)
	if err != nil {
		t.Fatal(err)
	}
	signer, err := pdfsign.New(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	return signer
}

// Trusting makes a database of certificates that trusts the authority, for Verify.
func (f Files) Trusting(t testing.TB) (folder string) {
	t.Helper()
	folder = t.TempDir()
	for _, arguments := range [][]string{{"-N", "--empty-password"}, {"-A", "-n", "authority", "-t", "CT,CT,CT", "-i",
		f.Authority}} {
		if out, err := exec.CommandContext(t.Context(), "certutil", append([]string{"-d", "sql:" + folder}, arguments...)...).
			CombinedOutput(); err != nil {
			t.Fatalf("certutil (install libnss3-tools): %v\n%s", err, out)
		}
	}
	return folder
}

// Verify returns what pdfsig says of a PDF. trusted is a folder of Trusting, "" for
// none.
func Verify(t testing.TB, pdf []byte, trusted string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "statement.pdf")
	if err := os.WriteFile(path, pdf, 0o600); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-nocert", path}
	if trusted != "" {
		arguments = []string{"-nssdir", trusted, path}
	}
	out, err := exec.CommandContext(t.Context(), "pdfsig", arguments...).CombinedOutput()
	if exited := new(exec.ExitError); err != nil && !errors.As(err, &exited) {
		t.Fatalf("pdfsig (install poppler-utils): %v", err)
	}
	return string(out)
}
