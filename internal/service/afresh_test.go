package service_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/accounts"
)

// TestBillingStartsAfresh runs what operations.md has for accounts that were
// there before there were invoices: the running period is the first one that is
// billed, and without it all past ones are at once.
func TestBillingStartsAfresh(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../doc/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	afresh := regexp.MustCompile(`(?s)\n {4}BEGIN;\n.*?COMMIT;\n`).FindString(string(text))
	if afresh == "" {
		t.Fatal("operations.md doesn't say how to start afresh")
	}
	at := start.AddDate(0, 5, 3)
	for told, want := range map[bool]int{false: 6, true: 1} {
		t.Run(fmt.Sprint(told), func(t *testing.T) {
			t.Parallel()
			b := newBiller(t)
			ended := b.owed(at)
			b.use(11)
			b.offset.Store(int64(at.Sub(start)))
			b.use(12)
			if told {
				_, err := b.DB.Raw().ExecContext(b.ctx, strings.ReplaceAll(afresh, "now()", "'"+at.Format(time.RFC3339)+"'::timestamptz"))
				b.ok(err)
			}
			b.to(start.AddDate(0, 6, 0).Add(time.Minute))
			all := b.invoices()
			if len(all) != want || !all[0].PeriodStart.Equal(start.AddDate(0, 5, 0)) || all[0].Total != 2000 {
				t.Errorf("%d invoices, the newest of %s from %s on; want %d, and $20.00 for the running period", len(all), all[0].Total, all[0].PeriodStart, want)
			}
			var of int
			b.ok(b.DB.Raw().GetContext(b.ctx, &of, `SELECT count(*) FROM invoice WHERE account_id = $1`, ended))
			if of > 0 == told {
				t.Errorf("the account that had ended before has %d invoices", of)
			}
		})
	}
}

// owed is another account, whose subscription ended before at and was billed
// for nothing.
func (b *biller) owed(at time.Time) domain.AccountID {
	b.Helper()
	other, err := b.Accounts.Create(b.ctx, accounts.Params{Name: "Broker", Email: "owner@broker.example", Plan: "starter"}, someone)
	b.ok(err)
	_, err = b.DB.Raw().ExecContext(b.ctx, `UPDATE subscription SET status = 'cancelled', effective_at = $2, closes_at = $3 WHERE account_id = $1`,
		other.AccountID, at.AddDate(0, -1, 0), start.AddDate(0, 1, 0))
	b.ok(err)
	return other.AccountID
}
