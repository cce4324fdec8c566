package pdf

import (
	"strings"
	"testing"
	"unicode"

	"candor/internal/statement"
	"candor/internal/testkit"
)

func awkward() map[string]string {
	return map[string]string{
		"emoji": "Ann 👩‍👩‍👧 🇦🇺", "only emoji": "😀", "rtl": "محمد علي", "hebrew mixed": "שלום (abc 12) 3-4",
		"override":  "a\u202Egnp.exe",
		"combining": "e\u0301\u0301\u0301 x\u0331 \u0301", "nul": "a\x00b", "invalid": "a\xff\xc3(\xed\xa0\x80z",
		"lone continuation": "\x80", "cut": "abc\xe2\x82",
		"long word": strings.Repeat("x", 500), "long emoji": strings.Repeat("😀", 500), "long arabic": strings.Repeat("محمد", 125),
		"marks":    strings.Repeat("\u0301", 500),
		"controls": "a\tb\r\nc\x1b[31m\u0085\u2028", "highest": "\uFFFF\uFFFE\U0010FFFF", "pdf syntax": `(\) Tj ET << /JS (x) >> %`,
		"spaces": "   ", "hangul": "한국어", "alias": "{nb} {{nb}}",
	}
}

func TestRenderAwkwardText(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	fonts := loadFonts(t, "")
	for name, text := range awkward() {
		in := full()
		in.Livemode = false
		in.AccountName, in.SessionID, in.ReferenceID = text, text, text
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

// TestNoReplacementCharacter draws names of every script with the program's own
// typefaces. What can't be drawn is reported if the customer typed it, and stands as its
// number if a partner did, or a file has it as its name (D80).
func TestNoReplacementCharacter(t *testing.T) {
	t.Parallel()
	in := full()
	names := []string{"王小明 陳國龍", "Nguyễn Thị Hà", "Łukasz", "Ωmega"}
	in.Answers.Personal.FullName = strings.Join(names[:2], " / ")
	in.Answers.Personal.Employer = strings.Join(names[2:4], " / ")
	in.Answers.Personal.Occupation = "עברית"
	in.AccountName, in.ReferenceID = "Fox 🦊 Lending", "ref-ก\x00"
	in.Answers.Documents[0].FileName = "ก-payslip.pdf"
	result := render(t, in)
	text := textOf(t, result.Bytes)
	for _, want := range append(names[:4:4], "עברית", "Fox [U+1F98A] Lending", "ref-[U+0E01][U+0000]", "[U+0E01]-payslip.pdf") {
		if !strings.Contains(squash(text), squash(want)) {
			t.Errorf("%q isn't in the document", want)
		}
	}
	if strings.ContainsRune(text, unicode.ReplacementChar) || len(result.Uncovered) > 0 {
		t.Errorf("a character is missing: %q", string(result.Uncovered))
	}
	in.Answers.Personal.Employer = "ก and 🦊"
	result = render(t, in)
	if got := string(result.Uncovered); got != "ก🦊" {
		t.Errorf("Uncovered = %q, want ก🦊", got)
	}
	if strings.ContainsRune(textOf(t, result.Bytes), unicode.ReplacementChar) {
		t.Error("a replacement character is drawn")
	}
}

// TestBeyondTheBasicPlane draws characters whose codes have more than two bytes, and
// reads them again.
func TestBeyondTheBasicPlane(t *testing.T) {
	t.Parallel()
	in := full()
	in.Answers.Personal.FullName = "李\U00020087\U00020089 Ann"
	result := render(t, in)
	if text := textOf(t, result.Bytes); len(result.Uncovered) > 0 || !strings.Contains(text, in.Answers.Personal.FullName) {
		t.Errorf("the name isn't in the document: %q", result.Uncovered)
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
