package main

import (
	"context"
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"

	"candor/db"
	"candor/internal/billing"
	"candor/internal/billing/stripe"
)

// transferDays are how long a bank transfer may take, where nothing else is
// set. Stripe collects at once.
const transferDays = 14

// stripeConfig is how Stripe is reached; empty where it isn't used.
type stripeConfig struct{ secretKey, webhookSecret, apiURL string }

// LogValue shows none of it: two of the three are secrets.
func (stripeConfig) LogValue() slog.Value { return slog.StringValue("stripe") }

// String is for those who print a Config.
func (stripeConfig) String() string { return "stripe" }

// settleBilling fills in what follows from how invoices are paid, and returns
// what is missing.
func (c *Config) settleBilling() (missing []string) {
	s := c.Stripe
	switch {
	case s.secretKey == "" && s.webhookSecret != "":
		missing = append(missing, "CANDOR_STRIPE_SECRET_KEY is missing: CANDOR_STRIPE_WEBHOOK_SECRET is of no use without it")
	case s.secretKey != "" && s.webhookSecret == "":
		missing = append(missing, "CANDOR_STRIPE_WEBHOOK_SECRET is missing: without it nobody is told how payments went. Take it from the webhook endpoint at Stripe")
	}
	if s.apiURL != "" {
		if u, err := url.Parse(s.apiURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !c.Development {
			missing = append(missing, "CANDOR_STRIPE_API_URL must be an address such as http://localhost:12111, in development alone")
		}
	}
	c.Terms.Seller.Cards = s.secretKey != ""
	switch {
	case c.dueDays != nil:
		c.Terms.DueDays = *c.dueDays
	case s.secretKey == "":
		c.Terms.DueDays = transferDays
	}
	return missing
}

// setGST reads a percentage of two decimals at most.
func (c *Config) setGST(text string) error {
	wrong := errors.New("must be a percentage from 0 to 100 with two decimals at most, such as 10 or 12.5")
	whole, fraction, dotted := strings.Cut(text, ".")
	if len(whole) > 3 || len(fraction) > 2 || dotted && fraction == "" {
		return wrong
	}
	n, err := strconv.ParseUint(whole+(fraction + "00")[:2], 10, 32)
	if err != nil || whole == "" || n > 100_00 {
		return wrong
	}
	c.Terms.GSTBasisPoints = int(n)
	return nil
}

func (c *Config) setDueDays(text string) error {
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n > 365 {
		return errors.New("must be a whole number of days from 0 to 365")
	}
	days := int(n)
	c.dueDays = &days
	return nil
}

// setABN reads eleven digits, which check each other, and writes them as people
// do.
func (c *Config) setABN(text string) error {
	wrong := errors.New("must be an Australian Business Number of 11 digits, such as 51 824 753 556")
	digits := strings.ReplaceAll(text, " ", "")
	if len(digits) != 11 || strings.Trim(digits, "0123456789") != "" {
		return wrong
	}
	sum := -10 // the first digit counts less one, ten times
	for i, weight := range [...]int{10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19} {
		sum += int(digits[i]-'0') * weight
	}
	if sum%89 != 0 {
		return wrong
	}
	c.Terms.Seller.ABN = digits[:2] + " " + digits[2:5] + " " + digits[5:8] + " " + digits[8:]
	return nil
}

// setLines reads lines that stand between semicolons.
func setLines(to *[]string) func(string) error {
	return func(text string) error {
		for line := range strings.SplitSeq(text, ";") {
			*to = append(*to, strings.TrimSpace(line))
		}
		return nil
	}
}

// warnOfSeller says it where invoices include GST and yet can't be tax invoices.
func (c *Config) warnOfSeller(ctx context.Context, logger *slog.Logger) {
	var unset []string
	if c.Terms.Seller.Name == "" {
		unset = append(unset, "CANDOR_SELLER_NAME")
	}
	if c.Terms.Seller.ABN == "" {
		unset = append(unset, "CANDOR_SELLER_ABN")
	}
	if c.Terms.GSTBasisPoints > 0 && len(unset) > 0 {
		logger.WarnContext(ctx, "invoices include GST and are no tax invoices without "+strings.Join(unset, " and ")+
			": who isn't registered for GST sets CANDOR_GST_PERCENT to 0")
	}
}

// payments names how invoices are paid.
func (c *Config) payments() string {
	if c.Stripe.secretKey != "" {
		return stripe.Name
	}
	return billing.Manual{}.Name()
}

// openStripe is Stripe, nil where it isn't set up.
func openStripe(c Config, database *db.DB) *stripe.Provider {
	if c.Stripe.secretKey == "" {
		return nil
	}
	return stripe.New(stripe.Config{
		SecretKey: c.Stripe.secretKey, WebhookSecret: c.Stripe.webhookSecret, APIURL: c.Stripe.apiURL,
		Customers: billing.StoredCustomers{DB: database},
	})
}
