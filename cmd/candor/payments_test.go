package main

import (
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"testing"

	"candor/internal/billing"
	"candor/internal/demo"
	"candor/internal/domain"
)

func TestConfigOfBilling(t *testing.T) {
	t.Parallel()
	const key, secret = "CANDOR_STRIPE_SECRET_KEY", "CANDOR_STRIPE_WEBHOOK_SECRET"
	byCard := domain.Seller{Cards: true}
	for name, tt := range map[string]struct {
		env  map[string]string
		want billing.Terms
	}{
		"nothing set":           {nil, billing.Terms{GSTBasisPoints: 1000, DueDays: 14}},
		"Stripe":                {map[string]string{key: "sk_1", secret: "whsec_1"}, billing.Terms{GSTBasisPoints: 1000, Seller: byCard}},
		"Stripe, a week later":  {map[string]string{key: "sk_1", secret: "whsec_1", "CANDOR_INVOICE_DUE_DAYS": "7"}, billing.Terms{GSTBasisPoints: 1000, DueDays: 7, Seller: byCard}},
		"due at once":           {map[string]string{"CANDOR_INVOICE_DUE_DAYS": "0"}, billing.Terms{GSTBasisPoints: 1000}},
		"no GST":                {map[string]string{"CANDOR_GST_PERCENT": "0"}, billing.Terms{DueDays: 14}},
		"a half":                {map[string]string{"CANDOR_GST_PERCENT": "12.5"}, billing.Terms{GSTBasisPoints: 1250, DueDays: 14}},
		"two decimals":          {map[string]string{"CANDOR_GST_PERCENT": "0.05"}, billing.Terms{GSTBasisPoints: 5, DueDays: 14}},
		"as much as there is":   {map[string]string{"CANDOR_GST_PERCENT": "100.00"}, billing.Terms{GSTBasisPoints: 10_000, DueDays: 14}},
		"a mock in development": {map[string]string{key: "sk_1", secret: "whsec_1", "CANDOR_STRIPE_API_URL": "http://localhost:12111"}, billing.Terms{GSTBasisPoints: 1000, Seller: byCard}},
	} {
		if c := read(t, tt.env); !reflect.DeepEqual(c.Terms, tt.want) {
			t.Errorf("%s: %+v, want %+v", name, c.Terms, tt.want)
		}
	}
}

func TestConfigOfBillingRefused(t *testing.T) {
	t.Parallel()
	for _, env := range []map[string]string{
		{"CANDOR_STRIPE_SECRET_KEY": "", "CANDOR_STRIPE_WEBHOOK_SECRET": "whsec_hidden"},
		{"CANDOR_STRIPE_WEBHOOK_SECRET": "", "CANDOR_STRIPE_SECRET_KEY": "sk_hidden"},
		{"CANDOR_STRIPE_API_URL": "localhost:12111"},
		{"CANDOR_STRIPE_API_URL": "https://stripe.example", "CANDOR_ENV": "production"},
		{"CANDOR_GST_PERCENT": "ten"}, {"CANDOR_GST_PERCENT": "-1"}, {"CANDOR_GST_PERCENT": "100.01"},
		{"CANDOR_GST_PERCENT": "10.125"}, {"CANDOR_GST_PERCENT": "10."}, {"CANDOR_GST_PERCENT": ".5"}, {"CANDOR_GST_PERCENT": "1e1"},
		{"CANDOR_INVOICE_DUE_DAYS": "-1"}, {"CANDOR_INVOICE_DUE_DAYS": "366"}, {"CANDOR_INVOICE_DUE_DAYS": "soon"},
	} {
		_, err := readConfig(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		named := false
		for name := range env {
			named = named || err != nil && strings.Contains(err.Error(), name+" ")
		}
		if !named || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v: %v, want a problem named by its variable that shows no secret", env, err)
		}
	}
}

func TestWarnsOfSeller(t *testing.T) {
	t.Parallel()
	const name, abn, gst = "CANDOR_SELLER_NAME", "CANDOR_SELLER_ABN", "CANDOR_GST_PERCENT"
	for _, tt := range []struct {
		env  map[string]string
		want []string // variables in the warning, none for none
	}{
		{nil, []string{name, abn, gst}},
		{map[string]string{name: "Candor Pty Ltd"}, []string{abn, gst}},
		{map[string]string{abn: "51 824 753 556"}, []string{name, gst}},
		{map[string]string{name: "Candor Pty Ltd", abn: "51 824 753 556"}, nil},
		{map[string]string{gst: "0"}, nil},
		{map[string]string{name: demo.Seller.Name, abn: demo.Seller.ABN}, nil}, // its ABN is valid
	} {
		var log strings.Builder
		c := read(t, tt.env)
		c.warnOfSeller(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		for _, variable := range []string{name, abn, gst} {
			if got, want := strings.Contains(log.String(), variable), slices.Contains(tt.want, variable); got != want {
				t.Errorf("%v: %s in the warning: %t, want %t\n%s", tt.env, variable, got, want, log.String())
			}
		}
		if strings.Count(log.String(), "\n") != min(1, len(tt.want)) {
			t.Errorf("%v: not one line: %s", tt.env, log.String())
		}
	}
}

func TestConfigPrintsNoSecretOfStripe(t *testing.T) {
	t.Parallel()
	c := read(t, map[string]string{"CANDOR_STRIPE_SECRET_KEY": "sk_hidden", "CANDOR_STRIPE_WEBHOOK_SECRET": "whsec_hidden"})
	for _, text := range []string{fmt.Sprint(c.LogValue()), fmt.Sprintf("%+v", c), fmt.Sprint(c.Stripe)} {
		if strings.Contains(text, "hidden") {
			t.Errorf("the configuration prints a secret: %s", text)
		}
	}
	if text := fmt.Sprint(c.LogValue()); !strings.Contains(text, "payments=stripe") {
		t.Errorf("the configuration doesn't say how invoices are paid: %s", text)
	}
}

// Production says at its start that the network can read what goes to the
// database, without the password.
func TestDatabaseWarning(t *testing.T) {
	t.Parallel()
	for dsn, warned := range map[string]bool{"postgres://candor:hunter2@db.example/candor": true, "postgres://candor:hunter2@db.example/candor?sslmode=verify-full": false} {
		var log strings.Builder
		c := Config{DatabaseURL: dsn}
		c.warnOfDatabase(t.Context(), slog.New(slog.NewTextHandler(&log, nil)))
		if got := strings.Contains(log.String(), "sslmode=verify-full to DATABASE_URL"); got != warned || strings.Contains(log.String(), "hunter2") {
			t.Errorf("%s: logged %q, want a warning: %v", dsn, log.String(), warned)
		}
	}
}
