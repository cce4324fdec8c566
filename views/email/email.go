// Package email words the letters to staff and draws them as plain text and
// as HTML that says the same. It must not know storage or how letters are sent.
package email

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"

	"candor/internal/domain"
)

// A Letter is what one says. URL is "" where there is nothing to open.
type Letter struct {
	Subject string
	Lines   []string
	Button  string
	URL     string
	After   []string
}

// Reset leads to where a new password is chosen.
func Reset(url string) Letter {
	return Letter{
		Subject: "Choose a new password",
		Lines:   []string{"Somebody asked for a new password for your Candor account with this e-mail address."},
		Button:  "Choose a new password", URL: url,
		After: []string{"The link works once, for one hour.", "If it wasn’t you, do nothing: your password stays as it is."},
	}
}

// SignUp leads to where a new account is opened.
func SignUp(url string) Letter {
	return Letter{
		Subject: "Confirm your e-mail address",
		Lines:   []string{"Somebody, we hope you, is opening a Candor account with this e-mail address."},
		Button:  "Confirm and open the account", URL: url,
		After: []string{"The link works once, for 24 hours. We’ll ask for the password that was chosen.", "If it wasn’t you, do nothing: there will be no account."},
	}
}

// KnownAlready answers a sign-up with an address that has an account.
func KnownAlready(url string) Letter {
	return Letter{
		Subject: "You already have an account",
		Lines:   []string{"Somebody asked for a new Candor account with this e-mail address. You already have one, so nothing was changed."},
		Button:  "Sign in", URL: url,
		After: []string{"If you’ve forgotten your password, choose a new one from the sign-in page.", "If it wasn’t you, do nothing."},
	}
}

// Invitation leads to where an invitation is accepted.
func Invitation(i *domain.Invitation, url string) Letter {
	return Letter{
		Subject: fmt.Sprintf("Join %s on Candor", i.AccountName),
		Lines:   []string{fmt.Sprintf("%s invites you to the team of %s on Candor, as %s.", i.InvitedBy, i.AccountName, i.Role)},
		Button:  "Accept the invitation", URL: url,
		After: []string{"The link works once, for seven days.", "If you don’t know what this is about, do nothing."},
	}
}

// InvitedElsewhere tells somebody who has a team already why an invitation
// can't be accepted.
func InvitedElsewhere(i *domain.Invitation) Letter {
	return Letter{
		Subject: fmt.Sprintf("Join %s on Candor", i.AccountName),
		Lines: []string{
			fmt.Sprintf("%s invites you to the team of %s on Candor.", i.InvitedBy, i.AccountName),
			"This e-mail address belongs to a team on Candor already, and can be in one only. Ask to be invited with another address.",
		},
	}
}

// Notice tells of a change that someone else may have made. After a change of the
// password it lists the passkeys that still sign in.
func Notice(n domain.StaffNotice, url string, passkeys []domain.Passkey) Letter {
	l := Letter{Button: "Open Candor", URL: url, After: []string{
		"If it wasn’t you, choose a new password from the sign-in page at once, and tell an owner of your account.",
	}}
	switch n {
	case domain.NoticePasswordChanged:
		l.Subject, l.Lines = "Your password was changed", []string{"The password of your Candor account was changed. Other browsers were signed out."}
		if len(passkeys) > 0 {
			l.Lines = append(l.Lines, "These passkeys still sign in to your account:")
			for _, p := range passkeys {
				l.Lines = append(l.Lines, "“"+p.Name+"”, added on "+dateTime(p.CreatedAt)+" UTC")
			}
			l.Lines = append(l.Lines, "Remove each one that you don’t know. It then ends at once, and so do the browsers that signed in with it.")
			l.Button, l.URL = "Check your passkeys", url+"/live/me#passkeys"
		}
	case domain.NoticeLiveMode:
		l.Subject, l.Lines, l.After = "Live mode is open", []string{"Your Candor account is approved. It can create live sessions now, with live API keys or in the dashboard."}, nil
	case domain.NoticeTwoStepOn:
		l.Subject, l.Lines = "Two-step sign-in is on", []string{"Signing in to your Candor account asks for a code from your authenticator app now."}
	case domain.NoticeTwoStepOff:
		l.Subject, l.Lines = "Two-step sign-in is off", []string{"Signing in to your Candor account asks for the password alone now."}
	case domain.NoticePasskeyAdded:
		l.Subject, l.Lines = "A passkey was added", []string{"A new passkey signs in to your Candor account now."}
	case domain.NoticePasskeyRemoved:
		l.Subject, l.Lines = "A passkey was removed", []string{"One of your passkeys signs in to your Candor account no more."}
	case domain.NoticeFactorsReset:
		l.Subject, l.Lines = "Your second sign-in steps were removed", []string{"At your request, signing in to your Candor account asks for the password alone now. Your authenticator app, recovery codes and passkeys work no more. Please set them up again."}
	case domain.NoticeNewBrowser:
		l.Subject, l.Lines = "New browser signed in", []string{"A browser that we don’t know signed in to your Candor account. If it was you, there is nothing to do."}
	case domain.NoticeTooManyAttempts:
		l.Subject, l.Lines = "Too many attempts to sign in", []string{"There were too many failed attempts to sign in to your Candor account, so further ones have to wait. None of them signed in. You can still sign in from a browser that you have signed in from before."}
		l.After = []string{"If it wasn’t you, your password has protected you. Two-step sign-in or a passkey protects you better; set them up under My account.", "We send this email at most once a day."}
	case domain.NoticeRecoveryUsed:
		l.Subject, l.Lines = "A recovery code was used", []string{"Somebody signed in to your Candor account with a recovery code instead of a code from your authenticator app."}
	}
	return l
}

// Text is the letter in plain text.
func (l Letter) Text() string {
	parts := l.Lines
	if l.URL != "" {
		parts = append(parts[:len(parts):len(parts)], l.Button+":\n"+l.URL)
	}
	return strings.Join(append(parts, l.After...), "\n\n") + "\n\nCandor\n"
}

// HTML is the letter as a page.
func (l Letter) HTML() (string, error) {
	var b bytes.Buffer
	if err := page(l).Render(context.Background(), &b); err != nil {
		return "", fmt.Errorf("letter: draw: %w", err)
	}
	return b.String(), nil
}

// day is a date as letters say it, UTC.
func day(t time.Time) string { return t.UTC().Format("2 January 2006") }
