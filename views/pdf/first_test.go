package pdf

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"candor/internal/statement"
)

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
		"Monthly income before tax", "Left each month before tax", "Left after these, before tax",
		"$5,476.00 $2,177.00 $2,094.26",
		"Monthly expenses contain $3,299.00 of these repayments: the other $2,177.00 is taken off in the last figure.",
		"For $2,108.55 of the debts no repayment is given (none is asked of cards); expenses can contain one.",
	} {
		if !strings.Contains(page, squash(s)) {
			t.Errorf("the first page lacks %q", s)
		}
	}
	if n := strings.Count(page, squash(in.AccountName)); n != 1 {
		t.Errorf("the partner's name is %d times on the first page", n)
	}
	for _, tt := range []struct {
		rent, loan statement.Cents
		want       string
	}{
		{dollars(4_675), dollars(412), "Monthly expenses contain these repayments: “Left each month before tax” is after them."},
		{0, 0, "Monthly expenses contain $389.00 of these repayments: the other $5,087.00 is taken off in the last figure."},
	} {
		answers := *in.Answers
		answers.Expenses.Housing.MortgageRent, answers.Expenses.Commitments.DebtRepayments = tt.rent, tt.loan
		in.Answers = &answers
		if page := strings.Split(textOf(t, render(t, in).Bytes), "\f")[0]; !strings.Contains(squash(page), squash(tt.want)) {
			t.Errorf("the first page doesn't say %q", tt.want)
		}
	}
}

func TestRenderFoldsNothing(t *testing.T) {
	t.Parallel()
	text := textOf(t, render(t, sparse()).Bytes)
	for _, s := range []string{
		"Nothing declared: property, credit cards",
		"Nothing declared: property, vehicles, bank accounts, superannuation, investments",
		"Nothing declared: housing, transport, other costs", "No: clothing, medical costs, health insurance, phone and internet",
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

// TestRenderKeepsWhatIsDeclaredAsNothing has kinds whose only amounts make 0: a typed 0, and
// one of which the customer pays no part.
func TestRenderKeepsWhatIsDeclaredAsNothing(t *testing.T) {
	t.Parallel()
	in := sparse()
	in.Answers.Personal.Household.Type = "couple"
	section := in.Answers.Section(statement.ExpensesSection, submitted)
	if errs := section.Decode(url.Values{"sharing": {"all"}, "has": {"living", "commitments"}, "share": {"0"},
		"living.groceries": {"800"}, "living.groceries.period": {"month"}, "commitments.child_support": {"0"}}); len(errs) > 0 {
		t.Fatal(errs)
	}
	in.Answers.KeepEntered(section)
	text := squash(poppler(t, render(t, in).Bytes, "pdftotext", "-raw", "FILE", "-"))
	for _, s := range []string{"Groceries $800.00 a month × 0% $0.00", "Child support paid $0.00",
		"Nothing declared: housing, transport"} {
		if !strings.Contains(text, squash(s)) {
			t.Errorf("the document lacks %q", s)
		}
	}
	if strings.Contains(text, squash("Nothing declared: housing, transport,")) {
		t.Error("the document says of declared amounts that there are none")
	}
}

// TestRenderAddressAbroad leaves no hole for the state, which isn't asked abroad.
func TestRenderAddressAbroad(t *testing.T) {
	t.Parallel()
	in := full()
	in.Answers.Personal.Address = statement.Address{Street: "4 High Street", Suburb: "London", Postcode: "SW1A 1AA", Country: "GB"}
	if text := squash(textOf(t, render(t, in).Bytes)); !strings.Contains(text, squash("London, SW1A 1AA, United Kingdom")) {
		t.Errorf("the address has holes:\n%.600s", text)
	}
}

func TestRenderSignature(t *testing.T) {
	t.Parallel()
	in := full()
	for state, clock := range map[string]string{
		"NSW": "Customer’s time 20 November 2026, 2:14:15 pm (UTC+11:00) Signed at 20 November 2026, 03:14 UTC",
		"WA":  "Customer’s time 20 November 2026, 11:14:15 am (UTC+08:00) Signed at 20 November 2026, 03:14 UTC",
	} {
		in.Answers.Personal.Address.State = state
		data, err := json.Marshal(in.Answers)
		if err != nil {
			t.Fatal(err)
		}
		text := squash(textOf(t, render(t, in).Bytes))
		for _, s := range []string{"Margaret A. O'Connell", clock, fmt.Sprintf("%x", sha256.Sum256(data))} {
			if !strings.Contains(text, squash(s)) {
				t.Errorf("%s: the document lacks %q", state, s)
			}
		}
	}
	in.Answers.Personal.Address.State = ""
	if text := squash(textOf(t, render(t, in).Bytes)); !strings.Contains(text,
		squash("Sydney’s time 20 November 2026, 2:14:15 pm")) {
		t.Error("without a state, the document doesn't say that the time is Sydney's")
	}
}

// The footer's date and the start's are those of the customer's pages.
func TestRenderDaysOnTheCustomersClock(t *testing.T) {
	t.Parallel()
	in := full()
	in.CreatedAt = time.Date(2026, 10, 20, 14, 30, 0, 0, time.UTC) // 22:30 in Perth, 01:30 of the 21st in Sydney
	in.SubmittedAt = time.Date(2026, 11, 20, 14, 30, 0, 0, time.UTC)
	for state, day := range map[string]string{"NSW": "21", "WA": "20"} {
		in.Answers.Personal.Address.State = state
		text := squash(textOf(t, render(t, in).Bytes))
		for _, s := range []string{"· Submitted " + day + " November 2026", "Started " + day + " October 2026",
			"20 November 2026, 14:30 UTC"} {
			if !strings.Contains(text, squash(s)) {
				t.Errorf("%s: the document lacks %q", state, s)
			}
		}
	}
}

// TestRenderOtherSignature prints that the signature is in another name, asked about or not.
func TestRenderOtherSignature(t *testing.T) {
	t.Parallel()
	const other = "The signature is in another name."
	in := full()
	if text := squash(textOf(t, render(t, in).Bytes)); strings.Contains(text, squash(other)) {
		t.Error("the name with an initial is another's")
	}
	in.Answers.Declaration.FullName = "Donald Duck"
	if text := squash(textOf(t, render(t, in).Bytes)); !strings.Contains(text,
		squash("Customer’s full name Margaret Anne O'Connell. "+other)) || strings.Contains(text, squash("Confirmed when asked")) {
		t.Error("the document doesn't say that another signed, or says that it was confirmed")
	}
	in.Answers.Declaration.Confirmations = []statement.Confirmation{{Code: statement.SignatureName, Path: "declaration.full_name"}}
	if text := squash(textOf(t, render(t, in).Bytes)); !strings.Contains(text,
		squash("Confirmed when asked You are signing as Donald Duck. The statement is for Margaret Anne O'Connell.")) {
		t.Error("the document doesn't say that it was confirmed")
	}
}

// TestRenderConfirmations checks that odd answers that were confirmed are
// printed, also if no rule asks about them today, and others aren't.
func TestRenderConfirmations(t *testing.T) {
	t.Parallel()
	in := full()
	const mortgage = "The mortgage on"
	if text := textOf(t, render(t, in).Bytes); strings.Contains(text, "Confirmed when asked") {
		t.Error("something is confirmed that wasn't asked")
	}
	in.Answers.Declaration.Confirmations = []statement.Confirmation{
		{Code: "repayments_missing", Path: "expenses.housing.mortgage_rent"}, {Code: "age", Path: "personal_details.date_of_birth"},
		{Code: "no_income", Path: "income.total_gross_income", Text: "You have little income."},
	}
	text := squash(textOf(t, render(t, in).Bytes))
	if want := "Confirmed when asked You repay $4,675.00 a month on mortgages. Your mortgage or rent is $2,610.00 a month. " +
		"Confirmed when asked You have little income."; !strings.Contains(text, squash(want)) {
		t.Errorf("the document lacks %q", want)
	}
	if strings.Contains(text, squash(mortgage)) || strings.Count(text, squash("Confirmed when asked")) != 2 {
		t.Error("the document has what wasn't confirmed")
	}
}

// TestContinuedSession: the first page says which session is continued and what changed since
// (D101).
func TestContinuedSession(t *testing.T) {
	t.Parallel()
	in := full()
	const previous = "sess_01m7xsggnverxbaf5yh399t1b6"
	if text := squash(textOf(t, render(t, in).Bytes)); strings.Contains(text, squash("Continues")) {
		t.Error("a session that continues none says so")
	}
	income, err := json.Marshal(in.Answers.Section(statement.IncomeSection, in.SubmittedAt))
	if err != nil {
		t.Fatal(err)
	}
	in.Answers.Offers = map[string]statement.Offer{
		statement.DocumentsSection: {From: previous}, statement.IncomeSection: {From: previous, Answers: income},
	}
	page := squash(strings.Split(textOf(t, render(t, in).Bytes), "\f")[0])
	for _, s := range []string{"Continues" + previous, "Changed since" + "Personal details", "Documents"} {
		if !strings.Contains(page, squash(s)) {
			t.Errorf("the first page lacks %q:\n%s", s, page)
		}
	}
}

// The document's accent is the partner's colour, dark enough to be read. Figures are in ink:
// in a red accent good ones would look negative.
func TestRenderInThePartnersColour(t *testing.T) {
	t.Parallel()
	in := full()
	for brand, want := range map[string]string{"": "0.086 0.282 0.361 rg", "8a1538": "0.541 0.082 0.220 rg",
		"ffff00": "0.459 0.459 0.000 rg"} {
		in.Brand = brand
		page := poppler(t, render(t, in).Bytes, "qpdf", "--qdf", "--object-streams=disable", "FILE", "-")
		if !strings.Contains(page, want) || strings.Contains(page, "1.000 1.000 0.000 rg") {
			t.Errorf("brand %q: the accent %q isn't in the document", brand, want)
		}
		if n := strings.Count(page, " 13.50 Tf ET\nq 0.110 0.133 0.169 rg"); n != 9 {
			t.Errorf("brand %q: %d figures of 9 are in ink", brand, n)
		}
	}
}
