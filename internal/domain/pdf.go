package domain

// A PDF is a session's statement as it is issued.
type PDF struct {
	Content      []byte
	Pages        int
	Signer       string // the subject of the certificate that signed it (D81); "" if it isn't signed
	SignerIssuer string // who issued that certificate
}
