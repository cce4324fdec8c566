package billing_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/accounts"
	"candor/internal/testkit/servicetest"
)

// TestBillingStartsAfresh runs what operations.md has for accounts that
// are older than invoices: the running period is the first billed one, and without it all past ones are at once.
func TestBillingStartsAfresh(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../../doc/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	afresh := regexp.MustCompile(`(?s)\n {4}BEGIN;\n.*?COMMIT;\n`).FindString(string(text))
	if afresh == "" {
		t.Fatal("operations.md doesn't say how to start afresh")
	}
	at := servicetest.Start.AddDate(0, 5, 3)
	for marked, want := range map[bool]int{false: 6, true: 1} {
		t.Run(fmt.Sprint(marked), func(t *testing.T) {
			t.Parallel()
			b := newBiller(t)
			ended := b.owed(at)
			b.use(11)
			b.Offset.Store(int64(at.Sub(servicetest.Start)))
			b.use(12)
			if marked {
				_, err := b.DB.Raw().ExecContext(b.Ctx, strings.ReplaceAll(afresh, "now()", "'"+at.Format(time.RFC3339)+"'::timestamptz"))
				b.OK(err)
			}
			b.to(servicetest.Start.AddDate(0, 6, 0).Add(time.Minute))
			all := b.invoices()
			if len(all) != want || !all[0].PeriodStart.Equal(servicetest.Start.AddDate(0, 5, 0)) || all[0].Total != 2000 {
				t.Errorf("%d invoices, the newest of %s from %s on; want %d, and $20.00 for the running period", len(all), all[0].Total, all[0].PeriodStart, want)
			}
			var of int
			b.OK(b.DB.Raw().GetContext(b.Ctx, &of, `SELECT count(*) FROM invoice WHERE account_id = $1`, ended))
			if of > 0 == marked {
				t.Errorf("the account that had ended before has %d invoices", of)
			}
		})
	}
}

// owed is another account, whose subscription ended before at and was billed
// for nothing.
func (b *biller) owed(at time.Time) domain.AccountID {
	b.Helper()
	other, err := b.Accounts.Create(b.Ctx, accounts.Params{Name: "Broker", Email: "owner@broker.example", Plan: "starter"}, servicetest.Someone)
	b.OK(err)
	_, err = b.DB.Raw().ExecContext(b.Ctx, `UPDATE subscription SET status = 'cancelled', effective_at = $2, closes_at = $3 WHERE account_id = $1`,
		other.AccountID, at.AddDate(0, -1, 0), servicetest.Start.AddDate(0, 1, 0))
	b.OK(err)
	return other.AccountID
}
