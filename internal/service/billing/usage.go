package billing

import (
	"context"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
)

// UsageRange is the range of a usage report. Dates win over the period (D45).
type UsageRange struct{ Period, StartDate, EndDate string }

// UsageReport is the usage from First to Last, UTC days, both inclusive.
type UsageReport struct {
	First, Last time.Time
	*domain.Usage
}

// maxUsageDays is the longest range of dates (D45).
const maxUsageDays = 366

// Usage counts the scope's sessions of a range (D44). Errors:
// invalid_date_range, invalid_request for an unknown period.
func (s *Service) Usage(ctx context.Context, scope domain.Scope, r UsageRange) (*UsageReport, error) {
	now := s.Clock.Now()
	first, last, err := r.days(now)
	if err != nil {
		return nil, err
	}
	usage, err := s.DB.Usage(ctx, scope, time.UTC, first, last, now)
	return &UsageReport{first, last, usage}, err
}

func (r UsageRange) days(now time.Time) (first, last time.Time, err error) {
	if r.StartDate != "" || r.EndDate != "" {
		return r.dates()
	}
	today := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.UTC)
	monthStart := today.AddDate(0, 0, 1-today.Day())
	switch r.Period {
	case "", "current_month":
		return monthStart, monthStart.AddDate(0, 1, -1), nil
	case "last_month":
		return monthStart.AddDate(0, -1, 0), monthStart.AddDate(0, 0, -1), nil
	case "last_30_days":
		return today.AddDate(0, 0, -29), today, nil
	case "last_90_days":
		return today.AddDate(0, 0, -89), today, nil
	}
	return first, last, domain.Breaks(domain.CodeInvalidRequest, "period", form.Rule{Code: "usage_period"})
}

func (r UsageRange) dates() (first, last time.Time, err error) {
	bad := func(field string, rule form.Rule) error {
		return domain.Breaks(domain.CodeInvalidDateRange, field, rule)
	}
	first, err = time.Parse(time.DateOnly, r.StartDate)
	if err != nil {
		return first, last, bad("start_date", form.Rule{Code: "usage_dates"})
	}
	last, err = time.Parse(time.DateOnly, r.EndDate)
	switch {
	case err != nil:
		return first, last, bad("end_date", form.Rule{Code: "usage_dates"})
	case last.Before(first):
		return first, last, bad("end_date", form.Rule{Code: "usage_order"})
	case last.Sub(first) >= maxUsageDays*24*time.Hour:
		return first, last, bad("end_date", form.Rule{Code: "usage_length", Max: maxUsageDays})
	}
	return first, last, nil
}
