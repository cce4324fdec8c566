package config

import (
	"log/slog"
	"net/mail"
	"net/url"
	"regexp"

	"candor/internal/billing"
	"candor/internal/billing/stripe"
)

// transferDays is how long a bank transfer may take, by default. Stripe collects at
// once.
const transferDays = 14

// Stripe is how to reach Stripe; the zero value if it isn't used.
type Stripe struct{ SecretKey, WebhookSecret, APIURL string }

// LogValue hides the secrets.
func (Stripe) LogValue() slog.Value { return slog.StringValue("stripe") }

// String hides the secrets when a Config is printed.
func (Stripe) String() string { return "stripe" }

// unread are addresses that no one reads, so that partners aren't told to write there.
var unread = regexp.MustCompile(`(?i)^(no|do[-_.]?not)[-_.]?reply\b`)

// settleBilling sets what depends on how invoices are paid, and returns the errors
// of these variables.
func (c *Config) settleBilling() (errs []string) {
	s := c.Stripe
	switch {
	case s.SecretKey == "" && s.WebhookSecret != "":
		errs = append(errs, "CANDOR_STRIPE_SECRET_KEY is missing: CANDOR_STRIPE_WEBHOOK_SECRET needs it")
	case s.SecretKey != "" && s.WebhookSecret == "":
		errs = append(errs,
			"CANDOR_STRIPE_WEBHOOK_SECRET is missing: without it Stripe can't report payments. Copy it from the webhook endpoint at Stripe")
	}
	if s.APIURL != "" {
		if u, err := url.Parse(s.APIURL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || !c.Development {
			errs = append(errs, "CANDOR_STRIPE_API_URL must be an address such as http://localhost:12111, in development only")
		}
	}
	c.Terms.Seller.Cards = s.SecretKey != ""
	if from, err := mail.ParseAddress(c.MailFrom); err == nil && !unread.MatchString(from.Address) {
		c.Terms.Contact = from.Address
	}
	switch {
	case c.dueDays != nil:
		c.Terms.DueDays = *c.dueDays
	case s.SecretKey == "":
		c.Terms.DueDays = transferDays
	}
	return errs
}

// paymentMethod names how invoices are paid.
func (c *Config) paymentMethod() string {
	if c.Stripe.SecretKey != "" {
		return stripe.Name
	}
	return billing.Manual{}.Name()
}
