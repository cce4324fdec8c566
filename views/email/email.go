// Package email words the emails to staff and customers, and draws them as plain text and as
// HTML with the same text. It must not know storage or how emails are sent.
package email

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"candor/internal/domain"
)

// An Email is its subject and text. URL is "" if there is nothing to open.
type Email struct {
	Subject string
	Lines   []string
	Button  string
	URL     string
	After   []string

	Language domain.Language // "" is English
	Or       string          // before the address; "" is English
	From     string          // the sender's name; "" for Candor's
	Brand    *Brand          // whose email it is; nil for Candor's
	Stop     string          // the words of StopURL
	StopURL  string          // where the reader stops such emails; "" for nowhere
}

// A Brand is how an email looks that Candor sends for a partner.
type Brand struct {
	Name          string
	Colour        string // of the button, as CSS has it
	Logo          bool   // the picture LogoID comes with the email
	Width, Height int    // of the logo, in CSS pixels
}

// LogoID is the name of a brand's logo within an email.
const LogoID = "logo"

// lang is the email's language.
func (e Email) lang() string { return string(cmp.Or(e.Language, domain.English)) }

// Reset links to the page for a new password.
func Reset(url string) Email {
	return Email{
		Subject: "Choose a new password",
		Lines:   []string{"Someone asked for a new password for your Candor account with this email address."},
		Button:  "Choose a new password", URL: url,
		After: []string{"The link works once, for one hour.", "If it wasn’t you, do nothing. Your password won’t change."},
	}
}

// SignUp links to the page that opens the new account.
func SignUp(url string) Email {
	return Email{
		Subject: "Confirm your email address",
		Lines:   []string{"Confirm your email to finish creating your Candor account."},
		Button:  "Confirm your email", URL: url,
		After: []string{"The link works once, for 24 hours. We’ll ask for the password you chose.",
			"If it wasn’t you, do nothing. No account will be created."},
	}
}

// KnownAlready answers a sign-up whose address already has an account.
func KnownAlready(url string) Email {
	return Email{
		Subject: "You already have an account",
		Lines: []string{
			"Someone asked for a new Candor account with this email address. You already have one, so nothing was changed."},
		Button: "Sign in", URL: url,
		After: []string{"If you’ve forgotten your password, choose a new one from the sign-in page.", "If it wasn’t you, do nothing."},
	}
}

// Invitation links to the page that accepts an invitation.
func Invitation(i *domain.Invitation, url string) Email {
	return Email{
		Subject: fmt.Sprintf("Join %s on Candor", i.AccountName),
		Lines:   []string{fmt.Sprintf("%s invites you to the team of %s on Candor, as %s.", i.InvitedBy, i.AccountName, i.Role)},
		Button:  "Accept the invitation", URL: url,
		After: []string{"The link works once, for seven days.", "If you weren’t expecting this, ignore it."},
	}
}

// InvitedElsewhere tells a member of another team why they can't accept an
// invitation.
func InvitedElsewhere(i *domain.Invitation) Email {
	return Email{
		Subject: fmt.Sprintf("Join %s on Candor", i.AccountName),
		Lines: []string{
			fmt.Sprintf("%s invites you to the team of %s on Candor.", i.InvitedBy, i.AccountName),
			"This email address already belongs to a team on Candor, and can only be in one. Ask to be invited with another address.",
		},
	}
}

// Access tells an owner which right a colleague asks for, and links to the team. Of a colleague
// by groups the company's provider gives the role.
func Access(asker *domain.Staff, wanted domain.Capability, byGroups bool, url string) Email {
	var roles []string
	for _, role := range domain.RoleTable {
		switch {
		case slices.Contains(role.May, wanted):
			roles = append(roles, role.Name)
		case slices.Contains(role.IfAllowed, wanted):
			roles = append(roles, role.Name+" if you allow it")
		}
	}
	give := ". To give it, change their role on the page Team."
	if byGroups {
		give = ". Their groups at your company give their role each time they sign in: change them there."
	}
	return Email{
		Subject: "A colleague asks for access",
		Lines: []string{
			fmt.Sprintf("%s (%s) asks for access to %s on Candor. Their role is %s.", asker.DisplayName(), asker.Email, wanted.Words(),
				asker.Role.Info().Name),
			"These roles have it: " + strings.Join(roles, ", ") + give},
		Button: "Open the team", URL: url,
		After: []string{"If they don’t need it, do nothing. We send this at most once a day for each person and right."},
	}
}

// Notice reports a change that someone else may have made. After a change of the
// password it lists the passkeys that still sign in, with times of the zone.
func Notice(n domain.StaffNotice, url string, passkeys []domain.Passkey, zone *time.Location) Email {
	e := Email{Button: "Open Candor", URL: url, After: []string{
		"If it wasn’t you, choose a new password from the sign-in page now and tell an owner of your account.",
	}}
	switch n {
	case domain.NoticePasswordChanged:
		e.Subject, e.Lines = "Your password was changed", []string{
			"The password of your Candor account was changed. Other browsers were signed out."}
		if len(passkeys) > 0 {
			e.Lines = append(e.Lines, "These passkeys still sign in to your account:")
			for _, p := range passkeys {
				e.Lines = append(e.Lines, "“"+p.Name+"”, added on "+p.CreatedAt.In(zone).Format("2 January 2006, 3:04 pm MST"))
			}
			e.Lines = append(e.Lines,
				"Remove any that you don’t recognise. It stops working at once, and browsers that signed in with it are signed out.")
			e.Button, e.URL = "Check your passkeys", url+"/live/me#passkeys"
		}
	case domain.NoticeLiveMode:
		e.Subject, e.Lines, e.After = "Live mode is open", []string{
			"Your Candor account is approved. You can now create live sessions with live API keys or in the dashboard."}, nil
	case domain.NoticeTwoStepOn:
		e.Subject, e.Lines = "Two-step sign-in is on", []string{
			"Signing in to your Candor account now needs a code from your authenticator app."}
	case domain.NoticeTwoStepOff:
		e.Subject, e.Lines = "Two-step sign-in is off", []string{"Signing in to your Candor account now needs only your password."}
	case domain.NoticePasskeyAdded:
		e.Subject, e.Lines = "A passkey was added", []string{"A new passkey can now sign in to your Candor account."}
	case domain.NoticePasskeyRemoved:
		e.Subject, e.Lines = "A passkey was removed", []string{"One of your passkeys can no longer sign in to your Candor account."}
	case domain.NoticeFactorsReset:
		e.Subject, e.Lines = "Your second sign-in steps were removed",
			[]string{
				"At your request, your authenticator app, recovery codes and passkeys were removed. Signing in now needs only your password. Please set them up again."}
	case domain.NoticeNewBrowser:
		e.Subject, e.Lines = "New browser signed in", []string{
			"A new browser signed in to your Candor account. If it was you, you don’t need to do anything."}
	case domain.NoticeTooManyAttempts:
		e.Subject, e.Lines = "Too many attempts to sign in", []string{
			"There were too many failed attempts to sign in to your Candor account. None succeeded. New attempts must wait, but you can still sign in from a browser you have used before."}
		e.After = []string{
			"If it wasn’t you, your password protected you. For more protection, set up two-step sign-in or a passkey under My account.",
			"We send this email at most once a day."}
	case domain.NoticeRecoveryUsed:
		e.Subject, e.Lines = "A recovery code was used", []string{
			"Someone signed in to your Candor account with a recovery code instead of a code from your authenticator app."}
	}
	return e
}

// Text is the email in plain text.
func (e Email) Text() string {
	parts := e.Lines
	if e.URL != "" {
		parts = append(parts[:len(parts):len(parts)], e.Button+":\n"+e.URL)
	}
	parts = append(parts[:len(parts):len(parts)], e.After...)
	if e.StopURL != "" {
		parts = append(parts, e.Stop+":\n"+e.StopURL)
	}
	return strings.Join(parts, "\n\n") + "\n\nCandor\n"
}

// HTML is the email as a page.
func (e Email) HTML() (string, error) {
	var b bytes.Buffer
	if err := page(e).Render(context.Background(), &b); err != nil {
		return "", fmt.Errorf("email: draw: %w", err)
	}
	return b.String(), nil
}

// day is a date as emails show it, UTC.
func day(t time.Time) string { return t.UTC().Format("2 January 2006") }
