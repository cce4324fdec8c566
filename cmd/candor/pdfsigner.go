package main

import (
	"fmt"

	"candor/cmd/candor/config"
	"candor/internal/platform/pdfsign"
)

// openSigner reads who signs PDFs (D81), or returns nil if they aren't signed. Its
// errors begin with the variable that is wrong. The certificate may have expired: then
// PDFs wait, and all else works.
func openSigner(c config.Config) (*pdfsign.Signer, error) {
	if c.PDFCert == "" || c.PDFKey == "" {
		return nil, nil
	}
	chain, err := pdfsign.ReadChain(c.PDFCert)
	if err != nil {
		return nil, fmt.Errorf("CANDOR_PDF_CERT %w", err)
	}
	key, err := pdfsign.ReadKey(c.PDFKey)
	if err != nil {
		return nil, fmt.Errorf("CANDOR_PDF_KEY %w", err)
	}
	signer, err := pdfsign.New(chain, key)
	if err != nil {
		return nil, fmt.Errorf("CANDOR_PDF_KEY %w", err)
	}
	return signer, nil
}
