package main

import (
	"crypto/x509"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/cmd/candor/config"
	"candor/internal/demo"
	"candor/internal/testkit/signtest"
)

func TestWarnsOfSeller(t *testing.T) {
	t.Parallel()
	const name, abn, gst, bank = "CANDOR_SELLER_NAME", "CANDOR_SELLER_ABN", "CANDOR_GST_PERCENT", "CANDOR_BANK_DETAILS"
	for _, tt := range []struct {
		env  map[string]string
		want []string // variables in the warning; empty for no warning
	}{
		{map[string]string{bank: "BSB 062-000"}, []string{name, abn, gst}},
		{map[string]string{bank: "BSB 062-000", name: "Candor Pty Ltd"}, []string{abn, gst}},
		{map[string]string{bank: "BSB 062-000", abn: "51 824 753 556"}, []string{name, gst}},
		{map[string]string{bank: "BSB 062-000", name: "Candor Pty Ltd", abn: "51 824 753 556"}, nil},
		{map[string]string{bank: "BSB 062-000", gst: "0"}, nil},
		{map[string]string{bank: "BSB 062-000", name: demo.Seller.Name, abn: demo.Seller.ABN}, nil}, // its ABN is valid
		{map[string]string{gst: "0"}, []string{bank}},
		{map[string]string{gst: "0", "CANDOR_STRIPE_SECRET_KEY": "sk_test_x", "CANDOR_STRIPE_WEBHOOK_SECRET": "whsec_x"}, nil},
	} {
		c, err := config.Read(func(name string) (string, bool) { v, ok := tt.env[name]; return v, ok })
		if err != nil {
			t.Fatal(err)
		}
		warnings := []error{taxWarning(c), paymentWarning(c)}
		text := fmt.Sprint(warnings)
		for _, variable := range []string{name, abn, gst, bank} {
			if got, want := strings.Contains(text, variable), slices.Contains(tt.want, variable); got != want {
				t.Errorf("%v: %s in the warning: %t, want %t\n%s", tt.env, variable, got, want, text)
			}
		}
		if warnings[0] != nil && warnings[1] != nil {
			t.Errorf("%v: not one warning: %s", tt.env, text)
		}
	}
}

// In production the start warns if the network can read what goes to the database.
// The warning doesn't show the password.
func TestDatabaseWarning(t *testing.T) {
	t.Parallel()
	for dsn, warned := range map[string]bool{"postgres://candor:hunter2@db.example/candor": true,
		"postgres://candor:hunter2@db.example/candor?sslmode=verify-full": false} {
		text := fmt.Sprint(settingWarnings(config.Config{DatabaseURL: dsn}))
		if got := strings.Contains(text, "sslmode=verify-full to DATABASE_URL"); got != warned || strings.Contains(text, "hunter2") {
			t.Errorf("%s: %s, want a warning: %v", dsn, text, warned)
		}
	}
}

// The start warns 30 days before the certificate that signs PDFs expires.
func TestCertificateWarning(t *testing.T) {
	t.Parallel()
	now := time.Now()
	for days, warned := range map[int]bool{31: false, 29: true, -1: false} { // once it has expired, a worker doesn't start
		files := signtest.New(t, signtest.ECDSA(t), func(c *x509.Certificate) { c.NotAfter = now.AddDate(0, 0, days) })
		text := fmt.Sprint(settingWarnings(config.Config{PDFCert: files.Certificate, PDFKey: files.Key}))
		if got := strings.Contains(text, "the certificate that signs PDFs as "); got != warned {
			t.Errorf("with %d days left: %s, want a warning: %v", days, text, warned)
		}
	}
}
