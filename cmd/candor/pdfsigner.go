package main

import (
	"fmt"
	"time"

	"candor/cmd/candor/config"
	"candor/internal/platform/pdfsign"
)

// openSigner reads who signs PDFs (D81), or returns nil if they aren't signed. Its
// errors begin with the variable that is wrong.
func openSigner(c config.Config, now time.Time) (*pdfsign.Signer, error) {
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
	if err := signer.Check(now); err != nil {
		return nil, fmt.Errorf("CANDOR_PDF_CERT %w", err)
	}
	return signer, nil
}
