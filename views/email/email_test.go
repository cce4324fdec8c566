package email_test

import (
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/views/email"
)

// TestEmails: each has the same link as text and as HTML, escaped, and loads
// nothing.
func TestEmails(t *testing.T) {
	t.Parallel()
	const url = "https://candor.example/dashboard/x"
	invitation := &domain.Invitation{AccountName: `<img src=x> & "Sons"`, InvitedBy: "sam@lender.example", Role: domain.RoleSupport}
	emails := map[string]email.Email{
		"reset": email.Reset(url), "sign-up": email.SignUp(url), "known": email.KnownAlready(url),
		"invitation": email.Invitation(invitation, url), "elsewhere": email.InvitedElsewhere(invitation),
	}
	for _, n := range []domain.StaffNotice{
		domain.NoticePasswordChanged, domain.NoticeTwoStepOn, domain.NoticeTwoStepOff, domain.NoticeRecoveryUsed,
		domain.NoticeFactorsReset, domain.NoticePasskeyAdded, domain.NoticePasskeyRemoved,
		domain.NoticeNewBrowser, domain.NoticeTooManyAttempts,
	} {
		emails[string(n)] = email.Notice(n, url, nil, time.UTC)
	}
	for name, e := range emails {
		html, err := e.HTML()
		if err != nil {
			t.Fatal(err)
		}
		text := e.Text()
		if e.Subject == "" || len(e.Lines) == 0 {
			t.Errorf("%s says nothing", name)
		}
		if has := strings.Contains(text, url); has != (e.URL != "") || has != strings.Contains(html, `href="`+url+`"`) {
			t.Errorf("%s: link in text %t, in HTML %t, want %t", name, has, !has, e.URL != "")
		}
		for _, loaded := range []string{"<img", "<script", "<link", "src=", "url("} {
			if strings.Contains(strings.ReplaceAll(html, "&lt;img src=x&gt;", ""), loaded) {
				t.Errorf("%s has %s:\n%s", name, loaded, html)
			}
		}
	}
}
