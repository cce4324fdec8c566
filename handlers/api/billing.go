package api

import (
	"context"
	"math"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/billing"
	"candor/internal/statement"
)

// noParameters is the request of an endpoint that takes none.
type noParameters struct{}

// subscription is the response of GET /v1/billing/subscription.
type subscription struct {
	Plan            plan                      `json:"plan" doc:"What the account pays for."`
	Status          domain.SubscriptionStatus `json:"status" doc:"cancelled until the cancellation takes effect; then there is no subscription."`
	CurrentPeriod   period                    `json:"current_period" doc:"The running billing period."`
	Usage           subscriptionUsage         `json:"usage" doc:"Live sessions created in the running period."`
	BillingEmail    string                    `json:"billing_email" doc:"Where invoices go."`
	NextInvoiceDate form.Timestamp            `json:"next_invoice_date" doc:"When the running period is invoiced, UTC."`
}

type plan struct {
	ID                     string           `json:"id" doc:"The plan’s id."`
	Name                   string           `json:"name" doc:"The plan’s name."`
	SessionsIncluded       *int             `json:"sessions_included" doc:"Live sessions a period without further cost, null for unlimited."`
	PricePerSessionOverage *statement.Cents `json:"price_per_session_overage" doc:"Dollars for each live session beyond those, null for none."`
}

type period struct {
	Start form.Timestamp `json:"start" doc:"Its first moment, UTC."`
	End   form.Timestamp `json:"end" doc:"Its end, UTC."`
}

type subscriptionUsage struct {
	SessionsUsed      int  `json:"sessions_used" doc:"Live sessions created, cancelled ones too."`
	SessionsRemaining *int `json:"sessions_remaining" min:"0" doc:"Included sessions that are left, null for unlimited."`
}

// GetSubscription is GET /v1/billing/subscription.
func (s *Server) GetSubscription() Endpoint {
	return endpoint(operation{
		id: "getSubscription", tag: "Billing", summary: "Get the subscription",
		description: "The account’s plan and what was used of it in the running billing period.",
		errors:      []domain.Code{domain.CodeSubscriptionNotFound},
		status:      200,
	}, s.billingSubscription)
}

func (s *Server) billingSubscription(ctx context.Context, _ *noParameters) (*subscription, error) {
	of, err := s.Billing.Subscription(ctx, scopeIn(ctx).AccountID)
	if err != nil {
		return nil, err
	}
	return &subscription{
		Plan: plan{
			ID: of.Plan.ID, Name: of.Name, SessionsIncluded: of.SessionsIncluded,
			PricePerSessionOverage: (*statement.Cents)(of.OverageCents),
		},
		Status:          of.Status,
		CurrentPeriod:   period{form.At(of.Period.Start), form.At(of.Period.End)},
		Usage:           subscriptionUsage{of.Used, of.Remaining},
		BillingEmail:    of.BillingEmail,
		NextInvoiceDate: form.At(of.InvoiceDate),
	}, nil
}

// usageRequest is the query of GET /v1/billing/usage. Bad dates are
// invalid_date_range (D45), so decoding accepts any text.
type usageRequest struct {
	Period    string  `query:"period" sample:"last_30_days" enum:"current_month,last_month,last_30_days,last_90_days" default:"current_month" doc:"Which days, UTC; start_date and end_date win over it."`
	StartDate *string `query:"start_date" empty:"allowed" format:"date" doc:"The first day, YYYY-MM-DD; needs end_date."`
	EndDate   *string `query:"end_date" empty:"allowed" format:"date" doc:"The last day, YYYY-MM-DD, at most 366 days in all."`
}

// usage is the response of GET /v1/billing/usage (D44).
type usage struct {
	Period                     period         `json:"period" doc:"The days counted."`
	Sessions                   sessionCounts  `json:"sessions" doc:"The sessions created in the period, as they stand now."`
	CompletionRate             float64        `json:"completion_rate" min:"0" max:"1" doc:"completed / total_created with four decimals, 0 when nothing was created."`
	AverageCompletionTimeHours float64        `json:"average_completion_time_hours" min:"0" doc:"Mean time from creation to completion with two decimals, 0 when none."`
	BreakdownByFormType        map[string]int `json:"breakdown_by_form_type" doc:"Sessions created, by form type."`
	DailyUsage                 []dailyUsage   `json:"daily_usage" doc:"Each day of the period up to today."`
}

type sessionCounts struct {
	TotalCreated int `json:"total_created" doc:"All of them."`
	Completed    int `json:"completed" doc:"Those completed."`
	Cancelled    int `json:"cancelled" doc:"Those cancelled."`
	Expired      int `json:"expired" doc:"Those expired."`
	InProgress   int `json:"in_progress" doc:"Those the customer has opened and not finished."`
}

type dailyUsage struct {
	Date              string `json:"date" format:"date" doc:"The day, UTC."`
	SessionsCreated   int    `json:"sessions_created" doc:"Sessions created on that day."`
	SessionsCompleted int    `json:"sessions_completed" doc:"Sessions completed on that day."`
}

// GetUsage is GET /v1/billing/usage.
func (s *Server) GetUsage() Endpoint {
	return endpoint(operation{
		id: "getUsage", tag: "Billing", summary: "Get usage",
		description: "What became of the sessions created in a range of days, UTC. Live keys see live sessions, test keys test sessions.",
		errors:      []domain.Code{domain.CodeInvalidDateRange},
		status:      200,
	}, s.billingUsage)
}

func (s *Server) billingUsage(ctx context.Context, r *usageRequest) (*usage, error) {
	asked := billing.UsageRange{Period: r.Period}
	for _, date := range []struct {
		name  string
		given *string
		into  *string
	}{{"start_date", r.StartDate, &asked.StartDate}, {"end_date", r.EndDate, &asked.EndDate}} {
		if date.given == nil {
			continue
		}
		if *date.given == "" {
			return nil, domain.Breaks(domain.CodeInvalidDateRange, date.name, form.Rule{Code: "usage_dates"})
		}
		*date.into = *date.given
	}
	of, err := s.Billing.Usage(ctx, scopeIn(ctx), asked)
	if err != nil {
		return nil, err
	}
	out := &usage{
		Period: period{form.At(of.First), form.At(of.Last.AddDate(0, 0, 1).Add(-time.Millisecond))},
		Sessions: sessionCounts{
			TotalCreated: of.Created, Completed: of.Completed, Cancelled: of.Cancelled, Expired: of.Expired, InProgress: of.InProgress,
		},
		CompletionRate:             quotient(float64(of.Completed), of.Created, 1e4),
		AverageCompletionTimeHours: quotient(of.CompletionSeconds/time.Hour.Seconds(), of.Completed, 1e2),
		BreakdownByFormType:        map[string]int{domain.FinancialStatement: of.Created},
		DailyUsage:                 make([]dailyUsage, len(of.Daily)),
	}
	for i, day := range of.Daily {
		out.DailyUsage[i] = dailyUsage{day.Date.Format(time.DateOnly), day.Created, day.Completed}
	}
	return out, nil
}

// quotient is sum/n rounded to 1/scale, 0 if n is 0.
func quotient(sum float64, n int, scale float64) float64 {
	if n == 0 {
		return 0
	}
	return math.Round(sum*scale/float64(n)) / scale
}
