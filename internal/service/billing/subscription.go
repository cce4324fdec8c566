package billing

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
)

var (
	errUnchangedPlan  = domain.Breaks(domain.CodeValidation, "plan", form.Rule{Code: "plan_unchanged"})
	errUnknownPlan    = domain.Breaks(domain.CodeValidation, "plan", form.Rule{Code: "plan"})
	errByAgreement    = domain.Breaks(domain.CodeValidation, "plan", form.Rule{Code: "plan_by_agreement"})
	errCancelledPlan  = domain.Breaks(domain.CodeValidation, "plan", form.Rule{Code: "plan_cancelled"})
	errNotCancelled   = domain.Errorf(domain.CodeValidation, "The subscription isn’t cancelled.")
	errCancelledTwice = domain.Errorf(domain.CodeValidation, "The subscription is cancelled already.")
	errSubscribed     = domain.Errorf(domain.CodeValidation, "There is a subscription already.")
)

// CheckPlan returns why the subscription can't be moved to the plan by that person. Error:
// validation_error on plan.
func CheckPlan(of *domain.Subscription, plan *domain.Plan, by domain.Actor) error {
	switch of.MoveTo(plan) {
	case domain.PlanUnchanged:
		return errUnchangedPlan
	case domain.PlanPending:
		return domain.Breaks(domain.CodeValidation, "plan", form.Rule{Code: "plan_pending",
			Value: of.ClosesAt.UTC().Format("2 January 2006")})
	case domain.PlanUp, domain.PlanDown:
		return mayTake(plan, by)
	case domain.PlanKept:
	}
	return nil
}

// mayTake refuses a plan that is by agreement to everyone but operators.
func mayTake(plan *domain.Plan, by domain.Actor) error {
	if plan.ByAgreement() && by.Kind != domain.ActorOperator {
		return errByAgreement
	}
	return nil
}

// maxReason is how long the reason of a cancellation may be, in characters.
const maxReason = 500

// Plans lists the plans, the smallest first.
func (s *Service) Plans(ctx context.Context) ([]domain.Plan, error) { return s.DB.Plans(ctx) }

// onSubscription locks the account's subscription, changes it and writes the audit
// entry that change returns, in one transaction. It reads the clock after the lock:
// another change may have come first. Error: subscription_not_found.
func (s *Service) onSubscription(ctx context.Context, account domain.AccountID, by domain.Actor,
	change func(*db.Tx, *domain.Subscription, time.Time) (audit.Entry, error)) error {
	live := true
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		subscription, err := tx.LockSubscription(ctx, account)
		if err != nil {
			return db.MissingAs(err, domain.ErrSubscriptionNotFound)
		}
		now := s.Clock.Now()
		if subscription.Ended(now) {
			return domain.ErrSubscriptionNotFound
		}
		e, err := change(tx, subscription, now)
		if errors.Is(err, ledger.ErrEnded) { // at the start of this transaction it had not
			return domain.ErrSubscriptionNotFound
		}
		if err != nil {
			return err
		}
		e.Livemode, e.TargetID, e.TargetName = &live, subscription.SubscriptionID.String(), subscription.Name
		return s.Audit.Record(ctx, tx, account, by, e)
	})
}

// planState is what the audit log says of a subscription's plan.
type planState struct {
	Plan     string  `json:"plan"`
	NextPlan *string `json:"next_plan,omitempty"`
}

// plan returns the plan. Error: validation_error on plan.
func (s *Service) plan(ctx context.Context, id string) (*domain.Plan, error) {
	if !slices.Contains(domain.PlanIDs, id) {
		return nil, errUnknownPlan
	}
	return s.DB.Plan(ctx, id)
}

// ChangePlan moves the account to another plan: up at once, down at the end of
// the period. Choosing the present plan cancels a change that is due. Errors:
// validation_error on plan, subscription_not_found.
func (s *Service) ChangePlan(ctx context.Context, account domain.AccountID, by domain.Actor, plan string) error {
	wanted, err := s.plan(ctx, plan)
	if err != nil {
		return err
	}
	return s.onSubscription(ctx, account, by, func(tx *db.Tx, of *domain.Subscription, now time.Time) (audit.Entry, error) {
		if !of.Admits() {
			return audit.Entry{}, errCancelledPlan
		}
		// A change down that is due comes first: it replaces the present plan.
		if err := s.Ledger.Close(ctx, tx, of, now); err != nil {
			return audit.Entry{}, err
		}
		if of.ClosesAt == nil {
			return audit.Entry{}, domain.ErrSubscriptionNotFound
		}
		if err := CheckPlan(of, wanted, by); err != nil {
			return audit.Entry{}, err
		}
		before := planState{of.Plan.ID, of.NextPlanID}
		err := s.Ledger.ChangePlan(ctx, tx, of, wanted, now)
		return audit.Entry{Action: domain.AuditPlanChanged, Before: before, After: planState{of.Plan.ID, of.NextPlanID}}, err
	})
}

// Cancel ends the account's subscription, at once or at the end of
// the period. After this no live session can be created. Errors:
// validation_error on reason, subscription_not_found.
func (s *Service) Cancel(ctx context.Context, account domain.AccountID, by domain.Actor, atOnce bool, reason string) error {
	reason, err := cleanReason("reason", reason, form.Rule{Code: "reason"})
	if err != nil {
		return err
	}
	return s.onSubscription(ctx, account, by, func(tx *db.Tx, of *domain.Subscription, now time.Time) (audit.Entry, error) {
		err := s.Ledger.Cancel(ctx, tx, of, atOnce, reason, now)
		if errors.Is(err, ledger.ErrUnchanged) {
			err = errCancelledTwice
		}
		return audit.Entry{Action: domain.AuditSubscriptionCancelled, After: map[string]any{"effective_at": of.EffectiveAt,
			"reason": reason}}, err
	})
}

// cleanReason returns the text of a field as it is kept, or why it can't be.
func cleanReason(field, text string, missing form.Rule) (string, error) {
	text, broken := form.CleanLine(text, maxReason)
	if text == "" && broken == (form.Rule{}) {
		broken = missing
	}
	if broken != (form.Rule{}) {
		broken.Of = field
		return "", domain.Breaks(domain.CodeValidation, field, broken)
	}
	return text, nil
}

// Reactivate undoes the cancellation of the account's subscription before it takes
// effect. Errors: validation_error if it isn't cancelled, subscription_not_found.
func (s *Service) Reactivate(ctx context.Context, account domain.AccountID, by domain.Actor) error {
	return s.onSubscription(ctx, account, by, func(tx *db.Tx, of *domain.Subscription, now time.Time) (audit.Entry, error) {
		err := s.Ledger.Reactivate(ctx, tx, of, now)
		if errors.Is(err, ledger.ErrUnchanged) {
			err = errNotCancelled
		}
		return audit.Entry{Action: domain.AuditReactivated}, err
	})
}

// Subscribe starts a subscription for an account that has none. Errors:
// validation_error if it has one or on plan.
func (s *Service) Subscribe(ctx context.Context, account domain.AccountID, by domain.Actor, plan string) error {
	wanted, err := s.plan(ctx, plan)
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		// Two calls at the same time take turns.
		if _, err := tx.LockAccount(ctx, account); err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		if err := mayTake(wanted, by); err != nil {
			return err
		}
		former, err := tx.LockSubscription(ctx, account)
		now := s.Clock.Now()
		if err == nil && !former.Ended(now) {
			return errSubscribed
		}
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		started, err := s.Ledger.Start(ctx, tx, account, plan, now)
		if err != nil {
			return err
		}
		live := true
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditSubscribed, Livemode: &live, TargetID: started.SubscriptionID.String(), TargetName: started.Name,
			After: planState{Plan: plan},
		})
	})
}

// ChangeEmail stores where the account's invoices go. Error:
// validation_error on billing_email.
func (s *Service) ChangeEmail(ctx context.Context, account domain.AccountID, by domain.Actor, email string) error {
	email = strings.TrimSpace(email)
	if !form.ValidEmail(email) {
		return domain.Breaks(domain.CodeValidation, "billing_email", form.Rule{Code: "billing_email"})
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		of, err := tx.LockAccount(ctx, account)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		if err := tx.SetBillingEmail(ctx, account, email); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditBillingEmail, TargetID: account.String(), TargetName: of.Name,
			Before: map[string]string{"billing_email": of.BillingEmail}, After: map[string]string{"billing_email": email},
		})
	})
}
