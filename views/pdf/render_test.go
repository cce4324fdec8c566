package pdf

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/pdfsign"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/signtest"
	"candor/views/i18n"
	"candor/views/ui"
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
			if path == statement.ShareInput {
				return // asked of a couple
			}
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
		shows("size", ui.FileSize(d.SizeBytes)) // as on the pages
		shows("digest", d.SHA256[:32])
		shows("digest", d.SHA256[32:])
	}
	for _, c := range []statement.Cents{in.Answers.Summary().NetWorth, in.Answers.Summary().TotalMonthlyIncome,
		in.Answers.Summary().MonthlySurplus} {
		shows("summary", c.String())
	}
	for _, s := range []string{in.AccountName, in.Answers.Personal.FullName, in.SessionID, in.ReferenceID, "19 November 2026",
		"20 November 2026, 03:14 UTC", statement.DeclarationText, "Page 1 of ", "2.3 MB", "86 KB", "AUD a year", "−$36,000.00",
		"(tenants in"} {
		shows("text", s)
	}
	if strings.Contains(text, "TEST") || strings.Contains(text, "Testmode") {
		t.Error("a live statement is marked as a test")
	}
}

// TestRenderFillsPages counts the pages. None but the last is half empty, and the
// declaration isn't broken, wherever the page breaks are.
func TestRenderFillsPages(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	for language, want := range map[domain.Language]map[string]int{
		domain.English:           {"full": 4, "couple": 4, "renter": 2},
		domain.SimplifiedChinese: {"full": 5, "couple": 6, "renter": 3},
		domain.Vietnamese:        {"full": 5, "couple": 6, "renter": 3},
	} {
		ctx := i18n.In(t.Context(), language)
		for name, in := range map[string]Statement{"full": full(), "couple": given(), "renter": renter()} {
			for items := range 3 { // moves page breaks
				result := renderCopy(ctx, t, in)
				if items == 0 && result.Pages != want[name] {
					t.Errorf("%s %s: %d pages, want %d", language, name, result.Pages, want[name])
				}
				filled := make([]float64, result.Pages)
				for _, w := range placedWords(t, result.Bytes) {
					page := int(w.y / pageHeight)
					if bottom := w.y + w.of - float64(page)*pageHeight; bottom < contentBottom+1 {
						filled[page] = max(filled[page], (bottom-contentTop)/(contentBottom-contentTop))
					}
				}
				if page := slices.IndexFunc(filled[:result.Pages-1], func(part float64) bool { return part < 0.55 }); page >= 0 {
					t.Errorf("%s %s, %d more cards: page %d is only filled to %.2f", language, name, items, page+1, filled[page])
				}
				pages := strings.Split(textOf(t, result.Bytes), "\f")
				if last := pages[result.Pages-1]; !strings.Contains(last, "\n7. ") || !strings.Contains(last, "Signed at") {
					t.Errorf("%s %s, %d more cards: the declaration is broken", language, name, items)
				}
				in.Answers.Liabilities.CreditCards = append(in.Answers.Liabilities.CreditCards, &statement.CreditCard{Issuer: "Card"})
			}
		}
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
		lines[squash(words(english).sectionTitle(name))] = true
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
				header += words(english).per(f.Label, f.Period)
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

// BenchmarkRender draws a full statement, and draws and signs one, which shall take less
// than 10 ms.
func BenchmarkRender(b *testing.B) {
	fonts := loadFonts(b, "")
	in := full()
	for _, of := range []struct {
		name   string
		signer *pdfsign.Signer
	}{
		{"unsigned", nil},
		{"ECDSA", signtest.New(b, signtest.ECDSA(b)).Signer(b)},
		{"RSA", signtest.New(b, signtest.RSA(b, 2048)).Signer(b)},
	} {
		b.Run(of.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				result, err := Render(in, fonts)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := of.signer.Sign(result.Bytes, time.Now()); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
