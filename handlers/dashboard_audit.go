package handlers

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/views/dashboard"
)

// auditPerPage is how many lines of the audit log are listed at once.
const auditPerPage = 50

// auditFilter reads the filters of the audit log; what can't be read is
// reported in problems and doesn't filter.
func auditFilter(values url.Values) (f domain.AuditFilter, shown dashboard.AuditFilters, problems form.Errors) {
	shown = dashboard.AuditFilters{Who: strings.TrimSpace(values.Get("who")), Action: values.Get("action"), From: values.Get("from"), To: values.Get("to")}
	f.Actor = shown.Who
	f.Action, problems = choiceIn("action", shown.Action, domain.AuditActions, problems)
	f.From, problems = dayIn("from", shown.From, problems)
	f.To, problems = dayAfter(shown.To, problems)
	if _, problem := form.CleanText(shown.Who, maxWho); problem != "" {
		f.Actor = ""
		problems = append(problems, form.Error{Field: "who", Message: "Who " + problem})
	}
	return f, shown, problems
}

// maxWho is above the longest name or address in the log, in characters.
const maxWho = 500

// showAudit lists who did what.
func (s *Server) showAudit(c echo.Context, v *staffVisit) error {
	filter, shown, wrong := auditFilter(c.QueryParams())
	before, err := beforeIn(c, domain.ParseAuditID)
	if err != nil {
		return err
	}
	page := dashboard.AuditPage{Page: s.staffPageOf(v, "Audit log"), Filters: shown, First: before == nil}
	page.Problems = errorItems(wrong)
	if page.Entries, page.More, err = s.Service.AuditPage(c.Request().Context(), v.Scope.AccountID, filter, before, auditPerPage); err != nil {
		return err
	}
	return render(c, http.StatusOK, dashboard.Audit(page))
}

// exportAudit streams the filtered log as CSV, however long it is.
func (s *Server) exportAudit(c echo.Context, v *staffVisit) error {
	filter, _, wrong := auditFilter(c.QueryParams())
	if len(wrong) > 0 {
		return invalid(wrong)
	}
	columns := []string{"id", "at", "mode", "actor_kind", "actor", "action", "target_id", "target", "address", "before", "after"}
	return s.streamCSV(c, "audit_log", columns, func(write writeRow) error {
		return s.Service.ExportAudit(c.Request().Context(), v.Scope.AccountID, filter, v.actor, func(e *domain.AuditEntry) error {
			mode := ""
			if e.Livemode != nil {
				mode = dashboard.ModeName(*e.Livemode)
			}
			return write(e.ID.String(), stamp(&e.At), mode, string(e.ActorKind), e.ActorName, string(e.Action), e.TargetID, e.TargetName, e.Address,
				string(e.Before), string(e.After))
		})
	})
}
