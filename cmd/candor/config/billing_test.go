package config

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"candor/internal/billing"
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
		"nothing set": {nil, billing.Terms{GSTBasisPoints: 1000, DueDays: 14}},
		"Stripe": {map[string]string{key: "sk_1", secret: "whsec_1"}, billing.Terms{GSTBasisPoints: 1000,
			Seller: byCard}},
		"Stripe, a week later": {map[string]string{key: "sk_1", secret: "whsec_1", "CANDOR_INVOICE_DUE_DAYS": "7"},
			billing.Terms{GSTBasisPoints: 1000, DueDays: 7, Seller: byCard}},
		"due at once":  {map[string]string{"CANDOR_INVOICE_DUE_DAYS": "0"}, billing.Terms{GSTBasisPoints: 1000}},
		"no GST":       {map[string]string{"CANDOR_GST_PERCENT": "0"}, billing.Terms{DueDays: 14}},
		"a half":       {map[string]string{"CANDOR_GST_PERCENT": "12.5"}, billing.Terms{GSTBasisPoints: 1250, DueDays: 14}},
		"two decimals": {map[string]string{"CANDOR_GST_PERCENT": "0.05"}, billing.Terms{GSTBasisPoints: 5, DueDays: 14}},
		"as much as there is": {map[string]string{"CANDOR_GST_PERCENT": "100.00"}, billing.Terms{GSTBasisPoints: 10_000,
			DueDays: 14}},
		"a mock in development": {map[string]string{key: "sk_1", secret: "whsec_1", "CANDOR_STRIPE_API_URL": "http://localhost:12111"},
			billing.Terms{GSTBasisPoints: 1000, Seller: byCard}},
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
		_, err := Read(func(name string) (string, bool) { v, ok := env[name]; return v, ok })
		named := false
		for name := range env {
			named = named || err != nil && strings.Contains(err.Error(), name+" ")
		}
		if !named || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%v: %v, want an error that names its variable that shows no secret", env, err)
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
