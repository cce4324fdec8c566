package main_test

import (
	"strings"
	"testing"
)

// An operator takes an account's subscription through its states, and its
// invoice to its end.
func TestBillingByCommand(t *testing.T) {
	t.Parallel()
	env := testEnvironment(t)
	account := createAccount(t, env)
	says := func(line string, code int, want ...string) {
		t.Helper()
		words := strings.Fields(strings.ReplaceAll(line, "ACCOUNT", account.AccountID))
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "_", " ")
			if strings.HasPrefix(words[i], "acct ") {
				words[i] = account.AccountID
			}
		}
		r := command(t, env, append([]string{"billing"}, words...)...)
		for _, text := range want {
			if r.code != code || !strings.Contains(r.stdout+r.stderr, text) {
				t.Errorf("candor billing %s: exit code %d, %q; want %d and %q", words, r.code, r.stdout+r.stderr, code, text)
			}
		}
	}
	server := serve(t, env, "web")
	says("plan --account ACCOUNT --plan professional", 0, "Plan          professional\n")
	says("show --account ACCOUNT", 0, "professional", "active", "0 live sessions, $0.00 so far")
	says("plan --account ACCOUNT --plan starter", 0, "professional, starter from ")
	says("plan --account ACCOUNT --plan starter", 1, "This is how it is already")
	says("plan --account ACCOUNT --plan gold", 1, "Choose one of the plans")
	says("plan --account ACCOUNT --plan professional", 0, "Plan          professional\n")
	says("cancel --account ACCOUNT", 1, "Say why")
	says("cancel --account ACCOUNT --reason trial_over", 0, "cancelled, ends ")
	says("reactivate --account ACCOUNT", 0, "Status        active\n")
	says("reactivate --account ACCOUNT", 1, "isn’t cancelled")

	// Eleven sessions on Starter: one is beyond the included ones.
	says("cancel --account ACCOUNT --reason trial_over --now", 0, "has ended")
	says("show --account ACCOUNT", 1, "no active subscription")
	says("subscribe --account ACCOUNT --plan starter", 0, "starter")
	says("subscribe --account ACCOUNT --plan starter", 1, "already")
	for range 11 {
		partner{t, server.url, account.LiveKey}.createSession("")
	}
	says("show --account ACCOUNT", 0, "11 live sessions, $10.00 so far")
	says("cancel --account ACCOUNT --reason done --now", 0, "has ended")
	says("invoices", 0, "CAN-000002", "$10.00", "open")
	says("invoices --account ACCOUNT", 0, "CAN-000001", "CAN-000002", "paid")
	says("failed CAN-000002 --note insufficient_funds", 0, "failed, tried again at ")
	says("paid CAN-000002", 1, "Say what it is by")
	says("paid CAN-000002 --note transfer_77", 0, "CAN-000002", "paid")
	says("paid CAN-000002 --note transfer_77", 1, "paid or void already")
	says("void 3 --note mistake", 1, "no such invoice")
	says("void what --note mistake", 2, "no number of an invoice")
	says("invoices", 0, "No invoice")
	says("recount", 0, "counted rightly")
}
