package stripe

import (
	"context"
	"errors"

	"github.com/stripe/stripe-go/v85"

	"candor/billing"
	"candor/intake"
)

// CardPage returns the address of a page of Stripe's on which the account's
// staff store a card. It leads to success or cancel; that a card is stored is
// told by an event, which can come a little later.
func (p *Provider) CardPage(ctx context.Context, account *intake.Account, success, cancel string) (string, error) {
	customer, err := p.customer(ctx, account)
	if err != nil {
		return "", err
	}
	mark := map[string]string{accountKey: account.ID.String()}
	session, err := p.client.V1CheckoutSessions.Create(ctx, &stripe.CheckoutSessionCreateParams{
		Mode: stripe.String(string(stripe.CheckoutSessionModeSetup)), Customer: stripe.String(customer),
		PaymentMethodTypes: stripe.StringSlice([]string{"card"}),
		SuccessURL:         stripe.String(success), CancelURL: stripe.String(cancel),
		Metadata:        mark,
		SetupIntentData: &stripe.CheckoutSessionCreateSetupIntentDataParams{Metadata: mark},
	})
	if err != nil {
		return "", failure("make the card's page", err)
	}
	if session.URL == "" {
		return "", errors.New("stripe: the card's page has no address")
	}
	return session.URL, nil
}

// customer returns the account's customer, made when it is needed first. Who
// comes second gets the first one's, by the idempotency key or by what is
// stored.
func (p *Provider) customer(ctx context.Context, account *intake.Account) (string, error) {
	known, err := p.customers.Customer(ctx, account.ID, Name)
	if err != nil || known.ID != "" {
		return known.ID, err
	}
	params := &stripe.CustomerCreateParams{
		Name: stripe.String(account.Name), Email: stripe.String(account.BillingEmail),
		Metadata: map[string]string{accountKey: account.ID.String()},
	}
	params.SetIdempotencyKey("account-" + account.ID.String())
	made, err := p.client.V1Customers.Create(ctx, params)
	if err != nil {
		return "", failure("make a customer", err)
	}
	if err := p.customers.SetCustomer(ctx, account.ID, Name, made.ID); err != nil {
		return "", err
	}
	known, err = p.customers.Customer(ctx, account.ID, Name)
	return known.ID, err
}

var _ billing.Provider = (*Provider)(nil)
