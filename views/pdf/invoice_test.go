package pdf

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/testkit"
)

var (
	issued = time.Date(2026, 7, 1, 0, 4, 9, 0, time.UTC)
	payBy  = time.Date(2026, 7, 15, 0, 4, 9, 0, time.UTC)
	paidAt = time.Date(2026, 7, 8, 23, 30, 0, 0, time.UTC)
)

// overage is an unpaid invoice of a month with a step up.
func overage() *domain.Invoice {
	starter, professional := 50, 2_000
	lines := domain.InvoiceLines{
		{Plan: "Starter", Included: &starter, Sessions: 50},
		{Plan: "Starter", Overage: true, Sessions: 12, Price: 450, Amount: 5_400},
		{Plan: "Professional", Included: &professional, Sessions: 1_938},
		{Plan: "Professional", Overage: true, Sessions: 1_204, Price: 325, Amount: 391_300},
	}
	return &domain.Invoice{
		Number: 42, PeriodStart: time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), PeriodEnd: time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
		IssuedAt: issued, DueAt: payBy, AccountName: "Harbour Lending Pty Ltd", BillingEmail: "accounts@harbour.example",
		Currency: domain.Currency, SessionsUsed: 3_204, Lines: lines, Total: lines.Total(),
		GSTBasisPoints: 1000, GST: domain.GSTIn(lines.Total(), 1000), Status: domain.InvoiceOpen,
		Seller: domain.Seller{
			Name: "Candor Software Pty Ltd", ABN: "51 824 753 556", Address: []string{"Level 3, 120 Pitt Street", "Sydney NSW 2000"},
			Transfer: []string{"Pay to BSB 000-000, account 12345678.",
				"Please pay the whole amount in one transfer, so that it is found."},
		},
	}
}

func paid() *domain.Invoice {
	in := overage()
	reference := "NAB transfer 8837-22"
	in.Status, in.SettledAt, in.Reference = domain.InvoicePaid, &paidAt, &reference
	return in
}

func void() *domain.Invoice {
	in := overage()
	reference := "Issued by mistake"
	in.Status, in.SettledAt, in.Reference = domain.InvoiceVoid, &paidAt, &reference
	return in
}

// quiet is an invoice of $0, paid when it was issued, by an unknown seller,
// without GST.
func quiet() *domain.Invoice {
	in := overage()
	in.Lines = in.Lines[:1]
	in.Lines[0].Sessions, in.SessionsUsed = 17, 17
	in.Total, in.GST, in.GSTBasisPoints = 0, 0, 0
	in.Status, in.SettledAt = domain.InvoicePaid, &issued
	in.Seller = domain.Seller{}
	return in
}

// crowded has the longest names and 60 lines of the highest amounts.
func crowded() *domain.Invoice {
	in := overage()
	in.AccountName = strings.TrimSpace(strings.Repeat("Maximiliana Featherstonehaugh ", 7))[:200]
	in.BillingEmail = strings.Repeat("accounts.", 27) + "payable@x.example"
	in.Seller.Name = in.AccountName
	in.Lines = nil
	for i := range 60 {
		in.Lines = append(in.Lines, domain.InvoiceLine{Plan: "Plan number " + strconv.Itoa(i+1), Overage: true, Sessions: 2_000_000,
			Price: 99_999, Amount: 99_999 * 2_000_000})
	}
	in.Total = in.Lines.Total()
	in.GST = domain.GSTIn(in.Total, 1000)
	return in
}

func renderInvoice(t testing.TB, in *domain.Invoice) Result {
	t.Helper()
	result, err := RenderInvoice(in, loadFonts(t, ""))
	if err != nil {
		t.Fatalf("RenderInvoice: %v", err)
	}
	return result
}

func TestRenderInvoiceShowsHowItStands(t *testing.T) {
	t.Parallel()
	failed := overage()
	failed.Status = domain.InvoiceFailed
	unlimited := overage()
	unlimited.Lines = domain.InvoiceLines{{Plan: "Enterprise", Sessions: 12_345}}
	untaxed := overage()
	untaxed.GST, untaxed.GSTBasisPoints = 0, 0
	empty := quiet()
	empty.Lines = nil
	noABN, nameless, byCard := overage(), overage(), overage()
	noABN.Seller.ABN, nameless.Seller.Name = "", ""
	byCard.Seller.Cards = true
	carried := overage()
	carried.Lines[0].Carried = 38
	parts := []string{"CAN-000042", "1 July 2026", "15 July 2026", "Harbour Lending Pty Ltd", "accounts@harbour.example",
		"1 Jun 2026, 00:00 – 1 Jul 2026, 00:00 UTC", "All dates are UTC",
		"Candor Software Pty Ltd", "ABN 51 824 753 556", "Level 3, 120 Pitt Street", "Sydney NSW 2000",
		"Starter plan: within the 50 sessions included", "Starter plan: beyond the sessions included 12 $4.50 $54.00",
		"Professional plan: within the 2,000 sessions included 1,938 Included $0.00",
		"Professional plan: beyond the sessions included 1,204 $3.25 $3,913.00",
		"Total in AUD $3,967.00", "Total includes GST of $360.64", "Page 1 of 1"}
	for _, tt := range []struct {
		name      string
		in        *domain.Invoice
		with      []string
		without   []string
		titleLine string
	}{
		{"open", overage(), append(parts, "3,204", "How to pay", "Pay to BSB 000-000, account 12345678.", "Reference: CAN-000042",
			"so that it is found"), []string{"PAID", "VOID", "Test"}, "Tax invoice"},
		{"failed", failed, append(parts, "Amount due", "Pay to BSB 000-000"), []string{"PAID", "VOID"}, "Tax invoice"},
		{"paid", paid(), append(parts, "PAID", "Paid on", "8 July 2026", "Amount due", "$0.00", "Reference: NAB transfer 8837-22"),
			[]string{"VOID", "BSB", "How to pay"}, "Tax invoice PAID"},
		{"void", void(), append(parts, "VOID", "Void since", "8 July 2026", "Nothing is owed by it", "Reason: Issued by mistake"),
			[]string{"PAID", "BSB", "How to pay"}, "Tax invoice VOID"},
		{"nothing to pay", quiet(), []string{"PAID", "Paid on", "1 July 2026", "within the 50 sessions included 17 Included $0.00",
			"nothing to pay"}, []string{"GST", "ABN", "Tax invoice", "From", "Candor"}, "Invoice PAID"},
		{"without lines", empty, []string{"No sessions were used in this period", "Total in AUD $0.00"}, nil, "Invoice PAID"},
		{"without GST", untaxed, []string{"$3,967.00", "ABN 51 824 753 556"}, []string{"GST", "Tax invoice"}, "Invoice"},
		// Without a name and an ABN it can't be a tax invoice, even if the row
		// has GST.
		{"without an ABN", noABN, []string{"$3,967.00", "Candor Software Pty Ltd"}, []string{"GST", "ABN", "Tax invoice"}, "Invoice"},
		{"without a name", nameless, []string{"$3,967.00", "ABN 51 824 753 556"}, []string{"GST", "Tax invoice"}, "Invoice"},
		{"by card", byCard, []string{"It is collected from your card."}, []string{"BSB", "Reference"}, "Tax invoice"},
		{"carried", carried, []string{"Total includes GST of $360.64",
			"38 used in the period that was cancelled before count against the sessions included"}, nil, "Tax invoice"},
		{"unlimited", unlimited, []string{"Enterprise plan: sessions without a limit 12,345 Included $0.00"}, nil, "Tax invoice"},
	} {
		text := textOf(t, renderInvoice(t, tt.in).Bytes)
		for _, s := range tt.with {
			if !strings.Contains(squash(text), squash(s)) {
				t.Errorf("%s: %q isn't in the document:\n%s", tt.name, s, text)
			}
		}
		for _, s := range tt.without {
			if strings.Contains(squash(text), squash(s)) {
				t.Errorf("%s: %q is in the document:\n%s", tt.name, s, text)
			}
		}
		title := regexp.MustCompile(`(?m)^ *(Tax i|I)nvoice( +(PAID|VOID))?$`).FindString(text)
		if got := strings.Join(strings.Fields(title), " "); got != tt.titleLine {
			t.Errorf("%s: the title is %q, want %q", tt.name, got, tt.titleLine)
		}
	}
}

// Periods have times of day, because consecutive ones would seem to overlap.
func TestInvoicePeriodsDontOverlap(t *testing.T) {
	t.Parallel()
	sydney := time.FixedZone("AEST", 10*60*60)
	for _, tt := range []struct {
		name       string
		start, end time.Time
		want       string
	}{
		{"at midnight", time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 7, 1, 0, 0, 0, 0, time.UTC),
			"1 Jun 2026, 00:00 – 1 Jul 2026, 00:00 UTC"},
		{"within a day", time.Date(2026, 9, 25, 0, 12, 0, 0, time.UTC), time.Date(2026, 10, 25, 0, 12, 0, 0, time.UTC),
			"25 Sep 2026, 00:12 – 25 Oct 2026, 00:12 UTC"},
		{"another zone", time.Date(2026, 6, 1, 10, 0, 0, 0, sydney), time.Date(2026, 7, 1, 10, 0, 0, 0, sydney),
			"1 Jun 2026, 00:00 – 1 Jul 2026, 00:00 UTC"},
	} {
		in := invoice{&domain.Invoice{PeriodStart: tt.start, PeriodEnd: tt.end}}
		if got := in.period(); got != tt.want {
			t.Errorf("%s: period = %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestRenderInvoiceCountsPages(t *testing.T) {
	t.Parallel()
	fifty := overage()
	fifty.Lines = crowded().Lines[:50]
	for name, want := range map[string]struct {
		in    *domain.Invoice
		pages int
	}{"open": {overage(), 1}, "paid": {paid(), 1}, "void": {void(), 1}, "quiet": {quiet(), 1}, "crowded": {crowded(), 3},
		"fifty lines": {fifty, 2}} {
		result := renderInvoice(t, want.in)
		if result.Pages != want.pages {
			t.Errorf("%s: %d pages, want %d", name, result.Pages, want.pages)
		}
		info := poppler(t, result.Bytes, "pdfinfo", "FILE")
		pages := regexp.MustCompile(`Pages:\s+(\d+)`).FindStringSubmatch(info)
		if pages == nil || pages[1] != strconv.Itoa(result.Pages) {
			t.Errorf("%s: Result has %d pages, pdfinfo says %v", name, result.Pages, pages)
		}
		if !strings.Contains(info, "A4") || !strings.Contains(info, invoice{want.in}.Title()+" CAN-000042") {
			t.Errorf("%s: not A4, or without a title:\n%s", name, info)
		}
		if out := poppler(t, result.Bytes, "qpdf", "--check", "FILE"); strings.Contains(out, "WARNING") {
			t.Errorf("%s: %s", name, out)
		}
	}
}

// The table's header is repeated, and the total and how to pay are on the page
// of the last line, wherever the page ends.
func TestRenderInvoiceKeepsTotalWithLastLine(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	base := crowded()
	for lines := 14; lines <= 32; lines++ { // about a page
		in := *base
		in.Lines = base.Lines[:lines]
		in.Total = in.Lines.Total()
		pages := strings.Split(textOf(t, renderInvoice(t, &in).Bytes), "\f")
		for i, page := range pages[:len(pages)-1] {
			rows := strings.Contains(page, "beyond the sessions included")
			if rows && !strings.Contains(page, "Price each") {
				t.Errorf("%d lines: page %d has lines without a header:\n%s", lines, i+1, page)
			}
			if strings.Contains(page, "Total in AUD") != strings.Contains(page, "Plan number "+strconv.Itoa(lines)+" ") {
				t.Errorf("%d lines: page %d has the total or the last line without the other:\n%s", lines, i+1, page)
			}
			if strings.Contains(page, "Total in AUD") != strings.Contains(page, "Total includes GST") {
				t.Errorf("%d lines: page %d has the total or its GST without the other:\n%s", lines, i+1, page)
			}
			if strings.Contains(page, "How to pay") != strings.Contains(page, "BSB 000-000") {
				t.Errorf("%d lines: page %d ends with a heading:\n%s", lines, i+1, page)
			}
		}
	}
}

func TestRenderInvoiceIsDeterministic(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, "")
	in := overage()
	in.AccountName = world
	var group sync.WaitGroup
	results := make([]Result, 6)
	for i := range results {
		group.Go(func() {
			var err error
			if results[i], err = RenderInvoice(in, fonts); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	alone := renderInvoice(t, in)
	for i, r := range results {
		if !bytes.Equal(r.Bytes, alone.Bytes) {
			t.Errorf("document %d of one input differs from the one drawn alone", i)
		}
	}
	if info := poppler(t, alone.Bytes, "pdfinfo", "-isodates", "FILE"); !strings.Contains(info, "2026-07-01T00:04:09") {
		t.Errorf("the document isn't dated as it was issued:\n%s", info)
	}
}

// Only a void invoice has a word across its page.
func TestRenderInvoiceMarksVoid(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]*domain.Invoice{"open": overage(), "paid": paid(), "void": void()} {
		pixels := poppler(t, renderInvoice(t, in).Bytes, "pdftoppm", "-r", "20", "-aa", "no", "-aaVector", "no", "FILE")
		mark := string([]byte{byte(watermark[0]), byte(watermark[1]), byte(watermark[2])})
		if got := strings.Count(pixels, mark) > 1000; got != (name == "void") {
			t.Errorf("%s: marked across the page: %t", name, got)
		}
	}
}

func TestRenderInvoiceAwkwardText(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	fonts := loadFonts(t, "")
	for name, text := range awkward() {
		for _, in := range []*domain.Invoice{overage(), void()} {
			in.AccountName, in.BillingEmail, in.Currency = text, text, text
			in.Seller = domain.Seller{Name: text, ABN: text, Address: []string{text, text}, Transfer: []string{text, text}}
			in.Reference = &text
			for i := range in.Lines {
				in.Lines[i].Plan = text
			}
			result, err := RenderInvoice(in, fonts)
			if err != nil {
				t.Errorf("%s, %s: %v", name, in.Status, err)
				continue
			}
			if out := poppler(t, result.Bytes, "qpdf", "--check", "FILE"); strings.Contains(out, "WARNING") {
				t.Errorf("%s, %s: %s", name, in.Status, out)
			}
			if text := textOf(t, result.Bytes); !strings.Contains(text, "$3,967.00") || !strings.Contains(text,
				"Total includes GST of $360.64") {
				t.Errorf("%s, %s: the rest of the document is gone", name, in.Status)
			}
		}
	}
	in := overage()
	in.AccountName = "Łódź Crédit Ελένη"
	in.Seller.Name = "王 and ก👩"
	result := renderInvoice(t, in)
	if got := string(result.Uncovered); got != "ก👩" {
		t.Errorf("Uncovered = %q, want ก👩", got)
	}
	if !strings.Contains(squash(textOf(t, result.Bytes)), squash(in.AccountName)) {
		t.Errorf("%q isn't in the document", in.AccountName)
	}
}

func TestRenderInvoiceOnlyOfIssued(t *testing.T) {
	t.Parallel()
	fonts := loadFonts(t, "")
	for name, in := range map[string]*domain.Invoice{"nothing": nil, "not issued": {Number: 1}} {
		if _, err := RenderInvoice(in, fonts); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	least := &domain.Invoice{IssuedAt: issued, Status: domain.InvoicePaid, Total: statement.Cents(1)}
	if _, err := RenderInvoice(least, fonts); err != nil {
		t.Errorf("an invoice of which nothing else is known: %v", err)
	}
}
