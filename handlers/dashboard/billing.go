package dashboard

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/billing"
	view "candor/views/dashboard"
	"candor/views/pdf"
)

// invoicesPerPage is how many invoices the billing page lists.
const invoicesPerPage = 12

// cardPages is the site of the payment provider on which cards are stored.
const cardPages = "https://checkout.stripe.com"

// cardPageWait bounds how long a person waits for the payment provider.
const cardPageWait = 15 * time.Second

// cardQuery is the parameter with which that site leads back.
const cardQuery = "card"

var cardNotices = map[string]string{"stored": "card_stored", "none": "card_not_stored"}

// billingUse is the account's subscription as pages show it, nil without one.
func (s *Server) billingUse(c echo.Context, v *Visit) (*view.BillingUse, error) {
	of, err := s.Billing.Subscription(c.Request().Context(), v.Scope.AccountID)
	if errors.Is(err, &domain.Error{Code: domain.CodeSubscriptionNotFound}) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	use := &view.BillingUse{
		Subscription: of.Subscription, Period: of.Period, InvoiceDate: of.InvoiceDate, Used: of.Used, Carried: of.Carried,
		Lines:      of.Lines,
		Projection: of.Projection, Cap: of.Limits.Cap, CapReached: of.CapReached,
	}
	if s.Billing.Ledger.Terms.Seller.ChargesGST() {
		use.GST = of.GST
	}
	return use, nil
}

// ShowBilling shows what the account pays. It shows a notice to a user who
// returns from the card page; whether a card was stored, the provider's webhook
// tells.
func (s *Server) ShowBilling(c echo.Context, v *Visit) error {
	if notice, ok := cardNotices[c.QueryParam(cardQuery)]; ok && s.Billing.Cards != nil {
		return s.backTo(c, v, "billing", nil, notice)
	}
	return s.billingPage(c, v, http.StatusOK, nil)
}

func (s *Server) billingPage(c echo.Context, v *Visit, status int, errs form.Errors) error {
	ctx := c.Request().Context()
	before, err := strconv.ParseInt("0"+c.QueryParam("before"), 10, 64)
	if err != nil {
		return echo.ErrNotFound
	}
	page := view.BillingPage{Page: s.page(v, "Billing"), DueDays: s.Billing.Ledger.Terms.DueDays}
	page.Transfer, page.Contact = s.Billing.Ledger.Terms.Seller.Transfer, s.Billing.Ledger.Terms.Contact
	page.Errors = view.ErrorItems(errs)
	page.Live = view.Live{Topics: domain.InvoiceChanged}
	if page.Use, err = s.billingUse(c, v); err != nil {
		return err
	}
	if page.Use == nil {
		if page.Carry, err = s.Billing.NextCarry(ctx, v.Scope.AccountID); err != nil {
			return err
		}
	}
	if page.Plans, err = s.Billing.Plans(ctx); err != nil {
		return err
	}
	if page.Invoices, page.More, err = s.Billing.Invoices(ctx, v.Scope.AccountID, before, invoicesPerPage); err != nil {
		return err
	}
	if page.Cards, page.Card, err = s.Billing.Card(ctx, v.Scope.AccountID); err != nil {
		return err
	}
	if page.Cards {
		s.allowCardPages(c)
	}
	account, err := s.Accounts.Get(ctx, v.Scope.AccountID)
	if err != nil {
		return err
	}
	page.BillingEmail = account.BillingEmail
	if errs != nil && c.Request().PostForm.Has("billing_email") {
		page.BillingEmail = c.FormValue("billing_email")
	}
	buyer, err := s.Billing.Buyer(ctx, v.Scope.AccountID)
	if err != nil {
		return err
	}
	page.Buyer = view.BuyerForm{Name: buyer.Name, ABN: buyer.ABN, Address: strings.Join(buyer.Address, "\n"),
		PurchaseOrder: buyer.PurchaseOrder}
	if errs != nil && c.Request().PostForm.Has("abn") {
		page.Buyer = buyerForm(c)
	}
	if page.Spend, err = s.spendForm(c, v, errs); err != nil {
		return err
	}
	return web.Render(c, status, view.Billing(page))
}

// allowCardPages allows a form of the page to redirect to the payment
// provider's card page.
func (s *Server) allowCardPages(c echo.Context) {
	c.Response().Header().Set("Content-Security-Policy", strings.Replace(web.PagePolicy, "form-action 'self'",
		"form-action 'self' "+cardPages, 1))
}

// changedBilling leads back to the billing page with a notice, or shows the
// page with the errors.
func (s *Server) changedBilling(c echo.Context, v *Visit, err error, notice string) error {
	if errs := web.ValidationErrors(err); errs != nil {
		return s.billingPage(c, v, http.StatusUnprocessableEntity, errs)
	}
	return s.backTo(c, v, "billing", err, notice)
}

// ChangeBillingEmail sets the address of invoices.
func (s *Server) ChangeBillingEmail(c echo.Context, v *Visit) error {
	err := s.Billing.ChangeEmail(c.Request().Context(), v.Scope.AccountID, v.Actor, c.FormValue("billing_email"))
	return s.changedBilling(c, v, err, "billing_email_saved")
}

// spendForm is the account's spend limits, as they were typed if that was wrong.
func (s *Server) spendForm(c echo.Context, v *Visit, errs form.Errors) (view.SpendForm, error) {
	if errs != nil && c.Request().PostForm.Has("spend_cap") {
		typed := typedSpend(c)
		stops := slices.ContainsFunc(errs, func(e form.Error) bool { return e.Rule.Code == "spend_cap_stops" })
		return view.SpendForm{Cap: typed.Cap, Alerts: typed.Alerts, StopNow: typed.StopNow, Stops: stops || typed.StopNow}, nil
	}
	limits, err := s.Billing.SpendLimits(c.Request().Context(), v.Scope.AccountID)
	var out view.SpendForm
	if limits.Cap != nil {
		out.Cap = limits.Cap.Grouped()
	}
	for i, alert := range limits.Alerts {
		out.Alerts[i] = alert.Grouped()
	}
	return out, err
}

func typedSpend(c echo.Context) billing.SpendParams {
	typed := billing.SpendParams{Cap: c.FormValue("spend_cap"), StopNow: c.FormValue("stop_now") != ""}
	for i := range typed.Alerts {
		typed.Alerts[i] = c.FormValue(billing.AlertField(i))
	}
	return typed
}

// ChangeSpendLimits sets the account's spend cap and alerts.
func (s *Server) ChangeSpendLimits(c echo.Context, v *Visit) error {
	err := s.Billing.SetSpendLimits(c.Request().Context(), v.Scope.AccountID, v.Actor, typedSpend(c))
	return s.changedBilling(c, v, err, "spend_saved")
}

// buyerForm is what was typed about the account for its invoices.
func buyerForm(c echo.Context) view.BuyerForm {
	return view.BuyerForm{Name: c.FormValue("buyer_name"), ABN: c.FormValue("abn"), Address: c.FormValue("address"),
		PurchaseOrder: c.FormValue("purchase_order")}
}

// ChangeInvoiceDetails sets what invoices say about the account.
func (s *Server) ChangeInvoiceDetails(c echo.Context, v *Visit) error {
	err := s.Billing.SetBuyer(c.Request().Context(), v.Scope.AccountID, v.Actor, billing.BuyerParams(buyerForm(c)))
	return s.changedBilling(c, v, err, "buyer_saved")
}

// Subscribe starts a subscription.
func (s *Server) Subscribe(c echo.Context, v *Visit) error {
	err := s.Billing.Subscribe(c.Request().Context(), v.Scope.AccountID, v.Actor, c.FormValue("plan"))
	return s.changedBilling(c, v, err, "subscribed")
}

// Reactivate withdraws a cancellation.
func (s *Server) Reactivate(c echo.Context, v *Visit) error {
	err := s.Billing.Reactivate(c.Request().Context(), v.Scope.AccountID, v.Actor)
	return s.changedBilling(c, v, err, "reactivated")
}

// ShowPlan asks for a plan, or shows what a change to the plan of the query
// means.
func (s *Server) ShowPlan(c echo.Context, v *Visit) error {
	return s.planPage(c, v, c.QueryParam("plan"), nil)
}

// planPage shows what a change to the chosen plan means, or the choice of plans
// with the errors.
func (s *Server) planPage(c echo.Context, v *Visit, chosen string, errs form.Errors) error {
	page := view.PlanPage{Page: s.page(v, "Change plan")}
	var err error
	if page.Use, err = s.billingUse(c, v); err != nil {
		return err
	}
	if page.Use == nil || !page.Use.Subscription.Admits() {
		return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "billing"))
	}
	if page.Plans, err = s.Billing.Plans(c.Request().Context()); err != nil {
		return err
	}
	if i := slices.IndexFunc(page.Plans, func(p domain.Plan) bool { return p.ID == chosen }); i >= 0 {
		errs = web.ValidationErrors(billing.CheckPlan(&page.Use.Subscription, &page.Plans[i], v.Actor))
		if errs == nil {
			page.Chosen = &page.Plans[i]
		}
	}
	page.Errors = view.ErrorItems(errs)
	return web.Render(c, pageStatus(errs), view.ChangePlan(page))
}

// ChangePlan moves the account to another plan.
func (s *Server) ChangePlan(c echo.Context, v *Visit) error {
	before, err := s.billingUse(c, v)
	if err != nil {
		return err
	}
	err = s.Billing.ChangePlan(c.Request().Context(), v.Scope.AccountID, v.Actor, c.FormValue("plan"))
	if errs := web.ValidationErrors(err); errs != nil {
		return s.planPage(c, v, "", errs)
	}
	if err != nil {
		return s.backTo(c, v, "billing", err, "")
	}
	after, err := s.billingUse(c, v)
	return s.backTo(c, v, "billing", err, planNotice(before, after))
}

// planNotice is the code of what a change of plan came to.
func planNotice(before, after *view.BillingUse) string {
	switch {
	case before == nil || after == nil: // it has just ended
		return ""
	case after.Subscription.NextPlanID != nil:
		return web.Dated("plan_later", after.Period.End)
	case after.Subscription.Plan.ID == before.Subscription.Plan.ID:
		return "plan_kept"
	}
	return "plan_changed"
}

// ShowCancelSubscription asks when and why the subscription should end.
func (s *Server) ShowCancelSubscription(c echo.Context, v *Visit) error {
	return s.cancelPage(c, v, nil)
}

func (s *Server) cancelPage(c echo.Context, v *Visit, errs form.Errors) error {
	page := view.CancelPage{Page: s.page(v, "Cancel the subscription"), AtOnce: c.FormValue("when") == "now",
		Reason: c.FormValue("reason")}
	page.Errors = view.ErrorItems(errs)
	var err error
	if page.Use, err = s.billingUse(c, v); err != nil {
		return err
	}
	if page.Use == nil || !page.Use.Subscription.Admits() {
		return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "billing"))
	}
	if page.Plans, err = s.Billing.Plans(c.Request().Context()); err != nil {
		return err
	}
	return web.Render(c, pageStatus(errs), view.CancelSubscription(page))
}

// CancelSubscription ends the subscription.
func (s *Server) CancelSubscription(c echo.Context, v *Visit) error {
	err := s.Billing.Cancel(c.Request().Context(), v.Scope.AccountID, v.Actor, c.FormValue("when") == "now", c.FormValue("reason"))
	if errs := web.ValidationErrors(err); errs != nil {
		return s.cancelPage(c, v, errs)
	}
	return s.backTo(c, v, "billing", err, "subscription_cancelled")
}

// AddCard leads to the payment provider's page on which a card is stored.
func (s *Server) AddCard(c echo.Context, v *Visit) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), cardPageWait)
	defer cancel()
	back := s.BaseURL + view.URL(v.Scope.Livemode, "billing") + "?" + cardQuery + "="
	page, err := s.Billing.CardPage(ctx, v.Scope.AccountID, v.Actor, back+"stored", back+"none")
	if errors.As(err, new(*domain.Error)) {
		return err
	}
	if err != nil {
		web.LogFailure(s.Logger, c, err)
		return s.billingPage(c, v, http.StatusServiceUnavailable, form.Errors{{
			Field:   "card",
			Message: "Stripe can’t be reached right now, so nothing was changed. Try again in a few minutes; invoices stay as they are until then",
		}})
	}
	return c.Redirect(http.StatusSeeOther, page)
}

// ShowInvoice shows an invoice, as it stands.
func (s *Server) ShowInvoice(c echo.Context, v *Visit, id domain.InvoiceID) error {
	invoice, err := s.Billing.Invoice(c.Request().Context(), v.Scope.AccountID, id)
	if err != nil {
		return err
	}
	page := view.InvoicePage{Page: s.page(v, invoice.Title()+" "+invoice.NumberText()), Invoice: invoice,
		Contact: s.Billing.Ledger.Terms.Contact}
	page.Live = view.Live{Topics: domain.InvoiceChanged}
	if page.Cards, page.Card, err = s.Billing.Card(c.Request().Context(), v.Scope.AccountID); err != nil {
		return err
	}
	use, err := s.billingUse(c, v)
	if err != nil {
		return err
	}
	page.Admits = use != nil && use.Subscription.Admits()
	return web.Render(c, http.StatusOK, view.Invoice(page))
}

// DownloadInvoice answers with an invoice as a PDF, as it stands.
func (s *Server) DownloadInvoice(c echo.Context, v *Visit, id domain.InvoiceID) error {
	invoice, err := s.Billing.Invoice(c.Request().Context(), v.Scope.AccountID, id)
	if err != nil {
		return err
	}
	result, err := pdf.RenderInvoice(invoice, s.Fonts)
	if err != nil {
		return err
	}
	return web.BytesFile("application/pdf", invoice.NumberText()+".pdf", result.Bytes).Respond(c)
}

// billedColumns are the columns of an export of billed sessions. It has no
// customer: who sees Billing needn't see Sessions.
var billedColumns = []string{"session_id", "reference_id", "created_at", "plan", "use", "amount_aud"}

// ExportInvoice streams the sessions of an invoice as CSV, one a row with its
// reference and price. The amounts add up to the invoice's total.
func (s *Server) ExportInvoice(c echo.Context, v *Visit, id domain.InvoiceID) error {
	invoice, err := s.Billing.Invoice(c.Request().Context(), v.Scope.AccountID, id)
	if err != nil {
		return err
	}
	return s.streamBilled(c, v, invoice.NumberText()+"_sessions", func(row billedRow) error {
		return s.Billing.ExportInvoice(c.Request().Context(), invoice, v.Actor, row)
	})
}

// ExportPeriod streams the sessions of the running period as CSV.
func (s *Server) ExportPeriod(c echo.Context, v *Visit) error {
	of, err := s.Billing.Subscription(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	return s.streamBilled(c, v, "billed_sessions", func(row billedRow) error {
		return s.Billing.ExportPeriod(c.Request().Context(), of, v.Actor, row)
	})
}

type billedRow = func(*domain.BilledSession, domain.InvoiceLine) error

func (s *Server) streamBilled(c echo.Context, v *Visit, name string, export func(billedRow) error) error {
	zone := v.Staff.Zone()
	return web.StreamCSV(c, s.Logger, s.Clock.Now().In(zone), name, billedColumns, func(write web.WriteRow) error {
		return export(func(of *domain.BilledSession, line domain.InvoiceLine) error {
			use := "included"
			if line.Overage {
				use = "extra"
			}
			return write(of.ID.String(), web.Text(of.ReferenceID), web.Stamp(&of.CreatedAt, zone), line.Plan, use, line.Price.Decimal())
		})
	})
}
