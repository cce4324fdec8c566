package i18n_test

import (
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/views/i18n"
)

func TestT(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		language   domain.Language
		text, want string
		args       []string
	}{
		{domain.English, "Continue with {section}", "Continue with Income", []string{"Income"}},
		{domain.SimplifiedChinese, "It was signed and sent to {partner} on {date}.", "该财务状况表已于{partner}签名并发送给{date}。",
			[]string{"{date}", "{partner}"}},
		{domain.SimplifiedChinese, "Left each month before tax", "每月税前结余", nil},      // one word for it, as in the PDF
		{domain.SimplifiedChinese, "Business income", "自雇利润 (business income)", nil}, // the profit, not the turnover
		{domain.Vietnamese, "Not yet translated {this}", "Not yet translated me", []string{"me"}},
		{domain.Vietnamese, "Continue", "Tiếp tục", nil},
		{"fr", "Continue", "Continue", nil},
	} {
		if got := i18n.T(i18n.In(t.Context(), tt.language), tt.text, tt.args...); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.language, got, tt.want)
		}
	}
	if got := i18n.T(t.Context(), "Continue"); got != "Continue" || i18n.Language(t.Context()) != domain.English {
		t.Errorf("without a language: %q", got)
	}
}

func TestPartsInTheLanguagesOrder(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for _, p := range i18n.Parts(i18n.In(t.Context(), domain.SimplifiedChinese), "Contact {partner} at {email} or call {phone}.") {
		if p.Place < 0 {
			text.WriteString(p.Text)
		} else {
			text.WriteString([]string{"<partner>", "<email>", "<phone>"}[p.Place])
		}
	}
	if got, want := text.String(), "请发送电子邮件至 <email> 或致电 <phone> 联系<partner>。"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
