package pdfsign

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/asn1"
	"io"
	"slices"

	"github.com/smallstep/pkcs7"
)

// signingCertificateV2 names the certificate under the signature (RFC 5035), so that
// no other one with the same key can take its place. Its digest is SHA-256, the
// default, which DER leaves out.
type signingCertificateV2 struct {
	Certificates []struct{ Hash []byte }
}

var oidSigningCertificateV2 = asn1.ObjectIdentifier{1, 2, 840, 113549, 1, 9, 16, 2, 47}

// signsLater is a key that leaves its signature empty.
type signsLater struct{ crypto.Signer }

// Sign returns no signature.
func (signsLater) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) { return nil, nil }

// cms returns the detached signature of content, in DER. pkcs7 puts signing-time into
// each signature, which PAdES forbids (EN 319 142-1, 6.3): so it makes all but the
// signature, which follows once that attribute is gone.
func (s *Signer) cms(content []byte) ([]byte, error) {
	data, err := pkcs7.NewSignedData(content)
	if err != nil {
		return nil, err
	}
	data.SetDigestAlgorithm(pkcs7.OIDDigestAlgorithmSHA256)
	hash := sha256.Sum256(s.chain[0].Raw)
	err = data.AddSigner(s.chain[0], signsLater{s.key}, pkcs7.SignerInfoConfig{ExtraSignedAttributes: []pkcs7.Attribute{
		{Type: oidSigningCertificateV2, Value: signingCertificateV2{[]struct{ Hash []byte }{{hash[:]}}}},
	}})
	if err != nil {
		return nil, err
	}
	for _, c := range s.chain[1:] {
		data.AddCertificate(c)
	}
	signer := &data.GetSignedData().SignerInfos[0]
	for i, attribute := range signer.AuthenticatedAttributes {
		if attribute.Type.Equal(pkcs7.OIDAttributeSigningTime) {
			signer.AuthenticatedAttributes = slices.Delete(signer.AuthenticatedAttributes, i, i+1)
			break
		}
	}
	attributes, err := asn1.MarshalWithParams(signer.AuthenticatedAttributes, "set")
	if err != nil {
		return nil, err
	}
	digest := sha256.Sum256(attributes)
	if signer.EncryptedDigest, err = s.key.Sign(rand.Reader, digest[:], crypto.SHA256); err != nil {
		return nil, err
	}
	if _, ok := s.key.Public().(*rsa.PublicKey); ok { // RFC 4055: for RSA they are NULL, not absent
		signer.DigestEncryptionAlgorithm.Parameters = asn1.NullRawValue
	}
	data.Detach()
	return data.Finish()
}
