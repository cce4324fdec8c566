package handlers_test

import (
	"bytes"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit/servicetest"
)

// bill does what is due in all accounts' ledger, at the bench's time.
func (b *bench) bill() {
	b.Helper()
	runner := billing.Runner{
		DB: b.db, Ledger: &billing.Ledger{Events: b.service.Outbox, Terms: b.service.Billing.Ledger.Terms}, Provider: billing.Manual{}, Logger: b.service.Logger,
	}
	b.ok(runner.Run(b.Context(), b.clock.Now()))
}

// lastInvoice ends the account's subscription and returns its last invoice.
func (b *bench) lastInvoice(account domain.AccountID) *domain.Invoice {
	b.Helper()
	b.ok(b.service.Billing.Cancel(b.Context(), account, someone, true, "the end"))
	invoices, _, err := b.service.Billing.Invoices(b.Context(), account, 0, 1)
	b.ok(err)
	return &invoices[0]
}

func TestBillingPages(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	live := domain.Scope{AccountID: b.account.AccountID, Livemode: true}
	finance := b.staff(domain.RoleFinance)
	const page = "/dashboard/live/billing"
	finance.wantPage(finance.get(page), http.StatusOK, "Professional", "0 live sessions", "of 100 included", "$0.00", "None yet", "BSB 062-000", "partner@lender.example")

	// Where invoices go.
	finance.wantPage(finance.post(page+"/email", url.Values{"billing_email": {"nobody"}}), http.StatusUnprocessableEntity, "Enter an e-mail address", `value="nobody"`)
	finance.wantRedirect(finance.post(page+"/email", url.Values{"billing_email": {" accounts@lender.example "}}), page)
	finance.wantPage(finance.get(page), http.StatusOK, "accounts@lender.example", "Invoices are sent to this address")

	// Down, at the period's end; and back.
	finance.wantPage(finance.get(page+"/plan"), http.StatusOK, "Starter", "Enterprise", "Nothing changes yet")
	finance.wantPage(finance.get(page+"/plan?plan=professional"), http.StatusUnprocessableEntity, "This is your plan already")
	finance.wantPage(finance.get(page+"/plan?plan=starter"), http.StatusOK, "Professional to Starter", "Until 20 Dec 2026", "$10.00 for each further one", "Change to Starter on")
	finance.wantRedirect(finance.post(page+"/plan", url.Values{"plan": {"starter"}}), page)
	finance.wantPage(finance.get(page), http.StatusOK, "From 20 Dec 2026, ")
	finance.wantRedirect(finance.post(page+"/plan", url.Values{"plan": {"professional"}}), page)
	finance.wantPage(finance.post(page+"/plan", url.Values{"plan": {"gold"}}), http.StatusUnprocessableEntity, "Choose one of the plans")
	finance.wantRedirect(finance.post(page+"/plan", url.Values{"plan": {"starter"}}), page)

	// The invoice of the next period, on Starter.
	b.clock.advance(30*24*time.Hour + 2*time.Minute)
	b.bill()
	for range 12 {
		b.newSession(live, domain.NewSession{})
	}
	b.clock.advance(10 * 24 * time.Hour)
	finance = b.staff(domain.RoleFinance)
	finance.wantPage(finance.get(page), http.StatusOK, "CAN-000001", "$0.00", "12 live sessions", "$20.00", "includes $1.82 GST", "If it goes on like this: 37 sessions and $270.00")
	finance.wantPage(finance.get(page+"/plan?plan=professional"), http.StatusOK, "$20.00, stays on its invoice", "88 are left")

	// Enterprise is an operator's to give.
	choice := finance.get(page + "/plan")
	finance.wantPage(choice, http.StatusOK, "Live sessions without a limit", "By agreement: talk to us")
	if strings.Contains(choice.Body.String(), `value="enterprise"`) {
		t.Error("Enterprise can be chosen")
	}
	finance.wantPage(finance.get(page+"/plan?plan=enterprise"), http.StatusUnprocessableEntity, "This plan is by agreement: talk to us")
	finance.wantPage(finance.post(page+"/plan", url.Values{"plan": {"enterprise"}}), http.StatusUnprocessableEntity, "This plan is by agreement: talk to us")

	// Cancelling says what it comes to, and can be taken back.
	finance.wantPage(finance.get(page+"/cancel"), http.StatusOK, "no live session can be created", "The invoice of $20.00 is made at once", "20 Jan 2027",
		"If you subscribe anew before 20 Jan 2027", "count against the included ones")
	finance.wantPage(finance.post(page+"/cancel", url.Values{"when": {"end"}}), http.StatusUnprocessableEntity, "Say why")
	finance.wantRedirect(finance.post(page+"/cancel", url.Values{"when": {"end"}, "reason": {hostile}}), page)
	finance.wantPage(finance.get(page), http.StatusOK, "The subscription ends on", "Take the cancellation back")
	owner := b.staff(domain.RoleOwner)
	if log := owner.get("/dashboard/live/audit"); strings.Contains(log.Body.String(), "<script>alert") {
		t.Error("the audit log has the reason as it was typed")
	}
	finance.wantRedirect(finance.get(page+"/plan"), page)
	finance.wantRedirect(finance.post(page+"/reactivate", nil), page)
	finance.wantRedirect(finance.post(page+"/cancel", url.Values{"when": {"now"}, "reason": {"too dear"}}), page)
	finance.wantPage(finance.get(page), http.StatusOK, "No subscription", "CAN-000002", "Due on 13 January 2027 UTC", "Open",
		"the 12 sessions used in it count against the included ones of your first period")
	finance.wantPage(finance.post(page+"/subscribe", url.Values{"plan": {"enterprise"}}), http.StatusUnprocessableEntity, "This plan is by agreement: talk to us")
	b.post("/sessions", validBody).status(http.StatusCreated) // test mode needs none

	// Its PDF, unpaid and paid.
	invoices, _, err := b.service.Billing.Invoices(b.Context(), b.account.AccountID, 0, 10)
	b.ok(err)
	pdfOf := func() []byte {
		answer := finance.get(page + "/invoices/" + invoices[0].ID.String() + "/pdf")
		finance.wantPage(answer, http.StatusOK, "%PDF-")
		if got := answer.Header().Get("Content-Disposition"); !strings.Contains(got, "CAN-000002.pdf") {
			t.Errorf("Content-Disposition %q", got)
		}
		return answer.Body.Bytes()
	}
	open := pdfOf()
	b.clock.advance(14 * 24 * time.Hour)
	b.bill()
	finance = b.staff(domain.RoleFinance)
	finance.wantPage(finance.get(page), http.StatusOK, "Overdue", "No payment has arrived by the due date. We look again on 16 January 2027 UTC; if it hasn’t arrived by 28 January 2027 UTC, the subscription is past due.")
	_, err = b.service.Billing.MarkPaid(b.Context(), invoices[0].ID, someone, "transfer 77")
	b.ok(err)
	finance.wantPage(finance.get(page), http.StatusOK, "Paid")
	if bytes.Equal(open, pdfOf()) {
		t.Error("the PDF of the paid invoice is that of the open one")
	}

	finance.wantPage(finance.post(page+"/subscribe", url.Values{}), http.StatusUnprocessableEntity, "Choose one of the plans")
	finance.wantRedirect(finance.post(page+"/subscribe", url.Values{"plan": {"starter"}}), page)
	finance.wantPage(finance.get(page), http.StatusOK, "Starter", "Active", "0 live sessions", "2 more than the 10 included",
		"12 sessions of the period that was cancelled before count against the included ones", "100 % of your plan is used")
	finance.wantPage(finance.get("/dashboard/live"), http.StatusOK, "0 live sessions this period, 2 more than the 10 included")
	if got := finance.post(page+"/card", nil); got.Code != http.StatusNotFound {
		t.Errorf("a card where none is taken: status %d, want 404", got.Code)
	}
	for action, want := range map[domain.AuditAction]int{
		domain.AuditBillingEmail: 1, domain.AuditPlanChanged: 3, domain.AuditSubscriptionCancelled: 2, domain.AuditReactivated: 1,
		domain.AuditSubscribed: 1, domain.AuditInvoicePaid: 1,
	} {
		b.audited(action, want)
	}
}

// restarted is the bench as it is after a start with other terms.
func (b *bench) restarted(terms billing.Terms) *bench {
	b.Helper()
	again := *b
	config := b.service.Config
	config.Terms = terms
	again.service = servicetest.New(config)
	again.config = using(again.config, again.service)
	var err error
	again.handler, err = handlers.New(again.config)
	b.ok(err)
	return &again
}

// textOf is what a PDF says.
func textOf(t *testing.T, document []byte) string {
	t.Helper()
	read := exec.Command("pdftotext", "-layout", "-", "-")
	read.Stdin = bytes.NewReader(document)
	text, err := read.Output()
	if err != nil {
		t.Fatalf("pdftotext: %v", err)
	}
	return string(text)
}

// An issued invoice's PDF is drawn from its row alone: not even a seller who
// moved house changes it.
func TestInvoicePDFStaysAsIssued(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	live := domain.Scope{AccountID: b.account.AccountID, Livemode: true}
	b.ok(b.service.Billing.ChangePlan(b.Context(), live.AccountID, someone, "starter"))
	b.clock.advance(31 * 24 * time.Hour)
	b.bill()
	for range 11 {
		b.newSession(live, domain.NewSession{})
	}
	path := "/dashboard/live/billing/invoices/" + b.lastInvoice(live.AccountID).ID.String() + "/pdf"
	before := b.staff(domain.RoleFinance).get(path).Body.Bytes()
	text := textOf(t, before)
	for _, want := range []string{"Tax invoice", "Candor Pty Ltd", "ABN 51 824 753 556", "BSB 062-000, account 1234 5678", "Reference: CAN-000002"} {
		if !strings.Contains(text, want) {
			t.Errorf("the PDF doesn't say %q:\n%s", want, text)
		}
	}
	for _, seller := range []domain.Seller{{}, {Name: "Other Pty Ltd", ABN: "11 222 333 444", Transfer: []string{"BSB 999-999"}}, {Cards: true}} {
		if after := b.restarted(billing.Terms{Seller: seller}).staff(domain.RoleFinance).get(path).Body.Bytes(); !bytes.Equal(before, after) {
			t.Errorf("issued by another seller than %+v, and yet the PDF follows:\n%s", seller, textOf(t, after))
		}
	}
	for what, change := range map[string]string{"the seller": `seller = '{}'`, "no seller": `seller = NULL`} {
		if _, err := b.db.Raw().ExecContext(b.Context(), `UPDATE invoice SET `+change+` WHERE status = 'open'`); err == nil {
			t.Errorf("%s: an issued invoice was changed", what)
		}
	}
}

// Who can't charge GST doesn't say that a price includes it.
func TestBillingPageClaimsNoGSTWithoutABN(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.ok(b.service.Billing.ChangePlan(b.Context(), b.account.AccountID, someone, "starter"))
	b.clock.advance(31 * 24 * time.Hour)
	b.bill()
	for range 11 {
		b.newSession(domain.Scope{AccountID: b.account.AccountID, Livemode: true}, domain.NewSession{})
	}
	terms := invoiceTerms()
	terms.Seller.ABN = ""
	for claims, on := range map[bool]*bench{true: b, false: b.restarted(terms)} {
		page := on.staff(domain.RoleFinance).get("/dashboard/live/billing").Body.String()
		if !strings.Contains(page, "$10.00") || strings.Contains(page, "includes $0.91 GST") != claims {
			t.Errorf("the page says that the total includes GST: %t, want %t", !claims, claims)
		}
	}
}

// Cancelling drops a step down that is to come, and says so before.
func TestCancellingSaysThatAChangeIsDropped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	finance := b.staff(domain.RoleFinance)
	const page = "/dashboard/live/billing/cancel"
	if strings.Contains(finance.get(page).Body.String(), "is dropped") {
		t.Error("a change of plan is dropped, and none is to come")
	}
	b.ok(b.service.Billing.ChangePlan(b.Context(), b.account.AccountID, someone, "starter"))
	finance.wantPage(finance.get(page), http.StatusOK, "The change to Starter on 20 Dec 2026, ", "is dropped", "doesn’t bring it back")
	b.ok(b.service.Billing.Cancel(b.Context(), b.account.AccountID, someone, false, "the end"))
	b.ok(b.service.Billing.Reactivate(b.Context(), b.account.AccountID, someone))
	if of, err := b.service.Billing.Subscription(b.Context(), b.account.AccountID); err != nil || of.NextPlanID != nil {
		t.Errorf("it isn't dropped: %+v, %v", of, err)
	}
}
