package accounts

import (
	"context"
	"net/url"
	"reflect"
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
	Name                 string
	HelpEmail            string // where customers get help; "" for none
	HelpPhone            string
	MoneyHelp            string   // free help with money trouble; "" for the National Debt Helpline
	MoneyHelpURL         string   // what MoneyHelp links to; "" for nothing
	NextSteps            string   // what customers read after submission; "" for our sentence (D83)
	ReceiptEmail         bool     // customers get an email that a live statement arrived
	BrandColour          string   // six hex digits, with or without #; "" for ours
	Languages            []string // that forms offer besides English
	DefaultExpiresInDays int      // of new links, 1 to 90; existing sessions keep theirs
	TimeZone             string   // of the dashboard, emails and exports
}

// SettingsOf are the account's settings as they are stored.
func SettingsOf(a *domain.Account) Settings {
	out := Settings{Name: a.Name, HelpEmail: text(a.HelpEmail), HelpPhone: text(a.HelpPhone), MoneyHelp: text(a.MoneyHelp),
		MoneyHelpURL: text(a.MoneyHelpURL), NextSteps: text(a.NextSteps), ReceiptEmail: a.ReceiptEmail,
		DefaultExpiresInDays: a.DefaultExpiresInDays, TimeZone: a.TimeZone}
	if a.BrandColour != nil {
		out.BrandColour = "#" + *a.BrandColour
	}
	for _, l := range a.FormLanguages {
		out.Languages = append(out.Languages, string(l))
	}
	return out
}

var (
	hexColour = regexp.MustCompile(`^[0-9a-f]{6}$`)
	phone     = regexp.MustCompile(`^\+?[0-9][0-9 ()-]{4,30}$`)
)

var (
	errNoFactorShown   = domain.Breaks(domain.CodeValidation, "require-two-step", form.Rule{Code: "has_factor"})
	errPasskeyNotShown = domain.Breaks(domain.CodeValidation, "require-two-step", form.Rule{Code: "uses_passkey"})
)

// ChangeSettings stores what change makes of an account's settings; what it leaves alone
// stays. Error: validation_error by field: name, help_email, help_phone, money_help,
// money_help_url, next_steps, brand_colour, languages, default_expires_in_days or time_zone.
func (s *Service) ChangeSettings(ctx context.Context, id domain.AccountID, by domain.Actor, change func(*Settings)) error {
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		account, err := tx.LockAccount(ctx, id)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		params, before := SettingsOf(account), settingsState(account)
		change(&params)
		if err := params.putInto(account); err != nil {
			return err
		}
		after := settingsState(account)
		for name := range after {
			if reflect.DeepEqual(before[name], after[name]) {
				delete(before, name)
				delete(after, name)
			}
		}
		if len(after) == 0 {
			return nil
		}
		return s.updateAccount(ctx, tx, account, by, before, after)
	})
}

// putInto checks the settings and sets the account's.
func (p Settings) putInto(account *domain.Account) error {
	name, brokenName := domain.CleanName(p.Name, form.Rule{Code: "account_name"}, "name")
	email, number := strings.TrimSpace(p.HelpEmail), strings.TrimSpace(p.HelpPhone)
	colour, valid := Colour(p.BrandColour)
	help, brokenHelp, link, brokenLink := cleanMoneyHelp(p)
	next, brokenNext := domain.CleanWords(strings.Join(strings.Fields(p.NextSteps), " "), maxNextSteps)
	languages := chosenLanguages(p.Languages)
	broken := func(wrong bool, rule form.Rule) form.Rule {
		if wrong {
			return rule
		}
		return form.Rule{}
	}
	if p.Name == account.Name { // what an earlier rule allowed stays
		name, brokenName = p.Name, form.Rule{}
	}
	if account.NextSteps != nil && p.NextSteps == *account.NextSteps {
		next, brokenNext = p.NextSteps, form.Rule{}
	}
	err := domain.Invalid(
		form.Error{Field: "name", Rule: brokenName},
		form.Error{Field: "brand_colour", Rule: broken(!valid, form.Rule{Code: "colour"})},
		form.Error{Field: "help_email", Rule: broken(email != "" && !form.ValidEmail(email), form.Rule{Code: "help_email"})},
		form.Error{Field: "help_phone", Rule: broken(number != "" && !phone.MatchString(number), form.Rule{Code: "help_phone"})},
		form.Error{Field: "money_help", Rule: brokenHelp},
		form.Error{Field: "money_help_url", Rule: brokenLink},
		form.Error{Field: "next_steps", Rule: brokenNext},
		form.Error{Field: "languages", Rule: broken(len(languages) != len(p.Languages), form.Rule{Code: "languages"})},
		form.Error{Field: "default_expires_in_days", Rule: broken(
			p.DefaultExpiresInDays < 1 || p.DefaultExpiresInDays > domain.MaxExpiresInDays,
			form.Rule{Code: form.RuleRange, Min: 1, Max: domain.MaxExpiresInDays})},
		form.Error{Field: "time_zone", Rule: broken(!domain.KnownTimeZone(p.TimeZone), form.Rule{Code: "time_zone"})},
	)
	if err != nil {
		return err
	}
	account.Name, account.HelpEmail, account.HelpPhone, account.BrandColour = name, optional(email), optional(number),
		optional(colour)
	account.MoneyHelp, account.MoneyHelpURL = optional(help), optional(link)
	account.NextSteps, account.ReceiptEmail = optional(next), p.ReceiptEmail
	account.FormLanguages, account.DefaultExpiresInDays, account.TimeZone = languages, p.DefaultExpiresInDays, p.TimeZone
	return nil
}

// Colour reads a colour as it is typed: six hex digits, "" for none. It reports whether it is
// valid.
func Colour(typed string) (digits string, ok bool) {
	digits = strings.ToLower(strings.TrimPrefix(strings.TrimSpace(typed), "#"))
	return digits, digits == "" || hexColour.MatchString(digits)
}

// chosenLanguages are the languages that forms can offer besides English, of those.
func chosenLanguages(of []string) (out []domain.Language) {
	for _, l := range domain.Languages[1:] {
		if slices.Contains(of, string(l)) {
			out = append(out, l)
		}
	}
	return out
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

// settingsState is what the audit log says of the settings.
func settingsState(a *domain.Account) map[string]any {
	return map[string]any{"name": a.Name, "help_email": a.HelpEmail, "help_phone": a.HelpPhone, "money_help": a.MoneyHelp,
		"money_help_url": a.MoneyHelpURL, "brand_colour": a.BrandColour, "next_steps": a.NextSteps, "receipt_email": a.ReceiptEmail,
		"form_languages": languagesState(a), "default_expires_in_days": a.DefaultExpiresInDays, "time_zone": a.TimeZone}
}
