package email

import (
	"cmp"
	"context"
	"fmt"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/views/i18n"
	"candor/views/ui"
)

// candorBlue is the button's colour in emails of our own.
const candorBlue = "#1d4f91"

func (e Email) colour() string {
	if e.Brand == nil {
		return candorBlue
	}
	return e.Brand.Colour
}

func (e Email) or() string { return cmp.Or(e.Or, "Or open this address:") }

// LinkParts is what an email with a session's link says.
type LinkParts struct {
	Partner *domain.Account
	Session *domain.Session
	Kind    domain.LinkEmailKind
	Section string // the title of the next one in English
	URL     string
	StopURL string // where a customer stops reminders
}

// Link brings a customer to the form, in the context's language and on its clock (D103,
// D104). It has no answers.
func Link(ctx context.Context, p LinkParts) Email {
	partner := p.Partner.Name
	e := Email{
		Language: i18n.Language(ctx), From: i18n.T(ctx, "{partner} via Candor", partner), Brand: brandOf(p.Partner),
		Button: i18n.T(ctx, "Open the form"), URL: p.URL, Or: i18n.T(ctx, "Or open this address:"),
	}
	if name := p.Session.CustomerName; name != nil {
		if words, broken := domain.CleanWords(*name, domain.MaxName); broken == (form.Rule{}) {
			e.Lines = append(e.Lines, i18n.T(ctx, "Hello {name},", words))
		}
	}
	until := i18n.MomentOf(ctx, p.Session.ExpiresAt)
	saved := i18n.T(ctx, "What you entered is saved. The next section is: {section}", i18n.T(ctx, p.Section))
	unopened := i18n.T(ctx, "You haven’t opened the form yet.")
	switch p.Kind {
	case domain.LinkItself:
		e.Subject = i18n.T(ctx, "{partner} asks for your financial statement", partner)
		e.Lines = append(e.Lines, i18n.T(ctx,
			"{partner} asks you to fill in a financial statement online. What you enter is saved, so you can stop and continue later.",
			partner))
		if p.Session.PreviousSessionID != nil { // else it looks like the same email once more
			e.Subject = i18n.T(ctx, "{partner} asks for a new financial statement", partner)
			e.Lines[len(e.Lines)-1] = i18n.T(ctx, "{partner} asks you to fill in a new financial statement online. Your last answers are "+
				"there: check them, and change what is different now. What you enter is saved, so you can stop and continue later.", partner)
		}
	case domain.LinkUnopened1, domain.LinkUnopened2:
		e.Subject = i18n.T(ctx, "Reminder: {partner} asks for your financial statement", partner)
		e.Lines = append(e.Lines, unopened)
	case domain.LinkUnfinished1, domain.LinkUnfinished2:
		e.Subject = i18n.T(ctx, "Your statement for {partner} isn’t finished", partner)
		e.Lines = append(e.Lines, saved)
	case domain.LinkEnding:
		e.Subject = i18n.T(ctx, "Your link from {partner} ends on {date}", partner, i18n.DayOf(ctx, p.Session.ExpiresAt))
		if p.Session.Status == domain.InProgress {
			e.Lines = append(e.Lines, saved)
		} else {
			e.Lines = append(e.Lines, unopened)
		}
	}
	e.Lines = append(e.Lines, i18n.T(ctx, "The link works until {date}.", until))
	e.After = []string{i18n.T(ctx, "The link is for you alone: don’t pass on this email.")}
	if contact := contact(ctx, p.Partner); contact != "" {
		e.After = append(e.After, contact)
	}
	e.After = append(e.After, i18n.T(ctx, "Candor sends this email for {partner}. If you don’t know {partner}, ignore it.", partner))
	if p.Kind != domain.LinkItself {
		e.Stop, e.StopURL = i18n.T(ctx, "No more reminders"), p.StopURL
	}
	return e
}

// contact says how a customer reaches the partner; "" if the partner doesn't.
func contact(ctx context.Context, partner *domain.Account) string {
	email, phone := partner.HelpEmail, partner.HelpPhone
	switch {
	case email != nil && phone != nil:
		return i18n.T(ctx, "Contact {partner} at {email} or call {phone}.", partner.Name, *email, *phone)
	case email != nil:
		return i18n.T(ctx, "Contact {partner} at {email}.", partner.Name, *email)
	case phone != nil:
		return i18n.T(ctx, "Call {partner} on {phone}.", partner.Name, *phone)
	}
	return ""
}

func brandOf(partner *domain.Account) *Brand {
	b := &Brand{Name: partner.Name, Colour: candorBlue}
	if partner.BrandColour != nil {
		if red, green, blue, ok := ui.BrandOnPaper(*partner.BrandColour); ok {
			b.Colour = fmt.Sprintf("#%02x%02x%02x", red, green, blue)
		}
	}
	if logo := ui.Logo(partner); logo != nil {
		b.Logo, b.Width, b.Height = true, logo.Width, logo.Height
	}
	return b
}

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
