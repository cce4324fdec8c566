package billing

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/audit"
	"candor/internal/statement"
)

// SpendParams are an account's spend limits, as they were typed; "" for none.
type SpendParams struct {
	Cap    string
	Alerts [domain.MaxSpendAlerts]string

	StopNow bool // live sessions may stop at once (D108)
}

// AlertField is the name of the field of an alert, the first is 0.
func AlertField(i int) string { return fmt.Sprintf("alert_%d", i+1) }

// SpendLimits returns the account's spend limits.
func (s *Service) SpendLimits(ctx context.Context, account domain.AccountID) (domain.SpendLimits, error) {
	return s.DB.SpendLimits(ctx, account)
}

// SetSpendLimits stores the account's spend limits. They hold for every live
// session that isn't being created yet. Error: validation_error on spend_cap and
// the alerts; the rule spend_cap_stops if they would stop at once without StopNow.
func (s *Service) SetSpendLimits(ctx context.Context, account domain.AccountID, by domain.Actor, params SpendParams) error {
	limits, err := params.limits()
	if err != nil {
		return err
	}
	return s.DB.InTx(ctx, func(tx *db.Tx) error {
		of, err := tx.LockAccount(ctx, account)
		if err != nil {
			return db.MissingAs(err, domain.ErrAccountNotFound)
		}
		// Live sessions hold the subscription while they are created: wait for those
		// that haven't seen the new cap.
		subscription, err := tx.LockSubscription(ctx, account)
		if err != nil && !errors.Is(err, db.ErrNotFound) {
			return err
		}
		before, err := tx.SpendLimits(ctx, account)
		if err != nil {
			return err
		}
		if reflect.DeepEqual(before, limits) {
			return nil
		}
		if !params.StopNow && limits.Cap != nil && subscription != nil {
			if err := s.stops(ctx, tx, subscription, before.Cap, *limits.Cap); err != nil {
				return err
			}
		}
		if err := tx.SetSpendLimits(ctx, account, limits); err != nil {
			return err
		}
		return s.Audit.Record(ctx, tx, account, by, audit.Entry{
			Action: domain.AuditSpendLimits, TargetID: account.String(), TargetName: of.Name, Before: auditedLimits(before),
			After: auditedLimits(limits),
		})
	})
}

// stops returns an error if live sessions, which a subscription admits under the cap
// before, would be refused at once under the next one.
func (s *Service) stops(ctx context.Context, tx *db.Tx, of *domain.Subscription, before *statement.Cents,
	next statement.Cents) error {
	now := s.Clock.Now()
	if !of.Admits() || of.Ended(now) {
		return nil
	}
	running, err := ledger.RunningOf(ctx, &tx.Queries, of, now)
	if err != nil || running.Admits(next) || before != nil && !running.Admits(*before) {
		return err
	}
	return domain.Breaks(domain.CodeValidation, "spend_cap", form.Rule{Code: "spend_cap_stops",
		Value: running.Total(running.Used).String()})
}

// auditedLimits is what the audit log says of spend limits.
func auditedLimits(l domain.SpendLimits) map[string]any {
	out := map[string]any{}
	if l.Cap != nil {
		out["spend_cap"] = l.Cap.String()
	}
	var alerts []string
	for _, alert := range l.Alerts {
		alerts = append(alerts, alert.String())
	}
	if alerts != nil {
		out["alerts"] = alerts
	}
	return out
}

// limits checks the params and returns them as they are kept.
func (p SpendParams) limits() (domain.SpendLimits, error) {
	var out domain.SpendLimits
	var errs form.Errors
	read := func(field, text string, least statement.Cents, broken form.Rule) *statement.Cents {
		if strings.TrimSpace(text) == "" {
			return nil
		}
		amount, ok := form.ParseAmount(text)
		if !ok || amount < least {
			errs = append(errs, form.Error{Field: field, Rule: broken})
		}
		return &amount
	}
	out.Cap = read("spend_cap", p.Cap, 0, form.Rule{Code: "spend_cap"})
	for i, text := range p.Alerts {
		if alert := read(AlertField(i), text, 1, form.Rule{Code: "spend_alert"}); alert != nil {
			out.Alerts = append(out.Alerts, *alert)
		}
	}
	slices.Sort(out.Alerts)
	out.Alerts = slices.Compact(out.Alerts)
	return out, domain.Invalid(errs...)
}
