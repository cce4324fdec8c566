package stripe

import (
	"context"
	"errors"
	"net/url"

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
	if page == "" {
		return "", errors.New("stripe: the card's page has no address")
	}
	return page, nil
}

func (p *provider) cardPage(ctx context.Context, account *domain.Account, customer, success, cancel string) (page string,
	err error) {
	var made struct {
		URL string `json:"url"`
	}
	err = p.client.post(ctx, "/v1/checkout/sessions", "", url.Values{
		"mode": {"setup"}, "customer": {customer}, "payment_method_types[0]": {"card"}, "success_url": {success},
		"cancel_url":                   {cancel},
		"metadata[" + accountKey + "]": {account.ID.String()},
		"setup_intent_data[metadata][" + accountKey + "]": {account.ID.String()},
	}, &made)
	return made.URL, err
}

// isGone reports whether a call failed because its customer was deleted at
// Stripe.
func isGone(err error) bool {
	var e *apiError
	return errors.As(err, &e) && e.Code == "resource_missing" && e.Param == "customer"
}

// customer returns the account's customer at Stripe. It creates one if the
// account has none, or if its customer was deleted. Two calls at once get the
// same customer, by the idempotency key or by what is stored.
func (p *provider) customer(ctx context.Context, account *domain.Account, former string) (string, error) {
	known, err := p.customers.Customer(ctx, account.ID, Name)
	if err != nil || known.ID != former {
		return known.ID, err
	}
	key := "account-" + account.ID.String()
	if former != "" {
		key += "-after-" + former
	}
	var made reference
	err = p.client.post(ctx, "/v1/customers", key, url.Values{
		"name": {account.Name}, "email": {account.BillingEmail}, "metadata[" + accountKey + "]": {account.ID.String()},
	}, &made)
	if err != nil {
		return "", failure("make a customer", err)
	}
	if err := p.customers.SetCustomer(ctx, account.ID, Name, made.ID, former); err != nil {
		return "", err
	}
	known, err = p.customers.Customer(ctx, account.ID, Name)
	return known.ID, err
}
