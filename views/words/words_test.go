package words_test

import (
	"strings"
	"testing"

	"candor/intake"
	"candor/views/words"
)

func TestT(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language   intake.Language
		text, want string
		args       []string
	}{
		{intake.English, "Continue with {section}", "Continue with Income", []string{"Income"}},
		{intake.SimplifiedChinese, "It was signed and sent to {partner} on {date}.", "该报表已于{partner}签名并发送给{date}。", []string{"{date}", "{partner}"}},
		{intake.Vietnamese, "Nobody has translated {this}", "Nobody has translated me", []string{"me"}},
		{intake.Vietnamese, "Continue", "Tiếp tục", nil},
		{"fr", "Continue", "Continue", nil},
	} {
		if got := words.T(words.In(t.Context(), tt.language), tt.text, tt.args...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.language, got, tt.want)
		}
	}
	if got := words.T(t.Context(), "Continue"); got != "Continue" || words.Language(t.Context()) != intake.English {
		t.Errorf("without a language: %q", got)
	}
}

func TestPartsInTheLanguagesOrder(t *testing.T) {
	t.Parallel()
	var said strings.Builder
	for _, p := range words.Parts(words.In(t.Context(), intake.SimplifiedChinese), "Contact {partner} at {email} or call {phone}.") {
		if p.Place < 0 {
			said.WriteString(p.Text)
		} else {
			said.WriteString([]string{"<partner>", "<email>", "<phone>"}[p.Place])
		}
	}
	if got, want := said.String(), "请发送电子邮件至 <email> 或致电 <phone> 联系<partner>。"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
