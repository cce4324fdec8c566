package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit"
)

func render(t testing.TB, in Statement) Result {
	t.Helper()
	result, err := Render(in, loadFonts(t, ""))
	if err != nil {
		t.Fatalf("Render: %v", err)
	}
	return result
}

// poppler runs one of its tools on a document and returns the output.
func poppler(t *testing.T, file []byte, tool string, arguments ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "statement.pdf")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, a := range arguments {
		if a == "FILE" {
			arguments[i] = path
		}
	}
	out, err := exec.Command(tool, arguments...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s (install poppler-utils and qpdf): %v\n%s", tool, err, out)
	}
	return string(out)
}

func textOf(t *testing.T, file []byte) string {
	t.Helper()
	return poppler(t, file, "pdftotext", "-layout", "FILE", "-")
}

// squash removes what a line break or a text extractor can change: spaces and
// direction marks.
func squash(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, norm.NFKC.String(s))
}

// TestLogo draws stored logos beside the partner's name, and skips those that
// can't be drawn.
func TestLogo(t *testing.T) {
	t.Parallel()
	encoded := func(encode func(io.Writer, image.Image) error, m image.Image) []byte {
		var b bytes.Buffer
		if err := encode(&b, m); err != nil {
			t.Fatal(err)
		}
		return b.Bytes()
	}
	asJPEG := func(w io.Writer, m image.Image) error { return jpeg.Encode(w, m, nil) }
	wide, clear := image.NewRGBA(image.Rect(0, 0, 480, 96)), image.NewNRGBA(image.Rect(0, 0, 96, 96))
	for i := range wide.Pix {
		wide.Pix[i] = 255
	}
	for name, tt := range map[string]struct {
		logo []byte
		want int // pictures, with masks
	}{
		"none": {nil, 0}, "wide": {encoded(png.Encode, wide), 1}, "transparent": {encoded(png.Encode, clear), 2},
		"JPEG": {encoded(asJPEG, wide), 1}, "no picture": {[]byte("<svg/>"), 0},
	} {
		in := full()
		in.Logo = tt.logo
		first := render(t, in)
		if again := render(t, in); !bytes.Equal(first.Bytes, again.Bytes) {
			t.Errorf("%s: drawn twice it differs", name)
		}
		if n := strings.Count(poppler(t, first.Bytes, "pdfimages", "-list", "FILE"), "\n") - 2; n != tt.want {
			t.Errorf("%s: %d pictures, want %d", name, n, tt.want)
		}
		if text := textOf(t, first.Bytes); !strings.HasPrefix(strings.TrimSpace(text), in.AccountName) {
			t.Errorf("%s: the name isn't at the top:\n%.200s", name, text)
		}
	}
}

func TestRenderShowsEveryAnswer(t *testing.T) {
	t.Parallel()
	in := full()
	text := squash(textOf(t, render(t, in).Bytes))
	shows := func(what, s string) {
		t.Helper()
		if !strings.Contains(text, squash(s)) {
			t.Errorf("%s: %q isn't in the document", what, s)
		}
	}
	for _, section := range in.Answers.Sections(submitted) {
		shows("title of "+section.Name, section.Title)
		section.Walk(func(path string, f form.Field) {
			if f.Value.Empty() && f.Kind != form.KindMoney {
				t.Errorf("the fixture leaves %s.%s empty", section.Name, path)
			}
			// A wrapped cell of a table is not contiguous text, so look for
			// its words.
			for word := range strings.FieldsSeq(f.Value.Display()) {
				shows(section.Name+"."+path, word)
			}
			if strings.HasPrefix(path, "address.") {
				return // one address under one label
			}
			for word := range strings.FieldsSeq(f.Label) {
				shows("label of "+path, word)
			}
		})
	}
	for _, d := range in.Answers.Documents {
		for word := range strings.FieldsSeq(d.Category.Label()) {
			shows("category", word)
		}
		shows("file name", d.FileName[:12])
		shows("digest", d.SHA256[:32])
		shows("digest", d.SHA256[32:])
	}
	for _, c := range []statement.Cents{in.Answers.Summary().NetWorth, in.Answers.Summary().TotalMonthlyIncome, in.Answers.Summary().MonthlySurplus} {
		shows("summary", c.String())
	}
	for _, s := range []string{in.AccountName, in.CustomerName, in.SessionID, in.ReferenceID, "18 November 2026",
		"20 November 2026, 03:14 UTC", statement.DeclarationText, "Page 1 of ", "2.4 MB", "87 KB", "AUD a year", "−$36,000.00"} {
		shows("text", s)
	}
	if strings.Contains(text, "TEST") || strings.Contains(text, "Testmode") {
		t.Error("a live statement is marked as a test")
	}
}

// The first page has what a decision needs. The figures are worked out by hand.
func TestRenderFirstPage(t *testing.T) {
	t.Parallel()
	in := full()
	page := squash(strings.Split(textOf(t, render(t, in).Bytes), "\f")[0])
	for _, s := range []string{
		"27 March 1985", "Registered nurse", "Royal Prince Alfred Hospital", "14/220 Enmore Road", "Newtown, New South Wales, 2042",
		"0412 345 678", "margaret.oconnell@example.com", in.SessionID, in.ReferenceID,
		"Loan to value: 71.0% overall", "Family home $1,150,000.00 $612,400.15 53.3%", "Investment unit $540,000.00 $588,000.00 108.9%",
		"Credit cards: 15.6% used overall", "American Express $12,000.00 $1,843.55 15.4%", "Afterpay $1,500.00 $265.00 17.7%",
		// Mortgages 1,930 + 2,745 against 2,610; the car's finance as in
		// Expenses; the loan 412 against 300.
		"$5,476.00 $2,177.00 $2,094.26",
		"Monthly expenses contain $3,299.00 of the repayments: the other $2,177.00 is taken off in the last figure.",
	} {
		if !strings.Contains(page, squash(s)) {
			t.Errorf("the first page lacks %q", s)
		}
	}
	for _, tt := range []struct {
		rent, loan statement.Cents
		want       string
	}{
		{dollars(4_675), dollars(412), "Monthly expenses contain all repayments: the monthly surplus is what is left after them."},
		{0, 0, "Monthly expenses contain $389.00 of the repayments: the other $5,087.00 is taken off in the last figure."},
	} {
		answers := *in.Answers
		answers.Expenses.Housing.MortgageRent, answers.Expenses.Commitments.DebtRepayments = tt.rent, tt.loan
		in.Answers = &answers
		if page := strings.Split(textOf(t, render(t, in).Bytes), "\f")[0]; !strings.Contains(squash(page), squash(tt.want)) {
			t.Errorf("the first page doesn't say %q", tt.want)
		}
	}
}

// What isn't declared is a line, not a heading or a row each.
func TestRenderFoldsNothing(t *testing.T) {
	t.Parallel()
	text := textOf(t, render(t, sparse()).Bytes)
	for _, s := range []string{
		"Nothing declared: property, credit cards",
		"Nothing declared: property, vehicles, bank accounts, superannuation, investments",
		"Nothing declared: housing, transport, commitments", "No: clothing, medical costs, health insurance, phone and internet",
	} {
		if !strings.Contains(squash(text), squash(s)) {
			t.Errorf("the document lacks %q", s)
		}
	}
	for _, s := range []string{"Vehicles", "Gross salary", "Mortgages", "Rates", "Loan to value"} {
		if strings.Contains(text, s) {
			t.Errorf("the document has %q, which isn't declared", s)
		}
	}
}

// A section that fits on a page isn't broken: its total is on the page of its
// title.
func TestRenderKeepsSectionsWhole(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	totals := map[string]string{
		statement.IncomeSection: "Total gross income a year", statement.AssetsSection: "Total assets",
		statement.LiabilitiesSection: "Total liabilities", statement.ExpensesSection: "Total expenses a month",
		statement.DeclarationSection: "Signed at",
	}
	for items := range 9 { // moves every page break
		in := full()
		for range items {
			in.Answers.Liabilities.CreditCards = append(in.Answers.Liabilities.CreditCards, &statement.CreditCard{Issuer: "Card"})
		}
		pages := strings.Split(textOf(t, render(t, in).Bytes), "\f")
		for name, total := range totals {
			for i, page := range pages {
				if page = squash(page); i > 0 && strings.Contains(page, squash(sectionTitle(name))) != strings.Contains(page, squash(total)) {
					t.Errorf("%d more cards: page %d breaks the section %s", items, i+1, name)
				}
			}
		}
	}
}

// The signature has the name as typed, the time on the customer's clock and in
// UTC, and the digest of the data.
func TestRenderSignature(t *testing.T) {
	t.Parallel()
	in := full()
	for state, clock := range map[string]string{
		"NSW": "Customer’s time 20 November 2026, 2:14:15 pm (UTC+11:00)", "WA": "Customer’s time 20 November 2026, 11:14:15 am (UTC+08:00)",
	} {
		in.Answers.Personal.Address.State = state
		data, err := json.Marshal(in.Answers)
		if err != nil {
			t.Fatal(err)
		}
		text := squash(textOf(t, render(t, in).Bytes))
		for _, s := range []string{"Margaret A. O'Connell", clock, "20 November 2026, 03:14 UTC", fmt.Sprintf("%x", sha256.Sum256(data))} {
			if !strings.Contains(text, squash(s)) {
				t.Errorf("%s: the document lacks %q", state, s)
			}
		}
	}
	in.Answers.Personal.Address.State = ""
	if text := squash(textOf(t, render(t, in).Bytes)); !strings.Contains(text, squash("Sydney’s time 20 November 2026, 2:14:15 pm")) {
		t.Error("without a state, the document doesn't say that the time is Sydney's")
	}
}

func TestRenderCountsPages(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]Statement{"full": full(), "sparse": sparse(), "longest": longest()} {
		result := render(t, in)
		info := poppler(t, result.Bytes, "pdfinfo", "FILE")
		pages := regexp.MustCompile(`Pages:\s+(\d+)`).FindStringSubmatch(info)
		if pages == nil || pages[1] != strconv.Itoa(result.Pages) {
			t.Errorf("%s: Result has %d pages, pdfinfo says %v", name, result.Pages, pages)
		}
		if !strings.Contains(info, "A4") || !strings.Contains(info, "Financial statement") {
			t.Errorf("%s: not A4, or without a title:\n%s", name, info)
		}
		if out := poppler(t, result.Bytes, "qpdf", "--check", "FILE"); strings.Contains(out, "WARNING") {
			t.Errorf("%s: %s", name, out)
		}
		last := "Page " + strconv.Itoa(result.Pages) + " of " + strconv.Itoa(result.Pages)
		if !strings.Contains(textOf(t, result.Bytes), last) {
			t.Errorf("%s: no foot %q", name, last)
		}
	}
}

// The file says what it is: XMP as in its properties, its language, a bookmark
// for each section, and fonts named as subsets.
func TestRenderDescribesItself(t *testing.T) {
	t.Parallel()
	in := international()
	in.AccountName = `A <b> & "c" ]]> 😀`
	file := render(t, in).Bytes
	text := poppler(t, file, "qpdf", "--qdf", "--object-streams=disable", "FILE", "-")
	for _, s := range []string{"/Lang (en-AU)", "/Metadata ", "<dc:creator><rdf:Seq><rdf:li>A &lt;b&gt; &amp; &#34;c&#34; ]]&gt; \uFFFD</rdf:li>",
		"<dc:description><rdf:Alt><rdf:li xml:lang=\"x-default\">" + in.SessionID, "<xmp:CreateDate>2026-11-20T03:14:15Z<"} {
		if !strings.Contains(text, s) {
			t.Errorf("the file lacks %q", s)
		}
	}
	if !bytes.HasPrefix(file, []byte("%PDF-1.4\n")) { // XMP is of that version
		t.Errorf("the file starts with %q", file[:9])
	}
	meta := poppler(t, file, "pdfinfo", "-meta", "FILE")
	var parsed struct{}
	if err := xml.Unmarshal([]byte(meta), &parsed); err != nil || !strings.Contains(meta, "<dc:language>") {
		t.Errorf("the XMP isn't linked, or no XML (%v): %s", err, meta)
	}
	if n := strings.Count(text, "/Title ") - 1; n != statement.SectionsTotal { // one is the document's
		t.Errorf("%d bookmarks, want %d", n, statement.SectionsTotal)
	}
	fonts := strings.Split(strings.TrimSpace(poppler(t, file, "pdffonts", "FILE")), "\n")[2:]
	names := map[string]bool{}
	for _, font := range fonts {
		name := strings.Fields(font)[0]
		if !regexp.MustCompile(`^[A-Z]{6}\+DejaVuSansCondensed(-Bold)?$`).MatchString(name) || !regexp.MustCompile(`yes yes yes`).MatchString(font) || names[name] {
			t.Errorf("font %q", font)
		}
		names[name] = true
	}
	if len(fonts) < 4 {
		t.Errorf("only %d fonts", len(fonts))
	}
}

func TestRenderIsDeterministic(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, "")
	in := international()
	var group sync.WaitGroup
	results := make([]Result, 6)
	for i := range results {
		group.Go(func() {
			var err error
			if results[i], err = Render(in, fonts); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	alone := render(t, international())
	for i, r := range results {
		if !bytes.Equal(r.Bytes, alone.Bytes) {
			t.Errorf("document %d of one input differs from the one drawn alone", i)
		}
	}
	later := international()
	later.SubmittedAt = later.SubmittedAt.AddDate(0, 0, 1)
	if bytes.Equal(render(t, later).Bytes, alone.Bytes) {
		t.Error("documents of different dates are equal")
	}
}

func TestRenderMarksTests(t *testing.T) {
	t.Parallel()
	for _, livemode := range []bool{true, false} {
		in := full()
		in.Livemode = livemode
		file := render(t, in).Bytes
		pages := strings.Split(textOf(t, file), "\f")
		for i, page := range pages[:len(pages)-1] {
			if got := strings.Contains(page, "Test mode"); got == livemode {
				t.Errorf("livemode %t: page %d says Test mode: %t", livemode, i+1, got)
			}
		}
		// The middle of page 4's lower half has little but the watermark.
		pixels := poppler(t, file, "pdftoppm", "-r", "20", "-f", "4", "-l", "4", "-aa", "no", "-aaVector", "no", "FILE")
		mark := string([]byte{byte(watermark[0]), byte(watermark[1]), byte(watermark[2])})
		if got := strings.Count(pixels, mark) > 1000; got == livemode {
			t.Errorf("livemode %t: watermark drawn: %t", livemode, got)
		}
	}
}

// headings are the lines that must not be the last on a page.
func headings(in Statement) map[string]bool {
	lines := map[string]bool{}
	for _, name := range statement.SectionNames {
		lines[squash(sectionTitle(name))] = true
	}
	for _, s := range in.Answers.Sections(submitted) {
		for _, g := range s.Groups {
			if g.Title != "" {
				lines[squash(g.Title)] = true
			}
			if g.List == nil || g.List.Len() == 0 {
				continue
			}
			header := ""
			for _, f := range g.List.Item(0) {
				header += titled(f)
			}
			lines[squash(header)] = true
		}
	}
	return lines
}

func TestRenderNeverEndsPageWithHeading(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	base := longest()
	for items := 50; items > 0; items -= 3 { // moves every page break
		in := base
		answers := *base.Answers
		answers.Assets.RealProperty = answers.Assets.RealProperty[:items]
		answers.Assets.Vehicles = answers.Assets.Vehicles[:1+items/2]
		answers.Liabilities.Mortgages = answers.Liabilities.Mortgages[:1+items/3]
		in.Answers = &answers
		orphans := headings(in)
		pages := strings.Split(textOf(t, render(t, in).Bytes), "\f")
		for i, page := range pages[:len(pages)-1] {
			lines := strings.FieldsFunc(page, func(r rune) bool { return r == '\n' })
			lines = nonBlank(lines)
			if len(lines) < 3 {
				t.Fatalf("page %d of %d items is empty: %q", i+1, items, page)
			}
			last := lines[len(lines)-2] // the foot is below it
			if orphans[squash(last)] || strings.HasSuffix(squash(last), "AUDayear") || strings.HasSuffix(squash(last), "AUDamonth") {
				t.Errorf("%d items: page %d ends with the heading %q", items, i+1, last)
			}
		}
	}
}

func nonBlank(lines []string) []string {
	var kept []string
	for _, l := range lines {
		if strings.TrimSpace(l) != "" {
			kept = append(kept, l)
		}
	}
	return kept
}

func TestRenderKeepsTotalsWithLastRow(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	base := longest()
	for items := 26; items <= 44; items++ { // about a page
		in := base
		answers := *base.Answers
		answers.Assets = statement.Assets{Investments: base.Answers.Assets.Investments[:items]}
		in.Answers = &answers
		for i, page := range strings.Split(textOf(t, render(t, in).Bytes), "\f") {
			if !strings.Contains(page, "Total assets  ") || i == 0 {
				continue
			}
			if last := "Shares " + strconv.Itoa(items/10) + strconv.Itoa(items%10); !strings.Contains(page, last) {
				t.Errorf("%d items: page %d has the total without the last row", items, i+1)
			}
		}
	}
}

func TestRenderRepeatsHeader(t *testing.T) {
	t.Parallel()
	pages := strings.Split(textOf(t, render(t, longest()).Bytes), "\f")
	for i, page := range pages {
		if strings.Contains(page, "Debt 31") || strings.Contains(page, "Debt 50") {
			if !strings.Contains(page, "Repayment a month") {
				t.Errorf("page %d continues a table without its header", i+1)
			}
		}
	}
}

// awkward has texts that have broken documents elsewhere.
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

func TestRenderRefusesWhatIsNotSubmitted(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, "")
	for name, in := range map[string]Statement{
		"nothing": {}, "no answers": {SubmittedAt: submitted}, "no time": {Answers: full().Answers},
	} {
		if _, err := Render(in, fonts); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := Render(Statement{SubmittedAt: submitted, Answers: new(statement.Statement)}, fonts); err != nil {
		t.Errorf("an empty statement: %v", err)
	}
}

func BenchmarkRender(b *testing.B) {
	fonts := loadFonts(b, "")
	in := full()
	if _, err := Render(in, fonts); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Render(in, fonts); err != nil {
			b.Fatal(err)
		}
	}
}
