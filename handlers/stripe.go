package handlers

import (
	"errors"
	"io"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/internal/billing"
)

// maxStripeEvent bounds the body of Stripe's webhook, in bytes.
const maxStripeEvent = 256 << 10

// stripeEvent takes a webhook of Stripe, which resends it until the status is
// 200.
func (s *server) stripeEvent(c echo.Context) error {
	r := c.Request()
	body, err := io.ReadAll(http.MaxBytesReader(c.Response(), r.Body, maxStripeEvent))
	if err != nil {
		return err
	}
	event, err := s.Stripe.Event(r.Context(), body, r.Header.Get("Stripe-Signature"), s.Clock.Now())
	if errors.Is(err, billing.ErrSignature) {
		return c.String(http.StatusBadRequest, "The signature doesn’t hold.\n")
	}
	if err != nil {
		return err
	}
	if err := s.Billing.ProviderEvent(r.Context(), "stripe", event); err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
