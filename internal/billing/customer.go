package billing

import (
	"context"
	"errors"

	"candor/db"
	"candor/internal/domain"
)

// A Customer is an account at a payment provider.
type Customer struct {
	ID       string // "" before it has one
	MethodID string // of the stored payment method; "" for none
	Label    string // of the payment method, for staff: "Visa ending in 4242"
}

// Customers remembers the accounts' customers at payment providers.
type Customers interface {
	// Customer returns the account's customer at the provider, the zero value
	// if it has none.
	Customer(ctx context.Context, account domain.AccountID, provider string) (Customer, error)
	// SetCustomer stores the customer in place of the former one ("" for
	// none), unless another one has been stored since.
	SetCustomer(ctx context.Context, account domain.AccountID, provider, id, former string) error
}

// StoredCustomers are Customers in the database.
type StoredCustomers struct{ DB *db.DB }

// Customer reads the account's row.
func (s StoredCustomers) Customer(ctx context.Context, account domain.AccountID, provider string) (Customer, error) {
	m, err := s.DB.PaymentMethod(ctx, account, provider)
	if errors.Is(err, db.ErrNotFound) {
		return Customer{}, nil
	}
	if err != nil {
		return Customer{}, err
	}
	out := Customer{ID: m.CustomerID}
	if m.MethodID != nil {
		out.MethodID = *m.MethodID
	}
	if m.Label != nil {
		out.Label = *m.Label
	}
	return out, nil
}

// SetCustomer writes the account's row.
func (s StoredCustomers) SetCustomer(ctx context.Context, account domain.AccountID, provider, id, former string) error {
	return s.DB.SetCustomer(ctx, &db.PaymentMethod{AccountID: account, Provider: provider, CustomerID: id}, former)
}
