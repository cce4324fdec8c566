// Package pdfsign signs PDFs as PAdES baseline B-B (ETSI EN 319 142-1, D81): an
// incremental update with an invisible signature of the whole file, which permits no
// change. It signs what views/pdf writes, no other PDF, and must not know what the
// document says, nor log or return anything of the private key.
package pdfsign

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"errors"
	"fmt"
	"slices"
	"time"
)

// A Signer signs with one certificate. It can be shared. The nil Signer signs nothing.
type Signer struct {
	key   crypto.Signer
	chain []*x509.Certificate // its own first
	room  int                 // bytes that a signature takes at most
}

// slack is by how many bytes two signatures of one key may differ: the two numbers of
// an ECDSA signature are as long as they need to be.
const slack = 16

// New returns the signer with a certificate of ReadChain and its key of ReadKey. It
// signs once to see that the key works. Its errors are sentences for operators.
func New(chain []*x509.Certificate, key crypto.Signer) (*Signer, error) {
	if public, ok := chain[0].PublicKey.(interface{ Equal(crypto.PublicKey) bool }); !ok || !public.Equal(key.Public()) {
		return nil, fmt.Errorf("is not the key of the certificate of %s", subject(chain[0]))
	}
	s := &Signer{key: key, chain: chain}
	probe, err := s.cms(nil)
	if err != nil {
		return nil, fmt.Errorf("can't sign: %w", err)
	}
	s.room = len(probe) + slack
	return s, nil
}

// Subject is the name of who signs; "" of the nil Signer.
func (s *Signer) Subject() string {
	if s == nil {
		return ""
	}
	return subject(s.chain[0])
}

func subject(c *x509.Certificate) string {
	return commonName(c.Subject.CommonName, c.Subject.Organization, c.Subject.String())
}

// Issuer is the name of the authority that says who signs; "" of the nil Signer.
func (s *Signer) Issuer() string {
	if s == nil {
		return ""
	}
	issuer := s.chain[0].Issuer
	return commonName(issuer.CommonName, issuer.Organization, issuer.String())
}

// Expires is when the first certificate of the chain expires.
func (s *Signer) Expires() time.Time {
	return slices.MinFunc(s.chain, func(a, b *x509.Certificate) int { return a.NotAfter.Compare(b.NotAfter) }).NotAfter
}

// noticeDays is how early an operator is told: authorities take a week or two to look at
// who asks for a certificate.
const noticeDays = 30

// ExpiresSoon reports whether a new certificate is needed within 30 days.
func (s *Signer) ExpiresSoon(now time.Time) bool {
	return s.Expires().Before(now.AddDate(0, 0, noticeDays))
}

// Check returns an error if the certificate isn't valid at that time.
func (s *Signer) Check(at time.Time) error {
	const date = "2 January 2006"
	for _, c := range s.chain {
		switch {
		case at.After(c.NotAfter):
			return fmt.Errorf("the certificate of %s expired on %s: get a new one", subject(c), c.NotAfter.UTC().Format(date))
		case at.Before(c.NotBefore):
			return fmt.Errorf("the certificate of %s is valid only from %s on", subject(c), c.NotBefore.UTC().Format(date))
		}
	}
	return nil
}

// Sign returns a PDF with a signature that says it was made at that time. The nil
// Signer returns the PDF as it is. An error means that the certificate isn't valid at
// that time, that the key can't sign, or that the file isn't as views/pdf writes it.
func (s *Signer) Sign(pdf []byte, at time.Time) ([]byte, error) {
	if s == nil {
		return pdf, nil
	}
	if err := s.Check(at); err != nil {
		return nil, err
	}
	file, err := parse(pdf)
	if err != nil {
		return nil, err
	}
	signed, err := file.withSignature(s.Subject(), at, s.room)
	if err != nil {
		return nil, err
	}
	signature, err := s.cms(slices.Concat(signed.before(), signed.after()))
	if err != nil {
		return nil, fmt.Errorf("sign PDF: %w", err)
	}
	if len(signature) > s.room {
		return nil, errors.New("sign PDF: the signature is longer than its place")
	}
	return signed.fill(signature), nil
}

// An unsigned is a PDF with an empty signature.
type unsigned struct {
	bytes      []byte
	start, end int // of the signature's place, with its brackets
}

// before and after are what is signed.
func (u unsigned) before() []byte { return u.bytes[:u.start] }
func (u unsigned) after() []byte  { return u.bytes[u.end:] }

// fill writes the signature into its place.
func (u unsigned) fill(signature []byte) []byte {
	copy(u.bytes[u.start+1:], bytes.ToUpper(fmt.Appendf(nil, "%x", signature)))
	return u.bytes
}
