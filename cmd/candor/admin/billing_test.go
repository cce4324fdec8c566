package admin_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
	"time"

	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/dbtest"
	"candor/internal/testkit/process"
)

// An operator takes an account's subscription through its states, and settles its
// invoices.
func TestBillingByCommand(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	env := process.NewEnvironment(t)
	account := process.CreateAccount(t, env)
	says := func(line string, code int, want ...string) {
		t.Helper()
		words := strings.Fields(strings.ReplaceAll(line, "ACCOUNT", account.AccountID))
		for i := range words {
			words[i] = strings.ReplaceAll(words[i], "_", " ")
			if strings.HasPrefix(words[i], "acct ") {
				words[i] = account.AccountID
			}
		}
		r := process.Run(t, env, append([]string{"billing"}, words...)...)
		for _, text := range want {
			if r.Code != code || !strings.Contains(r.Stdout+r.Stderr, text) {
				t.Errorf("candor billing %s: exit code %d, %q; want %d and %q", words, r.Code, r.Stdout+r.Stderr, code, text)
			}
		}
	}
	server := process.Serve(t, env, "web")
	says("plan --account ACCOUNT --plan professional", 0, "Plan          professional\n")
	says("show --account ACCOUNT", 0, "professional", "active", "0 live sessions, $0.00 so far")
	says("plan --account ACCOUNT --plan starter", 0, "professional, starter from ")
	says("plan --account ACCOUNT --plan starter", 1, "The change to this plan on ", " is already saved")
	says("plan --account ACCOUNT --plan gold", 1, "Choose one of the plans")
	says("plan --account ACCOUNT --plan professional", 0, "Plan          professional\n")
	says("cancel --account ACCOUNT", 1, "Enter a reason")
	says("cancel --account ACCOUNT --reason trial_over", 0, "cancelled, ends ")
	says("reactivate --account ACCOUNT", 0, "Status        active\n")
	says("reactivate --account ACCOUNT", 1, "isn’t cancelled")

	// Eleven sessions on Starter: one more than included.
	lengthenPeriod(t, env)
	says("cancel --account ACCOUNT --reason trial_over --now", 0, "has ended")
	says("show --account ACCOUNT", 1, "no active subscription")
	says("subscribe --account ACCOUNT --plan starter", 0, "starter")
	says("subscribe --account ACCOUNT --plan starter", 1, "already")
	for range 11 {
		process.NewPartner(t, server.URL, account.LiveKey).CreateSession("")
	}
	says("show --account ACCOUNT", 0, "11 live sessions, $10.00 so far")
	says("cancel --account ACCOUNT --reason done --now", 0, "has ended")
	says("invoices", 0, "CAN-000002", "$10.00", "open")
	says("invoices --account ACCOUNT", 0, "CAN-000001", "CAN-000002", "paid")
	says("failed CAN-000002 --note insufficient_funds", 0, "failed, next attempt at ")
	says("paid CAN-000002", 1, "Enter a reference or a reason")
	says("paid CAN-000002 --note transfer_77", 0, "CAN-000002", "paid")
	says("paid CAN-000002 --note transfer_77", 1, "paid or void already")
	says("void 3 --note mistake", 1, "no such invoice")
	says("void what --note mistake", 2, "is not the number of an invoice")
	says("invoices", 0, "No invoices")
	says("recount", 0, "counted correctly")
}

// lengthenPeriod makes the open period long enough for an invoice.
func lengthenPeriod(t *testing.T, env process.Environment) {
	t.Helper()
	_, err := dbtest.Open(t, env["DATABASE_URL"]).Raw().Exec(`
		UPDATE subscription SET started_at = started_at - interval '1 hour', billed_to = billed_to - interval '1 hour'
			WHERE closes_at IS NOT NULL`)
	if err != nil {
		t.Fatal(err)
	}
}

// A shell without the processes' environment can't issue invoices with other terms
// by mistake.
func TestBillingCommandsKnowTheTerms(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	bare := process.NewEnvironment(t)
	env := bare.With("CANDOR_SELLER_NAME", "Candor Pty Ltd", "CANDOR_SELLER_ABN", "51 824 753 556",
		"CANDOR_SELLER_ADDRESS", "1 High St; Hobart", "CANDOR_BANK_DETAILS", "BSB 062-000; account 1234")
	account := process.CreateAccount(t, env)
	billing := func(env process.Environment, args ...string) process.Result {
		return process.Run(t, env, append([]string{"billing", args[0], "--account", account.AccountID}, args[1:]...)...)
	}
	subscribe := func() {
		t.Helper()
		if r := billing(env, "subscribe", "--plan", "starter"); r.Code != 0 {
			t.Fatal(r.Stderr)
		}
	}
	end := []string{"cancel", "--now", "--reason", "moved"}

	// A subscription that was hardly begun ends without an invoice.
	if r := billing(env, end...); r.Code != 0 || !strings.Contains(r.Stdout, "has ended") || strings.Contains(r.Stdout, "CAN-") {
		t.Errorf("hardly begun: exit code %d, %q", r.Code, r.Stdout+r.Stderr)
	}
	subscribe()
	lengthenPeriod(t, env)

	// The first invoice can have any terms, and the command shows them.
	first := billing(env, end...)
	today := time.Now().UTC()
	for _, want := range []string{"has ended", "CAN-000001: $0.00 with $0.00 GST, paid, due " + today.AddDate(0, 0,
		14).Format(time.DateOnly) + ", from Candor Pty Ltd (ABN 51 824 753 556)"} {
		if first.Code != 0 || !strings.Contains(first.Stdout, want) {
			t.Errorf("exit code %d, %q, want %q", first.Code, first.Stdout+first.Stderr, want)
		}
	}
	subscribe()
	lengthenPeriod(t, env)
	for name, tt := range map[string]struct {
		env   process.Environment
		named []string
	}{
		"a bare shell":   {bare, []string{"CANDOR_SELLER_NAME", "CANDOR_SELLER_ABN", "CANDOR_SELLER_ADDRESS", "CANDOR_BANK_DETAILS"}},
		"another GST":    {env.With("CANDOR_GST_PERCENT", "0"), []string{"CANDOR_GST_PERCENT"}},
		"other days":     {env.With("CANDOR_INVOICE_DUE_DAYS", "7"), []string{"CANDOR_INVOICE_DUE_DAYS"}},
		"another seller": {env.With("CANDOR_SELLER_NAME", "Other"), []string{"CANDOR_SELLER_NAME"}},
		"cards": {env.With("CANDOR_STRIPE_SECRET_KEY", "sk_1", "CANDOR_STRIPE_WEBHOOK_SECRET", "whsec_1",
			"CANDOR_INVOICE_DUE_DAYS", "14"), []string{"CANDOR_STRIPE_SECRET_KEY"}},
	} {
		for _, args := range [][]string{end, {"plan", "--plan", "professional"}} {
			r := billing(tt.env, args...)
			named := strings.Join(regexp.MustCompile(`CANDOR_\w+`).FindAllString(r.Stderr, -1), " ")
			if r.Code != 1 || named != strings.Join(tt.named, " ") || !strings.Contains(r.Stderr, "CAN-000001") ||
				!strings.Contains(r.Stderr, "--terms-changed") {
				t.Errorf("%s, %s: exit code %d, %q; want a refusal that names %q", name, args[0], r.Code, r.Stdout+r.Stderr, tt.named)
			}
		}
	}
	// --terms-changed allows it; with the same terms it isn't needed.
	changed := process.RunJSON[struct {
		Status string
		Issued []struct {
			Number, Seller string
			Amount         json.Number
			GST            statement.Cents
		} `json:"issued_invoices"`
	}](t, bare, append([]string{"billing"}, append(end, "--account", account.AccountID, "--terms-changed")...)...)
	if changed.Status != "ended" || len(changed.Issued) != 1 || changed.Issued[0].Number != "CAN-000002" ||
		changed.Issued[0].Seller != "" || changed.Issued[0].Amount != "0" {
		t.Errorf("with --terms-changed: %+v", changed)
	}
	subscribe()
	if r := billing(bare, "plan", "--plan", "professional"); r.Code != 0 || strings.Contains(r.Stdout, "Issued") {
		t.Errorf("with the newest invoice's terms: exit code %d, %q", r.Code, r.Stdout+r.Stderr)
	}
}
