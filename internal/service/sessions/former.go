package sessions

import (
	"context"
	"slices"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// offerFormer reads what the new session offers of its former one (D101). The former can't
// be erased before the new one is stored, and one that was erased is refused.
func (s *Service) offerFormer(ctx context.Context, tx *db.Tx, session *domain.Session) error {
	former, err := tx.ShareSession(ctx, session.Scope(), *session.PreviousSessionID)
	if err != nil {
		return db.MissingAs(err, domain.Breaks(domain.CodeValidation, "prefill_from", form.Rule{Code: "previous_missing"}))
	}
	account, err := tx.Account(ctx, session.AccountID)
	if err != nil {
		return err
	}
	now := s.Clock.Now()
	switch {
	case former.DataGone(account, now):
		return domain.Breaks(domain.CodeValidation, "prefill_from", form.Rule{Code: "previous_erased"})
	case !sameAddress(former.CustomerEmail, session.CustomerEmail):
		return domain.Breaks(domain.CodeValidation, "prefill_from", form.Rule{Code: "previous_customer"})
	case former.StatusAt(now).Open():
		return domain.Breaks(domain.CodeValidation, "prefill_from", form.Rule{Code: "previous_open"})
	}
	stored, err := s.Vault.Form(ctx, tx, former.ID)
	if err != nil {
		return err
	}
	answers, err := stored.Statement()
	if err != nil {
		return err
	}
	if !sameCustomer(session, former, answers) {
		return domain.Breaks(domain.CodeValidation, "prefill_from", form.Rule{Code: "previous_name"})
	}
	session.Offers, err = stored.Offers(former.ID)
	return err
}

// sameCustomer reports whether the name that the new session is for, if any, is one of those
// that the former knows: two people can have one mailbox.
func sameCustomer(session, former *domain.Session, answers *statement.Statement) bool {
	var known []string
	for _, name := range []*string{former.CustomerName, &answers.Personal.FullName} {
		if name != nil && *name != "" {
			known = append(known, *name)
		}
	}
	return session.CustomerName == nil || len(known) == 0 ||
		slices.ContainsFunc(known, func(name string) bool { return statement.SameName(name, *session.CustomerName) })
}

// sameAddress compares email addresses without case. Of those that are equal so, some, as
// with the Kelvin sign for a k, are another mailbox; they have other lengths.
func sameAddress(a, b string) bool { return len(a) == len(b) && strings.EqualFold(a, b) }
