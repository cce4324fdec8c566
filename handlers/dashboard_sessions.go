package handlers

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/views/dashboard"
)

// sessionsPerPage is how many sessions the dashboard lists at once.
const sessionsPerPage = 25

// sessionFilter reads the filters of the list of sessions; what can't be read
// is reported in problems and doesn't filter.
func sessionFilter(values url.Values) (f domain.SessionFilter, shown dashboard.SessionFilters, problems form.Errors) {
	shown = dashboard.SessionFilters{
		Search: strings.TrimSpace(values.Get("q")), Status: values.Get("status"), From: values.Get("from"), To: values.Get("to"),
	}
	f.Search, _ = form.CleanText(shown.Search, len(shown.Search))
	if f.Search == "" && shown.Search != "" {
		problems = append(problems, form.Error{Field: "q", Message: "Enter an e-mail address, a reference or a session id"})
	}
	f.Status, problems = choiceIn("status", shown.Status, domain.Statuses, problems)
	from, problems := dayIn("from", shown.From, problems)
	if from != nil {
		after := from.Add(-time.Microsecond) // the filter's bounds are exclusive
		f.CreatedAfter = &after
	}
	f.CreatedBefore, problems = dayAfter(shown.To, problems)
	return f, shown, problems
}

// listSessionsPage lists sessions; a search for an id leads to it.
func (s *Server) listSessionsPage(c echo.Context, v *staffVisit) error {
	ctx := c.Request().Context()
	filter, shown, wrong := sessionFilter(c.QueryParams())
	if id, err := domain.ParseSessionID(shown.Search); err == nil {
		if _, err := s.Service.Session(ctx, v.Scope, id); err == nil {
			return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "sessions/"+id.String()))
		}
	}
	before, err := beforeIn(c, domain.ParseSessionID)
	if err != nil {
		return err
	}
	page := dashboard.SessionsPage{Page: s.staffPageOf(v, "Sessions"), Filters: shown, First: before == nil}
	page.Problems = errorItems(wrong)
	slice, err := s.Service.SessionsBefore(ctx, v.Scope, filter, before, sessionsPerPage)
	if err != nil {
		return err
	}
	page.Sessions, page.Total, page.OrMore, page.More = slice.Sessions, slice.Total, slice.OrMore, slice.More
	return render(c, http.StatusOK, dashboard.Sessions(page))
}

// sessionInPath is the session that the path names.
func sessionInPath(c echo.Context) (domain.SessionID, error) {
	id, err := domain.ParseSessionID(c.Param("session"))
	if err != nil {
		return id, echo.ErrNotFound
	}
	return id, nil
}

// showSession tells all about a session.
func (s *Server) showSession(c echo.Context, v *staffVisit) error {
	id, err := sessionInPath(c)
	if err != nil {
		return err
	}
	return s.sessionPage(c, v, id, http.StatusOK, nil)
}

func (s *Server) sessionPage(c echo.Context, v *staffVisit, id domain.SessionID, status int, wrong form.Errors) error {
	trail, err := s.Service.SessionTrail(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := dashboard.SessionPage{
		Page: s.staffPageOf(v, "Session"), Session: trail.Session, Deliveries: trail.Deliveries, Documents: len(trail.Documents),
		Events:      make(map[domain.EventID]string),
		MayDownload: v.Session.May(domain.DownloadData), Retained: trail.Retained, DataUntil: trail.DataUntil, DataGone: trail.DataGone, Days: c.FormValue("days"),
	}
	page.Problems = errorItems(wrong)
	if trail.Session.CustomerErasedAt != nil {
		if page.Receipt, err = s.Service.Erasure(c.Request().Context(), v.Scope, id); err != nil {
			return err
		}
	}
	// A link opens what the customer has entered so far: it is shown to those
	// who may read that, and while nothing is entered.
	if trail.Session.Status == domain.Pending || trail.Session.Status == domain.InProgress && page.MayDownload {
		page.Link = s.Service.SessionURL(id)
	}
	for _, e := range trail.Events {
		entry := dashboard.EntryOfEvent(&e)
		page.Events[e.ID] = entry.Title
		page.Timeline = append(page.Timeline, entry)
	}
	for _, e := range trail.Audit {
		page.Timeline = append(page.Timeline, dashboard.EntryOfAudit(&e))
	}
	for _, d := range trail.Documents {
		page.Files = append(page.Files, dashboard.SessionFile{ID: d.ID, Name: d.FileName, SizeBytes: d.SizeBytes})
	}
	page.Timeline = dashboard.Ordered(trail.Session, page.Timeline)
	return render(c, status, dashboard.Session(page))
}

// showNewSession asks whom a session is for.
func (s *Server) showNewSession(c echo.Context, v *staffVisit) error {
	account, err := s.Service.Account(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	page := dashboard.NewSessionPage{Page: s.staffPageOf(v, "New session"), Days: strconv.Itoa(account.DefaultExpiresInDays)}
	return render(c, http.StatusOK, dashboard.NewSession(page))
}

// createSessionByHand makes a session and leads to its page, with its link.
func (s *Server) createSessionByHand(c echo.Context, v *staffVisit) error {
	page := dashboard.NewSessionPage{
		Page: s.staffPageOf(v, "New session"), Email: c.FormValue("customer_email"), Name: c.FormValue("customer_name"),
		Reference: c.FormValue("reference_id"), Days: c.FormValue("expires_in_days"),
	}
	days, err := strconv.Atoi(strings.TrimSpace(page.Days))
	if err != nil {
		days = -1 // refused with what is wrong with the others
	}
	created, err := s.Service.CreateSessionByHand(c.Request().Context(), v.Scope, domain.NewSession{
		CustomerEmail: page.Email, CustomerName: page.Name, ReferenceID: page.Reference, ExpiresInDays: &days, By: v.actor,
	})
	if wrong := problems(err); wrong != nil {
		page.Problems = errorItems(inWords(wrong))
		return render(c, http.StatusUnprocessableEntity, dashboard.NewSession(page))
	}
	if err != nil {
		return err
	}
	s.leaveStaffNotice(c, "session_created")
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "sessions/"+created.ID.String()))
}

// inWords puts the names that people see in the place of the API's.
func inWords(wrong form.Errors) form.Errors {
	words := strings.NewReplacer(
		"customer_email must be an e-mail address such as name@example.com.", "Enter an e-mail address such as name@example.com",
		"expires_in_days must be a whole number from 1 to 90.", "Enter a number of days from 1 to 90",
		"customer_name ", "The customer’s name ", "reference_id ", "The reference ",
	)
	out := make(form.Errors, len(wrong))
	for i, w := range wrong {
		out[i] = form.Error{Field: w.Field, Message: words.Replace(w.Message)}
	}
	return out
}

// cancelSessionByHand cancels a session.
func (s *Server) cancelSessionByHand(c echo.Context, v *staffVisit) error {
	id, err := sessionInPath(c)
	if err != nil {
		return err
	}
	_, err = s.Service.Cancel(c.Request().Context(), v.Scope, id, v.actor)
	return s.changedSession(c, v, id, err, "session_cancelled")
}

// extendSession lets a session's link work longer.
func (s *Server) extendSession(c echo.Context, v *staffVisit) error {
	id, err := sessionInPath(c)
	if err != nil {
		return err
	}
	days, err := strconv.Atoi(strings.TrimSpace(c.FormValue("days")))
	if err != nil {
		days = -1 // refused below
	}
	_, err = s.Service.ExtendSession(c.Request().Context(), v.Scope, id, days, v.actor)
	return s.changedSession(c, v, id, err, "session_extended")
}

// changedSession leads back to a session's page, which says what was done, or
// that it was too late for it.
func (s *Server) changedSession(c echo.Context, v *staffVisit, id domain.SessionID, err error, notice string) error {
	if wrong := problems(err); wrong != nil {
		return s.sessionPage(c, v, id, http.StatusUnprocessableEntity, wrong)
	}
	if lostRace(err) {
		notice, err = "session_closed", nil
	}
	if err != nil {
		return err
	}
	s.leaveStaffNotice(c, notice)
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "sessions/"+id.String()))
}

// downloadData answers with what the API's data endpoint does.
func (s *Server) downloadData(c echo.Context, v *staffVisit) error {
	id, err := sessionInPath(c)
	if err != nil {
		return err
	}
	data, err := s.Service.Data(c.Request().Context(), v.Scope, id, readerIn(c.Request().Context(), v.actor))
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(newSubmittedData(data), "", "  ")
	if err != nil {
		return err
	}
	return download(c, "application/json", "financial_statement_"+id.String()+".json", content)
}

// downloadPDF answers with the PDF; while it is being made, the page waits.
func (s *Server) downloadPDF(c echo.Context, v *staffVisit) error {
	id, err := sessionInPath(c)
	if err != nil {
		return err
	}
	content, err := s.Service.PDF(c.Request().Context(), v.Scope, id, readerIn(c.Request().Context(), v.actor))
	if errors.Is(err, &domain.Error{Code: domain.CodePDFNotReady}) {
		s.leaveStaffNotice(c, "pdf_not_ready")
		return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "sessions/"+id.String()))
	}
	if err != nil {
		return err
	}
	return download(c, "application/pdf", "financial_statement_"+id.String()+".pdf", content)
}

func download(c echo.Context, contentType, name string, content []byte) error {
	f := &file{contentType: contentType, name: name, size: int64(len(content)), content: io.NopCloser(bytes.NewReader(content))}
	return f.respond(c)
}

// downloadDocument answers with one of the customer's uploads.
func (s *Server) downloadDocument(c echo.Context, v *staffVisit) error {
	id, err := sessionInPath(c)
	if err != nil {
		return err
	}
	document, _ := domain.ParseDocumentID(c.Param("document")) // the id of no document where it is malformed
	content, err := s.Service.Document(c.Request().Context(), v.Scope, id, document, readerIn(c.Request().Context(), v.actor))
	if err != nil {
		return err
	}
	f := &file{contentType: content.ContentType, name: content.FileName, size: content.SizeBytes, content: content}
	return f.respond(c)
}

// exportSessions streams the filtered list as CSV, however long it is.
func (s *Server) exportSessions(c echo.Context, v *staffVisit) error {
	filter, _, wrong := sessionFilter(c.QueryParams())
	if len(wrong) > 0 {
		return invalid(wrong)
	}
	columns := []string{
		"id", "status", "customer_email", "customer_name", "reference_id", "created_at", "expires_at", "accessed_at", "completed_at", "cancelled_at", "sections_completed",
	}
	return s.streamCSV(c, "sessions_"+dashboard.ModeName(v.Scope.Livemode), columns, func(write writeRow) error {
		return s.Service.ExportSessions(c.Request().Context(), v.Scope, filter, v.actor, func(of *domain.Session) error {
			return write(
				of.ID.String(), string(of.Status), of.CustomerEmail, text(of.CustomerName), text(of.ReferenceID), stamp(&of.CreatedAt), stamp(&of.ExpiresAt),
				stamp(of.AccessedAt), stamp(of.CompletedAt), stamp(of.CancelledAt), strconv.Itoa(of.SectionsCompleted))
		})
	})
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
