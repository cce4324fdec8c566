package pdfsign

import (
	"cmp"
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"unicode"
)

// minRSA is the shortest RSA key in bits that readers of PDFs still trust.
const minRSA = 2048

// ReadChain reads a PEM file with the signer's certificate and, after it, those
// between it and its authority. Its errors are sentences for operators.
func ReadChain(path string) ([]*x509.Certificate, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var chain []*x509.Certificate
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("%s has a certificate that can't be read: %w", path, err)
		}
		chain = append(chain, c)
	}
	if len(chain) == 0 {
		return nil, fmt.Errorf("%s has no certificate: it must be PEM, with a line -----BEGIN CERTIFICATE-----", path)
	}
	for i, c := range chain[1:] {
		if err := chain[i].CheckSignatureFrom(c); err != nil {
			return nil, fmt.Errorf(
				"%s is out of order: put the signer's certificate first, then each certificate that issued the one before it (%w)", path, err)
		}
	}
	if err := maySign(chain[0]); err != nil {
		return nil, fmt.Errorf("%s %w", path, err)
	}
	return chain, nil
}

// maySign returns an error if readers of PDFs wouldn't accept the certificate's
// signatures, even of an authority that they trust.
func maySign(c *x509.Certificate) error {
	switch key := c.PublicKey.(type) {
	case *rsa.PublicKey:
		if key.N.BitLen() < minRSA {
			return fmt.Errorf("has an RSA key of %d bits: get a certificate for one of %d or more", key.N.BitLen(), minRSA)
		}
	case *ecdsa.PublicKey:
	default:
		return fmt.Errorf("has a key of the kind %s: get a certificate for an RSA or ECDSA key", c.PublicKeyAlgorithm)
	}
	if c.KeyUsage != 0 && c.KeyUsage&(x509.KeyUsageDigitalSignature|x509.KeyUsageContentCommitment) == 0 {
		return errors.New("may not sign documents: get a certificate with the key usage digitalSignature")
	}
	forServers := func(u x509.ExtKeyUsage) bool {
		return u == x509.ExtKeyUsageServerAuth || u == x509.ExtKeyUsageClientAuth
	}
	if len(c.ExtKeyUsage) > 0 && len(c.UnknownExtKeyUsage) == 0 && !slices.ContainsFunc(c.ExtKeyUsage,
		func(u x509.ExtKeyUsage) bool {
			return !forServers(u)
		}) {
		return errors.New("is for web servers, which readers of PDFs don't accept: get a certificate for signing documents")
	}
	return nil
}

// ReadKey reads a PEM file with the private key of a certificate, without a
// passphrase. Its errors are sentences for operators, and have nothing of the key.
func ReadKey(path string) (crypto.Signer, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	for block, rest := pem.Decode(content); block != nil; block, rest = pem.Decode(rest) {
		var key any
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY" || strings.Contains(block.Headers["Proc-Type"], "ENCRYPTED"):
			return nil, fmt.Errorf(
				"%s has a passphrase: write the key without one (openssl pkey -in FILE -out NEW), in a file that only the service's user can read", path)
		case block.Type == "PRIVATE KEY":
			key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
		case block.Type == "RSA PRIVATE KEY":
			key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
		case block.Type == "EC PRIVATE KEY":
			key, err = x509.ParseECPrivateKey(block.Bytes)
		default:
			continue // a certificate, or the parameters of a key
		}
		signer, ok := key.(crypto.Signer)
		if err != nil || !ok {
			return nil, fmt.Errorf("%s has a key that can't be read: it must be an RSA or ECDSA key", path)
		}
		return signer, nil
	}
	return nil, fmt.Errorf("%s has no private key: it must be PEM, with a line -----BEGIN PRIVATE KEY-----", path)
}

// commonName is what people call a certificate's subject or issuer.
func commonName(commonName string, organization []string, otherwise string) string {
	name := cmp.Or(commonName, strings.Join(organization, ", "), otherwise)
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.ToValidUTF8(name, ""))
}
