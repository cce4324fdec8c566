package stripe

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v85"

	"candor/internal/domain"
)

// CardPage returns the address of Stripe's page for storing a card. It leads
// back to success or cancel. The stored card arrives with an event, perhaps a
// little later.
func (p *provider) CardPage(ctx context.Context, account *domain.Account, success, cancel string) (string, error) {
	customer, err := p.customer(ctx, account, "")
	if err != nil {
		return "", err
	}
	page, err := p.cardPage(ctx, account, customer, success, cancel)
	if isGone(err) {
		if customer, err = p.customer(ctx, account, customer); err != nil {
			return "", err
		}
		page, err = p.cardPage(ctx, account, customer, success, cancel)
	}
	if err != nil {
		return "", failure("make the card's page", err)
	}
	if page.URL == "" {
		return "", errors.New("stripe: the card's page has no address")
	}
	return page.URL, nil
}

func (p *provider) cardPage(ctx context.Context, account *domain.Account, customer, success,
	cancel string) (*stripe.CheckoutSession, error) {
	mark := map[string]string{accountKey: account.ID.String()}
	return p.client.V1CheckoutSessions.Create(ctx, &stripe.CheckoutSessionCreateParams{
		Mode: stripe.String(string(stripe.CheckoutSessionModeSetup)), Customer: stripe.String(customer),
		PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		SuccessURL:         stripe.String(success), CancelURL: stripe.String(cancel),
		Metadata:        mark,
		SetupIntentData: &stripe.CheckoutSessionCreateSetupIntentDataParams{Metadata: mark},
	})
}

// isGone reports whether a call failed because its customer was deleted at
// Stripe.
func isGone(err error) bool {
	var e *stripe.Error
	return errors.As(err, &e) && e.Code == stripe.ErrorCodeResourceMissing && e.Param == "customer"
}

// customer returns the account's customer at Stripe. It creates one if the
// account has none, or if its customer was deleted. Two calls at once get the
// same customer, by the idempotency key or by what is stored.
func (p *provider) customer(ctx context.Context, account *domain.Account, former string) (string, error) {
	known, err := p.customers.Customer(ctx, account.ID, Name)
	if err != nil || known.ID != former {
		return known.ID, err
	}
	params := &stripe.CustomerCreateParams{
		Name: stripe.String(account.Name), Email: stripe.String(account.BillingEmail),
		Metadata: map[string]string{accountKey: account.ID.String()},
	}
	key := "account-" + account.ID.String()
	if former != "" {
		key += "-after-" + former
	}
	params.SetIdempotencyKey(key)
	made, err := p.client.V1Customers.Create(ctx, params)
	if err != nil {
		return "", failure("make a customer", err)
	}
	if err := p.customers.SetCustomer(ctx, account.ID, Name, made.ID, former); err != nil {
		return "", err
	}
	known, err = p.customers.Customer(ctx, account.ID, Name)
	return known.ID, err
}
