package letter_test

import (
	"strings"
	"testing"

	"candor/intake"
	"candor/views/letter"
)

// TestLetters: each says the same as text and as HTML, escaped, and loads
// nothing.
func TestLetters(t *testing.T) {
	t.Parallel()
	const url = "https://candor.example/dashboard/x"
	invitation := &intake.Invitation{AccountName: `<img src=x> & "Sons"`, InvitedBy: "sam@lender.example", Role: intake.RoleSupport}
	letters := map[string]letter.Letter{
		"reset": letter.Reset(url), "sign-up": letter.SignUp(url), "known": letter.KnownAlready(url),
		"invitation": letter.Invitation(invitation, url), "elsewhere": letter.InvitedElsewhere(invitation),
	}
	for _, n := range []intake.StaffNotice{
		intake.NoticePasswordChanged, intake.NoticeTwoStepOn, intake.NoticeTwoStepOff, intake.NoticeRecoveryUsed, intake.NoticeFactorsReset, intake.NoticePasskeyAdded, intake.NoticePasskeyRemoved,
		intake.NoticeNewBrowser, intake.NoticeTooManyAttempts,
	} {
		letters[string(n)] = letter.Notice(n, url, nil)
	}
	for name, l := range letters {
		html, err := l.HTML()
		if err != nil {
			t.Fatal(err)
		}
		text := l.Text()
		if l.Subject == "" || len(l.Lines) == 0 {
			t.Errorf("%s says nothing", name)
		}
		if has := strings.Contains(text, url); has != (l.URL != "") || has != strings.Contains(html, `href="`+url+`"`) {
			t.Errorf("%s: link in text %t, in HTML %t, want %t", name, has, !has, l.URL != "")
		}
		for _, loaded := range []string{"<img", "<script", "<link", "src=", "url("} {
			if strings.Contains(strings.ReplaceAll(html, "&lt;img src=x&gt;", ""), loaded) {
				t.Errorf("%s has %s:\n%s", name, loaded, html)
			}
		}
	}
}
