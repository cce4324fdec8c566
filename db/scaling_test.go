package db_test

import (
	"context"
	"os"
	"regexp"
	"strings"
	"testing"

	"candor/internal/testkit/dbtest"
)

// fixedTables don't grow with the sessions, but with accounts, staff and settings.
const fixedTables = `account, alert, api_key, api_key_network, attempt_count, billing_setting, held_form, invitation, invoice, invoice_number, passkey_challenge, payment_event,
	payment_method, plan, plan_change, reconciliation, spend_notice, staff_passkey, staff_recovery_code, staff_request,
		staff_session, staff_user, staff_view, subscription, test_event,
	usage_notice, webhook_endpoint`

// doc/scaling.md lists the indexes of growing tables that the account doesn't lead, by
// what needs them. Those are what a distributed PostgreSQL can't shard by account.
func TestIndexesLedByTheAccount(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../doc/scaling.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	_, list, _ := strings.Cut(string(page), "\n### Indexes that the account doesn't lead\n")
	_, list, _ = strings.Cut(list, "\n|---|---|\n")
	for _, name := range regexp.MustCompile("`(\\w+)`").FindAllStringSubmatch(list, -1) {
		listed[name[1]] = true
	}
	var others []string
	err = dbtest.Open(t, dbtest.DSN(t)).Raw().SelectContext(context.Background(), &others, `
		SELECT i.relname FROM pg_index x JOIN pg_class i ON i.oid = x.indexrelid JOIN pg_class r ON r.oid = x.indrelid
		WHERE r.relnamespace = 'public'::regnamespace AND r.relname NOT LIKE 'river%' AND r.relname NOT LIKE 'goose%'
			AND r.relname <> ALL (regexp_split_to_array($1, ',\s*')) AND pg_get_indexdef(x.indexrelid, 1,
				true) <> 'account_id'`, fixedTables)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range others {
		if !listed[name] {
			t.Errorf("the account doesn't lead %s: let it, or give the reason in doc/scaling.md", name)
		}
		delete(listed, name)
	}
	for name := range listed {
		t.Errorf("doc/scaling.md lists %s, which the account leads, or which isn't there", name)
	}
}
