package domain_test

import (
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
)

// TestNamesAndHosts: a name holds no host, and names of people, companies and places that look
// like one stay.
func TestNamesAndHosts(t *testing.T) {
	t.Parallel()
	for want, names := range map[form.RuleCode][]string{
		form.RuleNoLink: {
			"Account locked, see candor-billing.eu", "candor-billing.de", "Pay at CANDOR.page!", "candor.club", "(candor.fr)",
			"a.candor.de", "candor.de.", "see candor.eu...", "candor.dyndns1.de", "hello@candor.fr", "кандор.рф", "candor.xn--p1ai",
			"evil.pty.ltd", "candor.ck", "Acme.inc",
			"Dr.No", "today.So", // without the space they are addresses in Norway and Somalia
		},
		"": {
			"St.John", "St.George Bank", "Mt.Isa Loans", "J.R. Smith", "J.R.Smith", "J.P. Morgan", "J.Kim", "A.De Vries", "É.Li",
			"J.R.Ng", "Dr. No", "Dr.Smith", "Smith Pty.Ltd", "Acme Co.Ltd.", "Meier GmbH & Co.KG", "No.5", "No.1 Loans", "A.B.C. Finance",
			"U.S.A.", "Rossi S.p.A.", "Łódź Kredyt Sp. z o.o.", "d.o.o. Novak", "Ph.D", "24/7 Loans", "1.50 a day", "9.30am",
			"Send them... so we can go on", "Send them...so we can go on", "Ends here.", ".de", "-.-", "payslip.pdf",
		},
	} {
		for _, name := range names {
			if _, broken := domain.CleanWords(name, domain.MaxName); broken.Code != want {
				t.Errorf("%q breaks %q, want %q", name, broken.Code, want)
			}
		}
	}
}
