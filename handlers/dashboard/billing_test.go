package dashboard_test

import (
	"bytes"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/db"
	"candor/handlers"
	"candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// bill does what is due in all accounts' ledger, at the bench's time.
func bill(h *harness.Harness) {
	h.Helper()
	runner := billing.Runner{
		DB: h.DB, Ledger: &billing.Ledger{Events: h.Service.Outbox, Terms: h.Service.Billing.Ledger.Terms}, Provider: billing.Manual{},
		Logger: h.Service.Logger,
	}
	h.OK(runner.Run(h.Context(), h.Clock.Now()))
}

func TestBillingPages(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	live := domain.Scope{AccountID: h.Account.AccountID, Livemode: true}
	finance := h.Staff(domain.RoleFinance)
	const page = "/dashboard/live/billing"
	finance.WantPage(finance.Get(page), http.StatusOK, "Professional", "0 live sessions", "of 100 included", "$0.00", "None yet",
		"BSB 062-000", "partner@lender.example")

	// Where invoices go.
	finance.WantPage(finance.Post(page+"/email", url.Values{"billing_email": {"accounts"}}), http.StatusUnprocessableEntity,
		"Enter an email address").WantField("billing_email", "accounts")
	finance.WantRedirect(finance.Post(page+"/email", url.Values{"billing_email": {" accounts@lender.example "}}), page)
	finance.WantPage(finance.Get(page), http.StatusOK, "accounts@lender.example", "Invoices are sent to this address")

	// Down, at the period's end; and back.
	finance.WantPage(finance.Get(page+"/plan"), http.StatusOK, "Starter", "Enterprise", "Nothing changes yet")
	finance.WantPage(finance.Get(page+"/plan?plan=professional"), http.StatusUnprocessableEntity, "This is your current plan")
	finance.WantPage(finance.Get(page+"/plan?plan=starter"), http.StatusOK, "Professional to Starter", "Until 20 Dec 2026",
		"$10.00 for each further one", "Change to Starter on")
	finance.WantRedirect(finance.Post(page+"/plan", url.Values{"plan": {"starter"}}), page)
	finance.WantPage(finance.Get(page), http.StatusOK, "From 20 Dec 2026, ",
		"Plan change saved. It takes effect on 20 December 2026.")
	for _, again := range []*httptest.ResponseRecorder{finance.Get(page + "/plan?plan=starter"),
		finance.Post(page+"/plan", url.Values{"plan": {"starter"}})} {
		finance.WantPage(again, http.StatusUnprocessableEntity, "The change to this plan on 20 December 2026 is already saved")
	}
	finance.WantPage(finance.Get(page+"/plan?plan=professional"), http.StatusOK, "Keep Professional",
		"The change to Starter on 20 Dec 2026, ", "is cancelled. You stay on Professional.").
		Hides("Professional to Professional", "Change to ", "included sessions count")
	finance.WantRedirect(finance.Post(page+"/plan", url.Values{"plan": {"professional"}}), page)
	finance.WantPage(finance.Get(page), http.StatusOK, "Plan change cancelled. You keep your current plan.")
	finance.WantPage(finance.Post(page+"/plan", url.Values{"plan": {"gold"}}), http.StatusUnprocessableEntity,
		"Choose one of the plans")
	finance.WantRedirect(finance.Post(page+"/plan", url.Values{"plan": {"starter"}}), page)

	// The invoice of the next period, on Starter.
	h.Clock.Advance(30*24*time.Hour + 2*time.Minute)
	bill(h)
	for range 12 {
		h.NewSession(live, domain.NewSession{})
	}
	h.Clock.Advance(10 * 24 * time.Hour)
	finance = h.Staff(domain.RoleFinance)
	finance.WantPage(finance.Get(page), http.StatusOK, "CAN-000001", "$0.00", "12 live sessions", "$20.00", "includes $1.82 GST",
		"At this rate: about 37 sessions, $270, by 20 January.",
		"12 live sessions this period: 10 included + 2 extra", "12 sessions used: 10 included and 2 extra",
		"You’ve used all your 10 included sessions. 2 extra sessions cost $20.00 so far. Each further one costs $10.")
	finance.WantPage(finance.Get(page+"/plan?plan=professional"), http.StatusOK, "$20.00 so far stay on its invoice",
		"88 are left", "(AUD)")

	// Enterprise is an operator's to give.
	choice := finance.WantPage(finance.Get(page+"/plan"), http.StatusOK, "Live sessions without a limit", "By agreement: talk to us")
	if got := choice.Field("plan").Choices; len(got) == 0 || slices.Contains(got, "enterprise") {
		t.Errorf("the plans %q can be chosen, want others than Enterprise", got)
	}
	finance.WantPage(finance.Get(page+"/plan?plan=enterprise"), http.StatusUnprocessableEntity, "Contact us for this plan")
	finance.WantPage(finance.Post(page+"/plan", url.Values{"plan": {"enterprise"}}), http.StatusUnprocessableEntity,
		"Contact us for this plan")

	// Cancelling says what it comes to, and can be taken back.
	finance.WantPage(finance.Get(page+"/cancel"), http.StatusOK,
		"Once you cancel, you can’t create live sessions, even if the subscription ends later.", "(AUD)",
		"The invoice of $20.00 is issued at once", "20 Jan 2027",
		"If you subscribe again before 20 Jan 2027", "count against those included in the new one")
	finance.WantPage(finance.Post(page+"/cancel", url.Values{"when": {"end"}}), http.StatusUnprocessableEntity, "Enter a reason")
	finance.WantRedirect(finance.Post(page+"/cancel", url.Values{"when": {"end"}, "reason": {harness.Hostile}}), page)
	finance.WantPage(finance.Get(page), http.StatusOK, "The subscription ends on", "Reactivate subscription")
	owner := h.Staff(domain.RoleOwner)
	if log := owner.Get("/dashboard/live/audit"); strings.Contains(log.Body.String(), "<script>alert") {
		t.Error("the audit log has the reason as it was typed")
	}
	finance.WantRedirect(finance.Get(page+"/plan"), page)
	finance.WantRedirect(finance.Post(page+"/reactivate", nil), page)
	finance.WantRedirect(finance.Post(page+"/cancel", url.Values{"when": {"now"}, "reason": {"too dear"}}), page)
	finance.WantPage(finance.Get(page), http.StatusOK, "No subscription", "CAN-000002", "Due on 13 January 2027 UTC", "Open",
		"the 12 sessions used in it count against those included in your first period")
	finance.WantPage(finance.Post(page+"/subscribe", url.Values{"plan": {"enterprise"}}), http.StatusUnprocessableEntity,
		"Contact us for this plan")
	h.Post("/sessions", harness.ValidBody).WantStatus(http.StatusCreated) // test mode needs none

	// Its PDF, unpaid and paid.
	invoices, _, err := h.Service.Billing.Invoices(h.Context(), h.Account.AccountID, 0, 10)
	h.OK(err)
	pdfOf := func() []byte {
		answer := finance.Get(page + "/invoices/" + invoices[0].ID.String() + "/pdf")
		finance.WantPage(answer, http.StatusOK, "%PDF-")
		if got := answer.Header().Get("Content-Disposition"); !strings.Contains(got, "CAN-000002.pdf") {
			t.Errorf("Content-Disposition %q", got)
		}
		return answer.Body.Bytes()
	}
	open := pdfOf()
	h.Clock.Advance(14 * 24 * time.Hour) // the due date
	bill(h)
	finance = h.Staff(domain.RoleFinance)
	finance.WantPage(finance.Get(page), http.StatusOK, "Due on 13 January 2027 UTC", "Open").Hides("Overdue")
	h.Clock.Advance(24 * time.Hour)
	bill(h)
	finance = h.Staff(domain.RoleFinance)
	finance.WantPage(finance.Get(page), http.StatusOK, "Overdue",
		"No payment has arrived by the due date. We look again on 17 January 2027 UTC. The invoice is still owed.").Hides(
		"the subscription is past due")
	finance.WantPage(finance.Get(page+"/invoices/"+invoices[0].ID.String()), http.StatusOK, "The invoice is still owed.")
	_, err = h.Service.Billing.MarkPaid(h.Context(), invoices[0].ID, harness.Operator, "transfer 77")
	h.OK(err)
	finance.WantPage(finance.Get(page), http.StatusOK, "Paid")
	if bytes.Equal(open, pdfOf()) {
		t.Error("the PDF of the paid invoice is that of the open one")
	}

	finance.WantPage(finance.Post(page+"/subscribe", url.Values{}), http.StatusUnprocessableEntity, "Choose one of the plans")
	finance.WantRedirect(finance.Post(page+"/subscribe", url.Values{"plan": {"starter"}}), page)
	finance.WantPage(finance.Get(page), http.StatusOK, "Starter", "Active",
		"0 live sessions this period; with 12 carried over: 10 included + 2 extra",
		"12 sessions from the cancelled period count against those included in this one",
		"You’ve used all your 10 included sessions. Each extra session costs $10.")
	finance.WantPage(finance.Get("/dashboard/live"), http.StatusOK,
		"0 live sessions this period; with 12 carried over: 10 included + 2 extra")
	finance.WantPage(finance.Get(page+"/cancel"), http.StatusOK, "If you subscribe again before 20 Jan 2027")
	h.Clock.Advance(7 * 24 * time.Hour)
	finance = h.Staff(domain.RoleFinance)
	finance.WantPage(finance.Get(page+"/cancel"), http.StatusOK, "You can’t undo this.").Hides("subscribe again")
	if got := finance.Post(page+"/card", nil); got.Code != http.StatusNotFound {
		t.Errorf("a card where none is taken: status %d, want 404", got.Code)
	}
	for action, want := range map[domain.AuditAction]int{
		domain.AuditBillingEmail: 1, domain.AuditPlanChanged: 3, domain.AuditSubscriptionCancelled: 2, domain.AuditReactivated: 1,
		domain.AuditSubscribed: 1, domain.AuditInvoicePaid: 1,
	} {
		audited(h, action, want)
	}
}

// An invoice that failed for good is paid by another card. Only a subscription
// that admits sessions becomes past due.
func TestFailedInvoiceSaysWhatIsNext(t *testing.T) {
	t.Parallel()
	for _, cards := range []bool{false, true} {
		h := harness.New(t, func(c *handlers.Config) {
			if cards {
				c.Billing.Cards = storedCards{}
			}
		})
		h.OK(h.DB.SetCustomer(h.Context(), &db.PaymentMethod{AccountID: h.Account.AccountID, Provider: storedCards{}.Name(),
			CustomerID: "cus_1"}, ""))
		h.OK(h.DB.InTx(h.Context(), func(tx *db.Tx) error {
			_, err := tx.SetPaymentMethod(h.Context(), storedCards{}.Name(), "cus_1", "pm_1", "Visa ending in 4242", h.Clock.Now())
			return err
		}))
		extraUse(h, 12)
		h.Clock.Advance(31 * 24 * time.Hour)
		bill(h)
		path := billingPage + "/invoices/" + harness.QueryOne[domain.InvoiceID](h, `SELECT id FROM invoice WHERE number = 2`).String()
		collected := "Candor collects it by itself"
		for _, days := range []int{15, 3, 5, 7} {
			finance := h.Staff(domain.RoleFinance)
			if shown := finance.WantPage(finance.Get(path), http.StatusOK); cards {
				shown.Shows(collected)
			}
			h.Clock.Advance(time.Duration(days) * 24 * time.Hour)
			bill(h)
			if finance = h.Staff(domain.RoleFinance); !cards && days == 15 {
				for _, at := range []string{billingPage, path} {
					finance.WantPage(finance.Get(at), http.StatusOK, "the subscription is past due.").Hides("still owed")
				}
			}
		}
		finance := h.Staff(domain.RoleFinance)
		if shown := finance.WantPage(finance.Get(path), http.StatusOK); cards {
			shown.Shows("Use another card, and Candor collects this invoice from it.").Hides(collected)
			if !strings.Contains(finance.Get(path).Body.String(), `href="`+billingPage+`#card"`) ||
				!strings.Contains(finance.Get(billingPage).Body.String(), `id="card"`) {
				t.Error("the invoice doesn't lead to the card")
			}
		}
	}
}

// restarted is the harness as it is after a start with other terms.
func restarted(h *harness.Harness, terms billing.Terms) *harness.Harness {
	h.Helper()
	again := *h
	config := h.Service.Config
	config.Terms = terms
	again.Restart(config)
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
	h := harness.New(t)
	extraUse(h, 11)
	path := "/dashboard/live/billing/invoices/" + h.LastInvoice(h.Account.AccountID).ID.String() + "/pdf"
	before := h.Staff(domain.RoleFinance).Get(path).Body.Bytes()
	text := textOf(t, before)
	for _, want := range []string{"Tax invoice", "Candor Pty Ltd", "ABN 51 824 753 556", "BSB 062-000, account 1234 5678",
		"Reference: CAN-000002"} {
		if !strings.Contains(text, want) {
			t.Errorf("the PDF doesn't say %q:\n%s", want, text)
		}
	}
	for _, seller := range []domain.Seller{{}, {Name: "Other Pty Ltd", ABN: "11 222 333 444", Transfer: []string{"BSB 999-999"}},
		{Cards: true}} {
		if after := restarted(h, billing.Terms{Seller: seller}).Staff(domain.RoleFinance).Get(path).
			Body.Bytes(); !bytes.Equal(before, after) {
			t.Errorf("issued by another seller than %+v, and yet the PDF follows:\n%s", seller, textOf(t, after))
		}
	}
	for what, change := range map[string]string{"the seller": `seller = '{}'`, "no seller": `seller = NULL`} {
		if _, err := h.DB.Raw().ExecContext(h.Context(), `UPDATE invoice SET `+change+` WHERE status = 'open'`); err == nil {
			t.Errorf("%s: an issued invoice was changed", what)
		}
	}
}

// Who can't charge GST doesn't say that a price includes it.
func TestBillingPageClaimsNoGSTWithoutABN(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	extraUse(h, 11)
	terms := harness.InvoiceTerms()
	terms.Seller.ABN = ""
	for claims, on := range map[bool]*harness.Harness{true: h, false: restarted(h, terms)} {
		page := on.Staff(domain.RoleFinance).Get("/dashboard/live/billing").Body.String()
		if !strings.Contains(page, "$10.00") || strings.Contains(page, "includes $0.91 GST") != claims {
			t.Errorf("the page says that the total includes GST: %t, want %t", !claims, claims)
		}
	}
}

// Cancelling drops a step down that is to come, and says so before.
func TestCancellingSaysThatAChangeIsDropped(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	finance := h.Staff(domain.RoleFinance)
	const page = "/dashboard/live/billing/cancel"
	if strings.Contains(finance.Get(page).Body.String(), "is dropped") {
		t.Error("a change of plan is dropped, and none is to come")
	}
	h.OK(h.Service.Billing.ChangePlan(h.Context(), h.Account.AccountID, harness.Operator, "starter"))
	finance.WantPage(finance.Get(page), http.StatusOK, "The change to Starter on 20 Dec 2026, ", "is dropped",
		"doesn’t bring it back")
	h.OK(h.Service.Billing.Cancel(h.Context(), h.Account.AccountID, harness.Operator, false, "the end"))
	h.OK(h.Service.Billing.Reactivate(h.Context(), h.Account.AccountID, harness.Operator))
	if of, err := h.Service.Billing.Subscription(h.Context(), h.Account.AccountID); err != nil || of.NextPlanID != nil {
		t.Errorf("it isn't dropped: %+v, %v", of, err)
	}
}
