package dashboard

import (
	"net/http"
	"strconv"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// auditPerPage is how many entries of the audit log a page lists.
const auditPerPage = 50

// auditReach is how many entries a page reads at most: what a key reads again and
// again is one line.
const auditReach = 500

// auditControls are the filters of the audit log.
func auditControls(cal calendar) []control[domain.AuditFilter] {
	type filter = domain.AuditFilter
	return []control[filter]{
		{Control: view.Control{Name: "who", Label: "Who (email, key name or key id)", Type: "search"},
			read: func(f *filter, text string) string {
				if _, message := form.CleanText(text, maxWho); message != "" {
					return "Who " + message
				}
				if id, err := domain.ParseKeyID(text); err == nil {
					f.ActorID = id.String()
				} else {
					f.Actor = text
				}
				return ""
			}},
		chooses("action", "What", "All", view.ActionOptions(), func(f *filter) *domain.AuditAction { return &f.Action }),
		dayControl(cal, "from", "From", theFirst, func(f *filter, day time.Time) { f.From = &day }),
		dayControl(cal, "to", "Until", theLast, func(f *filter, day time.Time) { f.To = &day }),
	}
}

// maxWho is above the longest name or address in the log, in characters.
const maxWho = 500

// ShowAudit lists the audit log.
func (s *Server) ShowAudit(c echo.Context, v *Visit) error {
	filter, shown, errs := readFilters(c.QueryParams(), auditControls(s.calendar(v)))
	before, err := beforeIn(c, domain.ParseAuditID)
	if err != nil {
		return err
	}
	page := view.AuditPage{Page: s.page(v, "Audit log"), Filters: shown, First: before == nil}
	page.Errors, page.Of = view.ErrorItems(errs), shown.Title()
	reach := auditReach
	if filter.Action != "" { // what is behind a folded line
		reach = auditPerPage
	}
	entries, more, err := s.Audit.Page(c.Request().Context(), v.Scope.AccountID, filter, before, reach)
	if err != nil {
		return err
	}
	page.Lines, page.Last = view.AuditLines(entries, filter.Action == "", auditPerPage)
	page.More = more || len(entries) > 0 && entries[len(entries)-1].ID != page.Last
	return web.Render(c, http.StatusOK, view.Audit(page))
}

// ExportAudit streams the filtered log as CSV, of any length.
func (s *Server) ExportAudit(c echo.Context, v *Visit) error {
	zone := v.Staff.Zone()
	filter, _, errs := readFilters(c.QueryParams(), auditControls(s.calendar(v)))
	if len(errs) > 0 {
		return web.Invalid(errs)
	}
	columns := []string{"id", "at", "mode", "actor_kind", "actor", "action", "target_id", "target", "address", "before", "after",
		"actor_id", "times", "until"}
	return web.StreamCSV(c, s.Logger, s.Clock.Now().In(zone), "audit_log", columns, func(write web.WriteRow) error {
		return s.Audit.Export(c.Request().Context(), v.Scope.AccountID, filter, v.Actor, func(e *domain.AuditEntry) error {
			mode := ""
			if e.Livemode != nil {
				mode = view.ModeName(*e.Livemode)
			}
			return write(e.ID.String(), web.Stamp(&e.At, zone), mode, string(e.ActorKind), e.ActorName, string(e.Action), e.TargetID,
				e.TargetName, e.Address,
				string(e.Before), string(e.After), e.ActorID, strconv.Itoa(e.Times), web.Stamp(e.Until, zone))
		})
	})
}
