package dashboard

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	view "candor/views/dashboard"
)

// ShowSession shows a session.
func (s *Server) ShowSession(c echo.Context, v *Visit, id domain.SessionID) error {
	return s.sessionPage(c, v, id, http.StatusOK, nil)
}

func (s *Server) sessionPage(c echo.Context, v *Visit, id domain.SessionID, status int, errs form.Errors) error {
	found, err := s.Sessions.Timeline(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := view.SessionPage{
		Page: s.page(v, "Session"), Session: found.Session, Deliveries: found.Deliveries, Documents: len(found.Documents),
		Events: make(map[domain.EventID]string), Kinds: make(map[domain.EventID]domain.EventType),
		LinkUses: found.LinkUses, Refused: found.Refused, Delivery: found.Delivery,
		Next: found.Next, Names: found.Names, MayDownload: v.Staff.May(domain.DownloadData), Retained: found.Retained,
		Asks: found.Asks, DataUntil: found.DataUntil, DataGone: found.DataGone, Days: c.FormValue("days"), Missing: found.Missing,
		CancelsAt: found.CancelsAt,
	}
	page.Errors, page.Of = view.ErrorItems(errs), found.Session.Reference()
	page.Live = view.Live{Topics: domain.SessionChanged | domain.DeliveryChanged, Session: &id}
	if found.Session.CustomerErasedAt != nil {
		if page.Receipt, err = s.Sessions.Erasure(c.Request().Context(), v.Scope, id); err != nil {
			return err
		}
	}
	if found.Session.Status.Open() && v.Staff.May(domain.UseSessions) {
		page.Link = s.Sessions.LinkNow(found.Session, page.MayDownload)
	}
	for _, e := range found.Events {
		entry := view.EntryOfEvent(&e)
		page.Events[e.ID], page.Kinds[e.ID] = entry.Title, e.Type
		if e.URL == nil {
			page.Unsent++
		}
		page.Timeline = append(page.Timeline, entry)
	}
	for _, e := range found.Audit {
		page.Timeline = append(page.Timeline, view.EntryOfAudit(c.Request().Context(), &e))
	}
	if page.MayDownload && found.Session.Status == domain.Completed { // as the form tells the customer
		page.Changed = found.Changed
		for _, d := range found.Documents {
			page.Files = append(page.Files, view.SessionFile{ID: d.ID, Name: d.FileName, Category: statement.DocumentCategory(d.Category),
				ContentType: d.ContentType, SizeBytes: d.SizeBytes, UploadedAt: d.UploadedAt})
		}
	}
	if !page.MayDownload && page.Names != nil {
		page.Names.Given, page.Names.Signed = "", "" // answers (D51, D79)
	}
	page.Timeline = view.Ordered(found.Session, page.Timeline)
	return web.Render(c, status, view.Session(page))
}

// RenewLink replaces a session's link, for those who may see it.
func (s *Server) RenewLink(c echo.Context, v *Visit, id domain.SessionID) error {
	session, err := s.Sessions.Get(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	if s.Sessions.LinkNow(session, v.Staff.May(domain.DownloadData)) == "" {
		return domain.Lacking(domain.DownloadData,
			"This link opens the customer’s answers, which your role can’t see. Ask an owner to renew it.")
	}
	_, err = s.Sessions.RenewLink(c.Request().Context(), v.Scope, id, v.Actor)
	return s.changedSession(c, v, id, err, "link_renewed")
}

// EmailLink has a session's link emailed to the customer, for the first time or again.
func (s *Server) EmailLink(c echo.Context, v *Visit, id domain.SessionID) error {
	sends, err := strconv.Atoi(c.FormValue("sends"))
	if err != nil {
		sends = -1 // of no page, so nothing is sent
	}
	queued, err := s.Sessions.EmailLink(c.Request().Context(), v.Scope, id, sends,
		!v.Staff.May(domain.DownloadData), v.Actor)
	if errors.Is(err, &domain.Error{Code: domain.CodeRateLimitExceeded}) {
		err = &domain.Error{Code: domain.CodeValidation, Fields: form.Errors{{Field: "email-link",
			Message: "Your account has had as many links emailed today as it can. Copy the link and send it yourself"}}}
	}
	notice := "link_emailed"
	if !queued {
		notice = "link_not_emailed"
	}
	return s.changedSession(c, v, id, err, notice)
}

// CancelSession has a session cancelled in a moment, until when that can be undone (D126).
func (s *Server) CancelSession(c echo.Context, v *Visit, id domain.SessionID) error {
	err := s.Sessions.RequestCancel(c.Request().Context(), v.Scope, id, v.Actor)
	return s.changedSession(c, v, id, err, "cancelling")
}

// UndoCancel keeps a session that was to be cancelled.
func (s *Server) UndoCancel(c echo.Context, v *Visit, id domain.SessionID) error {
	kept, err := s.Sessions.UndoCancel(c.Request().Context(), v.Scope, id)
	notice := "cancel_undone"
	if !kept {
		notice = "cancel_kept"
	}
	return s.changedSession(c, v, id, err, notice)
}

// ExtendSession moves the date on which a session's link expires.
func (s *Server) ExtendSession(c echo.Context, v *Visit, id domain.SessionID) error {
	typed, more := c.FormValue("days"), c.FormValue("more") != ""
	if more {
		typed = c.FormValue("more")
	}
	days, err := strconv.Atoi(strings.TrimSpace(typed))
	if err != nil {
		days = -1 // an invalid number, which the use case rejects
	}
	session, err := s.Sessions.Extend(c.Request().Context(), v.Scope, id, days, more, v.Actor)
	if err != nil {
		return s.changedSession(c, v, id, err, "")
	}
	return s.changedSession(c, v, id, nil, web.Dated("session_extended", session.ExpiresAt.In(v.Staff.Zone())))
}

// changedSession leads back to a session's page with a notice, also if the
// session had already ended.
func (s *Server) changedSession(c echo.Context, v *Visit, id domain.SessionID, err error, notice string) error {
	if errs := web.ValidationErrors(err); errs != nil {
		return s.sessionPage(c, v, id, http.StatusUnprocessableEntity, errs)
	}
	if web.SessionClosed(err) {
		notice, err = "session_closed", nil
	}
	return s.backTo(c, v, "sessions/"+id.String(), err, notice)
}

// DownloadData answers with the JSON of the API's data endpoint.
func (s *Server) DownloadData(c echo.Context, v *Visit, id domain.SessionID) error {
	data, err := s.Sessions.Data(c.Request().Context(), v.Scope, id, web.Reader(c.Request().Context(), v.Actor))
	if err != nil {
		return err
	}
	content, err := json.MarshalIndent(s.FormData(data), "", "  ")
	if err != nil {
		return err
	}
	return web.BytesFile("application/json", "financial_statement_"+id.String()+".json", content).Respond(c)
}

// DownloadPDF answers with the PDF, or leads back to the page while it is being
// made.
func (s *Server) DownloadPDF(c echo.Context, v *Visit, id domain.SessionID) error {
	content, err := s.Sessions.PDF(c.Request().Context(), v.Scope, id, web.Reader(c.Request().Context(), v.Actor))
	if errors.Is(err, &domain.Error{Code: domain.CodePDFNotReady}) {
		s.Notices.Leave(c, "pdf_not_ready")
		return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "sessions/"+id.String()))
	}
	if err != nil {
		return err
	}
	return web.BytesFile("application/pdf", "financial_statement_"+id.String()+".pdf", content).Respond(c)
}

// DownloadDocument answers with one of the customer's uploads.
func (s *Server) DownloadDocument(c echo.Context, v *Visit, id domain.SessionID) error {
	document, _ := domain.ParseDocumentID(c.Param("document")) // if it is malformed, the id of no document
	content, err := s.Sessions.Document(c.Request().Context(), v.Scope, id, document, web.Reader(c.Request().Context(), v.Actor))
	if err != nil {
		return err
	}
	f := &web.File{ContentType: content.ContentType, Name: content.FileName, Size: content.SizeBytes, Content: content}
	return f.Respond(c)
}
