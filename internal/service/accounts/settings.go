package accounts

import (
	"context"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

// Settings are what staff can set of their account, as they are typed.
type Settings struct {
	Name         string
	HelpEmail    string // where customers get help; "" for none
	HelpPhone    string
	MoneyHelp    string // free help with money trouble; "" for the National Debt Helpline
	MoneyHelpURL string // what MoneyHelp links to; "" for nothing
	NextSteps    string // what customers read after submission; "" for our sentence (D83)
	ReceiptEmail bool   // customers get an email that a live statement arrived
	BrandColour  string // six hex digits, with or without #; "" for ours
}

var (
	hexColour = regexp.MustCompile(`^[0-9a-f]{6}$`)
	phone     = regexp.MustCompile(`^\+?[0-9][0-9 ()-]{4,30}$`)
)

var (
	errNoFactorShown   = domain.Breaks(domain.CodeValidation, "require-two-step", form.Rule{Code: "has_factor"})
	errPasskeyNotShown = domain.Breaks(domain.CodeValidation, "require-two-step", form.Rule{Code: "uses_passkey"})
)

// ChangeSettings stores an account's settings. Error: validation_error by
// field name, help_email, help_phone, money_help, money_help_url, next_steps or brand_colour.
func (s *Service) ChangeSettings(ctx context.Context, id domain.AccountID, by domain.Actor, params Settings) error {
	name, brokenName := domain.CleanName(params.Name, form.Rule{Code: "account_name"}, "name")
	email, number := strings.TrimSpace(params.HelpEmail), strings.TrimSpace(params.HelpPhone)
	colour := strings.ToLower(strings.TrimPrefix(strings.TrimSpace(params.BrandColour), "#"))
	var brokenEmail, brokenPhone, brokenColour form.Rule
	if email != "" && !form.ValidEmail(email) {
		brokenEmail = form.Rule{Code: "help_email"}
	}
	if number != "" && !phone.MatchString(number) {
		brokenPhone = form.Rule{Code: "help_phone"}
	}
	if colour != "" && !hexColour.MatchString(colour) {
		brokenColour = form.Rule{Code: "colour"}
	}
	help, brokenHelp, link, brokenLink := cleanMoneyHelp(params)
	next, brokenNext := domain.CleanWords(strings.Join(strings.Fields(params.NextSteps), " "), maxNextSteps)
	err := domain.Invalid(form.Error{Field: "next_steps", Rule: brokenNext}, form.Error{Field: "money_help", Rule: brokenHelp},
		form.Error{Field: "money_help_url", Rule: brokenLink}, form.Error{Field: "name",
			Rule: brokenName}, form.Error{Field: "help_email", Rule: brokenEmail}, form.Error{Field: "help_phone", Rule: brokenPhone},
		form.Error{Field: "brand_colour", Rule: brokenColour})
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		before := settingsState(account)
		account.Name, account.HelpEmail, account.HelpPhone, account.BrandColour = name, optional(email), optional(number),
			optional(colour)
		account.MoneyHelp, account.MoneyHelpURL = optional(help), optional(link)
		account.NextSteps, account.ReceiptEmail = optional(next), params.ReceiptEmail
		return s.updateAccount(ctx, tx, account, by, before, settingsState(account))
	})
}

const (
	maxMoneyHelp    = 100
	maxMoneyHelpURL = 500
	maxNextSteps    = 500
)

// cleanMoneyHelp returns where customers get free help, and the rules that it
// breaks: a link over https, with a text.
func cleanMoneyHelp(params Settings) (text string, brokenText form.Rule, link string, brokenLink form.Rule) {
	text, brokenText = form.CleanLine(params.MoneyHelp, maxMoneyHelp)
	link, brokenLink = form.CleanLine(params.MoneyHelpURL, maxMoneyHelpURL)
	if u, err := url.Parse(link); link != "" && brokenLink == (form.Rule{}) &&
		(err != nil || u.Scheme != "https" || !strings.Contains(u.Hostname(), ".") || u.User != nil) {
		brokenLink = form.Rule{Code: "https"}
	}
	if text == "" && link != "" && brokenText == (form.Rule{}) {
		brokenText = form.Rule{Code: "money_help"}
	}
	return text, brokenText, link, brokenLink
}

// updateAccount stores a changed account, with an audit entry.
func (s *Service) updateAccount(ctx context.Context, tx *db.Tx, account *domain.Account, by domain.Actor, before,
	after map[string]any) error {
	if err := tx.UpdateAccount(ctx, account); err != nil {
		return err
	}
	return s.Audit.Record(ctx, tx, account.ID, by, audit.Entry{
		Action: domain.AuditAccountChanged, TargetID: account.ID.String(), TargetName: account.Name, Before: before, After: after,
	})
}

// ChangeFormLanguages sets which languages the account's forms offer besides
// English. Error: validation_error on languages.
func (s *Service) ChangeFormLanguages(ctx context.Context, id domain.AccountID, by domain.Actor, params []string) error {
	var chosen []domain.Language
	for _, l := range domain.Languages[1:] {
		if slices.Contains(params, string(l)) {
			chosen = append(chosen, l)
		}
	}
	if len(chosen) != len(params) {
		return domain.Breaks(domain.CodeValidation, "languages", form.Rule{Code: "languages"})
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		before := languagesState(account)
		if account.FormLanguages = chosen; languagesState(account) == before {
			return nil
		}
		return s.updateAccount(ctx, tx, account, by, map[string]any{"form_languages": before},
			map[string]any{"form_languages": languagesState(account)})
	})
}

// RequireTwoStep sets whether everyone in the account's team needs a second
// factor. Staff without one set it up before the dashboard opens. An owner who
// requires it must have shown one in this session, and can't lock everyone out.
// Error: validation_error on require-two-step.
func (s *Service) RequireTwoStep(ctx context.Context, session *domain.StaffSession, by domain.Actor, required bool) error {
	switch {
	case !required || session.SecondFactorShown():
	case session.HasPasskey:
		return errPasskeyNotShown
	default:
		return errNoFactorShown
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, session.AccountID)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		if account.TwoStepRequired == required {
			return nil
		}
		account.TwoStepRequired = required
		return s.updateAccount(ctx, tx, account, by, map[string]any{"two_step_required": !required},
			map[string]any{"two_step_required": required})
	})
}

// ChangeTimeZone sets the zone of the account's dashboard, emails and exports.
// Error: validation_error on time_zone.
func (s *Service) ChangeTimeZone(ctx context.Context, id domain.AccountID, by domain.Actor, zone string) error {
	if !domain.KnownTimeZone(zone) {
		return domain.Breaks(domain.CodeValidation, "time_zone", form.Rule{Code: "time_zone"})
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		before := account.TimeZone
		if before == zone {
			return nil
		}
		account.TimeZone = zone
		return s.updateAccount(ctx, tx, account, by, map[string]any{"time_zone": before}, map[string]any{"time_zone": zone})
	})
}

func languagesState(a *domain.Account) string {
	var names []string
	for _, l := range a.Languages() {
		names = append(names, string(l))
	}
	return strings.Join(names, ", ")
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func settingsState(a *domain.Account) map[string]any {
	return map[string]any{"name": a.Name, "help_email": a.HelpEmail, "help_phone": a.HelpPhone, "money_help": a.MoneyHelp,
		"money_help_url": a.MoneyHelpURL, "brand_colour": a.BrandColour, "next_steps": a.NextSteps, "receipt_email": a.ReceiptEmail}
}
