package pdf

import (
	"strings"
	"testing"

	"candor/internal/statement"
	"candor/internal/testkit"
)

func awkward() map[string]string {
	return map[string]string{
		"emoji": "Ann 👩‍👩‍👧 🇦🇺", "only emoji": "😀", "rtl": "محمد علي", "hebrew mixed": "שלום (abc 12) 3-4", "override": "a\u202Egnp.exe",
		"combining": "e\u0301\u0301\u0301 x\u0331 \u0301", "nul": "a\x00b", "invalid": "a\xff\xc3(\xed\xa0\x80z", "lone continuation": "\x80", "cut": "abc\xe2\x82",
		"long word": strings.Repeat("x", 500), "long emoji": strings.Repeat("😀", 500), "long arabic": strings.Repeat("محمد", 125), "marks": strings.Repeat("\u0301", 500),
		"controls": "a\tb\r\nc\x1b[31m\u0085\u2028", "highest": "\uFFFF\uFFFE\U0010FFFF", "pdf syntax": `(\) Tj ET << /JS (x) >> %`, "spaces": "   ", "hangul": "한국어", "alias": "{nb} {{nb}}",
	}
}

func TestRenderAwkwardText(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	fonts := loadFonts(t, "")
	for name, text := range awkward() {
		in := full()
		in.Livemode = false
		in.AccountName, in.CustomerName, in.SessionID, in.ReferenceID = text, text, text, text
		s := in.Answers
		p := &s.Personal
		p.FullName, p.Occupation, p.Employer, p.Phone, p.Email = text, text, text, text, text
		p.Address = statement.Address{Street: text, Suburb: text, State: text, Postcode: text}
		*s.Assets.RealProperty[0] = statement.Property{Description: text, Address: text, Ownership: text, OwnershipPercentage: 50}
		s.Assets.Vehicles[0].Description = text
		*s.Assets.BankAccounts[0] = statement.BankAccount{Institution: text, AccountType: text}
		s.Assets.Superannuation[0].FundName, s.Assets.Investments[0].Description = text, text
		*s.Liabilities.Mortgages[0] = statement.Mortgage{Lender: text, Property: text}
		*s.Liabilities.PersonalLoans[0] = statement.PersonalLoan{Lender: text, Purpose: text}
		s.Liabilities.CreditCards[0].Issuer = text
		*s.Liabilities.Other[0] = statement.OtherLiability{Description: text, Lender: text}
		s.Documents[0] = statement.Document{FileName: text, ContentType: text, Category: statement.DocumentCategory(text)}
		s.Declaration.FullName = text
		result, err := Render(in, fonts)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if out := poppler(t, result.Bytes, "qpdf", "--check", "FILE"); strings.Contains(out, "WARNING") {
			t.Errorf("%s: %s", name, out)
		}
		if !strings.Contains(textOf(t, result.Bytes), statement.Title(statement.DeclarationSection)) {
			t.Errorf("%s: the rest of the document is gone", name)
		}
	}
}

func TestRenderReportsUncovered(t *testing.T) {
	t.Parallel()
	in := full()
	in.Answers.Personal.Employer = "王 and 👩"
	result := render(t, in)
	if got := string(result.Uncovered); got != "王👩" {
		t.Errorf("Uncovered = %q, want 王👩", got)
	}
	if !strings.Contains(textOf(t, result.Bytes), "\uFFFD and \uFFFD") {
		t.Error("what isn't covered isn't visible as U+FFFD")
	}
}

func TestRenderInternational(t *testing.T) {
	t.Parallel()
	in := international()
	in.Livemode = true
	text := squash(textOf(t, render(t, in).Bytes))
	for _, s := range []string{"Nguyễn Thị Łukasz Ελένη Сергей", "Crédit Łódź & Søn"} {
		if !strings.Contains(text, squash(s)) {
			t.Errorf("%q isn't in the document", s)
		}
	}
}
