package statement

import (
	"testing"

	"golang.org/x/text/unicode/norm"
)

func TestGuessCategory(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]DocumentCategory{
		"payslip.pdf": "income_evidence", "Payslip October 2026.PDF": "income_evidence", "PaySlip_2026-10.pdf": "income_evidence",
		"2026payslips3.jpg": "income_evidence",
		"passport.heic":     "identification", "Driver's Licence (front).jpg": "identification",
		"Westpac bank statement.pdf":    "bank_statement",
		"CommBank-transactions.pdf":     "bank_statement",
		"Notice of Assessment 2025.pdf": "tax_return", "taxReturn.pdf": "tax_return", "home loan statement.pdf": "loan_statement",
		"credit_card_statement_May.pdf": "loan_statement",
		"Phiếu lương tháng 10.pdf":      "income_evidence", "hộ chiếu.jpg": "identification", "khoản vay mua nhà.pdf": "loan_statement",
		"Tờ khai thuế.pdf": "tax_return", "Sao kê ngân hàng.pdf": "bank_statement",
		"工资单10月.pdf": "income_evidence", "我的护照.jpg": "identification", "银行流水.pdf": "bank_statement", "房贷合同.pdf": "loan_statement",
		"2025報稅.pdf": "tax_return",
		// Nothing is guessed if words say two things, or none.
		"payslip and bank statement.pdf": "", "salary bank statement.pdf": "", "IMG_4711.HEIC": "", "scan.pdf": "",
		"tax invoice.pdf": "", "super statement.pdf": "", "Profit and loss statement.pdf": "", "HECS-HELP statement.pdf": "",
		"water rates statement.pdf": "", "thuê nhà.pdf": "", "sailing.pdf": "", "": "", ".pdf": "", "loaned.pdf": "",
	} {
		for _, form := range []norm.Form{norm.NFC, norm.NFD} { // devices differ
			if got := GuessCategory(form.String(name)); got != want {
				t.Errorf("%s is guessed to be %q, want %q", name, got, want)
			}
		}
	}
	for category := range guessWords {
		if !KnownCategory(string(category)) {
			t.Errorf("there is no category %s", category)
		}
	}
}
