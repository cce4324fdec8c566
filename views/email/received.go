package email

import (
	"context"

	"candor/internal/domain"
	"candor/views/i18n"
)

// Received tells a customer that the statement arrived, in the context's language and on
// its clock (D83). It has no answer and no link.
func Received(ctx context.Context, partner *domain.Account, session *domain.Session) Email {
	next := i18n.T(ctx, "{partner} reads it, and contacts you with any questions.", partner.Name)
	if partner.NextSteps != nil {
		next = *partner.NextSteps
	}
	return Email{
		Language: i18n.Language(ctx),
		Subject:  i18n.T(ctx, "Your statement has been sent"),
		Lines: []string{
			i18n.T(ctx, "Signed and sent to {partner} on {date}.", partner.Name, i18n.DayOf(ctx, *session.CompletedAt)),
			i18n.T(ctx, "Your reference: {reference}", session.Reference()),
			next,
		},
		After: []string{i18n.T(ctx, "This email has no answers and no links. If you sent no statement, tell {partner}.", partner.Name)},
	}
}
