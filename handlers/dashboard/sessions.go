package dashboard

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/sessions"
	"candor/internal/statement"
	view "candor/views/dashboard"
)

// sessionsPerPage is how many sessions a page lists.
const sessionsPerPage = 25

// sessionControls are the filters of the list of sessions.
func sessionControls(cal calendar, now time.Time) []control[domain.SessionFilter] {
	type filter = domain.SessionFilter
	return []control[filter]{
		{Control: view.Control{Name: "q", Label: "Name, email, reference or id", Type: "search"},
			read: func(f *filter, text string) string {
				if utf8.RuneCountInString(text) > maxSearch {
					return fmt.Sprintf("Enter at most %d characters", maxSearch)
				}
				if f.Search, _ = form.CleanText(text, maxSearch); f.Search == "" {
					return "Enter a name, an email address, a reference or a session id"
				}
				return ""
			}},
		{Control: view.Control{Name: "status", Label: "State", All: "All", Options: view.StatusOptions()},
			read: func(f *filter, text string) string {
				if text == view.Expiring || text == view.ExpiringFar {
					if text == view.ExpiringFar {
						f.Sections = domain.FarAlong
					}
					until := now.AddDate(0, 0, view.ExpiringDays)
					f.ExpiresBefore = &until
					return ""
				}
				if f.Status = domain.Status(text); !slices.Contains(domain.Statuses, f.Status) {
					f.Status = ""
					return notOffered
				}
				return ""
			}},
		readBack("progress", "Came to", domain.ParseProgress, view.ProgressWords,
			func(f *filter) **domain.Progress { return &f.Progress }),
		readBack("figure", "Counted as", domain.ParseFigure, view.FigureWords, func(f *filter) **domain.Figure { return &f.Figure }),
		dayControl(cal, "from", "Created from", theFirst, func(f *filter, day time.Time) {
			after := day.Add(-time.Microsecond) // the filter's bounds are exclusive
			f.CreatedAfter = &after
		}),
		dayControl(cal, "to", "Created until", theLast, func(f *filter, day time.Time) { f.CreatedBefore = &day }),
	}
}

// ListSessions lists sessions. A search for an id, or for a reference that was made
// of one, leads to its session.
func (s *Server) ListSessions(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	if id, found, err := s.Sessions.Find(ctx, v.Scope, strings.TrimSpace(c.QueryParam("q"))); err != nil {
		return err
	} else if found {
		return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "sessions/"+id.String()))
	}
	if c.QueryParams().Has(view.ListParam) {
		return showColumns(c, v, c.QueryParam(view.ListParam))
	}
	mark, err := markIn(c)
	if err != nil {
		return err
	}
	newest, err := newestIn(c, domain.ParseSessionID)
	if err != nil {
		return err
	}
	page, err := s.sessionsPage(ctx, v, c.QueryParams(), mark, newest)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Sessions(*page))
}

// showColumns leads to the list that has those parameters, with the columns that were chosen.
func showColumns(c echo.Context, v *Visit, list string) error {
	values, err := url.ParseQuery(list)
	if err != nil {
		return echo.ErrNotFound
	}
	values.Del(view.ListParam)
	values.Set("columns", view.SessionColumns(c.QueryParams()["columns"], domain.NewestFirst).Control().Value)
	if values.Get("columns") == "" {
		values.Del("columns")
	}
	to := view.URL(v.Scope.Livemode, "sessions")
	if len(values) > 0 {
		to += "?" + values.Encode()
	}
	return c.Redirect(http.StatusSeeOther, to)
}

// sessionsPage is the list with the parameters of an address, after the mark, or from the
// newest that it began with when it was shown; nil for each from its first.
func (s *Server) sessionsPage(ctx context.Context, v *Visit, values url.Values, mark *domain.SessionMark,
	newest *domain.SessionID) (*view.SessionsPage, error) {
	filter, shown, errs := s.readSessions(values, v)
	order, sorted := orderIn(values, &filter)
	page := &view.SessionsPage{Page: s.page(v, "Sessions"), Order: order, Filters: append(shown, sorted...), First: mark == nil}
	page.Columns = view.SessionColumns(values["columns"], order)
	page.Filters = append(page.Filters, page.Columns.Control())
	page.Errors, page.Of = view.ErrorItems(errs), shown.Title()
	page.Live.Topics = domain.SessionChanged
	follows := order == domain.NewestFirst && mark == nil // its first rows change under the reader
	var slice *sessions.Slice
	var err error
	if newest != nil && follows {
		slice, page.Newer, err = s.Sessions.From(ctx, v.Scope, filter, *newest, sessionsPerPage)
	} else {
		slice, err = s.Sessions.After(ctx, v.Scope, filter, order, mark, sessionsPerPage)
	}
	if err == nil {
		err = s.Sessions.CountFinished(ctx, slice.Sessions)
	}
	if err != nil {
		return nil, err
	}
	page.Sessions, page.Total, page.OrMore, page.More = slice.Sessions, slice.Total, slice.OrMore, slice.More
	if page.Views, err = s.viewsOf(ctx, v, page); err != nil {
		return nil, err
	}
	if follows && newest == nil && len(page.Sessions) > 0 {
		page.Page = page.From(page.Sessions[0].ID.String())
	}
	return page, nil
}

// readSessions reads the filters of a list of sessions. No index leads to both what is
// searched for and what Figures counts.
func (s *Server) readSessions(values url.Values, v *Visit) (domain.SessionFilter, view.Filters, form.Errors) {
	filter, shown, errs := readFilters(values, sessionControls(s.calendar(v), s.Clock.Now()))
	if filter.Search != "" && filter.Walks() {
		filter.Search = ""
		errs = append(errs, form.Error{Field: "q", Message: "Remove the filter of Figures to search, or clear the search"})
	}
	return filter, shown, errs
}

// orderIn reads the order of a list, and returns the control that offers those which sort
// what the filter matches. An order that isn't offered is the newest first (D134). Links that
// end soon have one order.
func orderIn(values url.Values, f *domain.SessionFilter) (order domain.SessionOrder, offered view.Filters) {
	if f.ExpiresBefore != nil && domain.EndsSoonest.Sorts(f) {
		return domain.EndsSoonest, nil
	}
	var options []view.Option
	for _, one := range view.OrderOptions {
		if domain.SessionOrder(one.Value).Sorts(f) {
			options = append(options, one)
		}
	}
	if order = domain.SessionOrder(values.Get("sort")); !order.Sorts(f) {
		order = domain.NewestFirst
	}
	if options == nil {
		return order, nil
	}
	return order, view.Filters{{Name: "sort", Label: "Order", All: "Newest first", Options: options, Value: string(order),
		Kept: true}}
}

// markIn reads the row after which a page of the list begins, nil for the first page.
func markIn(c echo.Context) (*domain.SessionMark, error) {
	id, err := beforeIn(c, domain.ParseSessionID)
	if id == nil {
		return nil, err
	}
	mark := &domain.SessionMark{ID: *id}
	if text := c.QueryParam("at"); text != "" {
		if mark.ExpiresAt, err = time.Parse(time.RFC3339Nano, text); err != nil {
			return nil, echo.ErrNotFound
		}
	}
	return mark, nil
}

// ShowNewSession shows the form for a new session.
func (s *Server) ShowNewSession(c echo.Context, v *Visit) error {
	page, err := s.newSessionPage(c, v)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.NewSession(page))
}

func (s *Server) newSessionPage(c echo.Context, v *Visit) (view.NewSessionPage, error) {
	page := view.NewSessionPage{Page: s.page(v, "New session")}
	account, err := s.Accounts.Get(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return page, err
	}
	page.Days, page.Offered = strconv.Itoa(account.DefaultExpiresInDays), account.Languages()
	if v.Scope.Livemode && v.Staff.Sees(domain.UseBilling) {
		if page.Use, err = s.billingUse(c, v); err != nil {
			return page, err
		}
	}
	if page.Like, err = s.likeIn(c, v); err != nil || page.Like == nil {
		return page, err
	}
	if days := c.QueryParam("days"); days != "" { // of "Renew"
		page.Days = days
	}
	page.Email, page.Name, page.Reference = page.Like.CustomerEmail, web.Text(page.Like.CustomerName),
		web.Text(page.Like.ReferenceID)
	page.Return = web.Text(page.Like.ReturnURL)
	page.MayOffer = v.Staff.May(domain.DownloadData) && !page.Like.Status.Open() && !page.Like.DataGone(account, s.Clock.Now()) &&
		page.Like.MayHaveAnswers()
	page.Offer = page.MayOffer
	for _, name := range statement.BeforeDeclaration {
		page.Asks = append(page.Asks, view.SectionAsk{Section: name})
	}
	if l := cmp.Or(page.Like.ChosenLanguage, page.Like.Language); l != nil && slices.Contains(page.Offered, *l) {
		page.Language = *l
	}
	return page, nil
}

// likeIn is the session whose customer a new one is for, nil for none.
func (s *Server) likeIn(c echo.Context, v *Visit) (*domain.Session, error) {
	text := c.FormValue("like")
	if text == "" {
		return nil, nil
	}
	id, err := domain.ParseSessionID(text)
	if err != nil {
		return nil, echo.ErrNotFound
	}
	session, err := s.Sessions.Get(c.Request().Context(), v.Scope, id)
	if err == nil && session.CustomerErasedAt != nil {
		return nil, echo.ErrNotFound
	}
	return session, err
}

// CreateSession makes a session and leads to its page, with its link.
func (s *Server) CreateSession(c echo.Context, v *Visit) error {
	params := domain.NewSession{
		FormType: domain.FinancialStatement, CustomerEmail: c.FormValue("customer_email"), CustomerName: c.FormValue("customer_name"),
		ReferenceID: c.FormValue("reference_id"), ReturnURL: strings.TrimSpace(c.FormValue("return_url")),
		Language: domain.Language(c.FormValue("language")), By: v.Actor,
	}
	deliver, remind := c.FormValue("deliver") != "", c.FormValue("remind") != ""
	if deliver {
		params.Deliver = &domain.Deliver{Remind: remind, OneBrowser: !v.Staff.May(domain.DownloadData)}
	}
	like, err := s.likeIn(c, v)
	if err != nil {
		return err
	}
	if like != nil {
		params.WebhookURL, params.Metadata = web.Text(like.WebhookURL), like.Metadata
	}
	asks, err := asksIn(c, v, like, &params)
	if err != nil {
		return err
	}
	typed := c.FormValue("expires_in_days")
	within := days(typed) // reported with the other fields if it is none
	params.ExpiresInDays = &within
	var created *domain.Session
	err = missing(params.Ask, remind && !deliver)
	if err == nil {
		err = web.TooMany(s.Limiter.Take(web.AccountBucket(v.Scope), s.Clock.Now()))
	}
	if err == nil {
		created, err = s.Sessions.Create(c.Request().Context(), v.Scope, nil, params, web.RequestOf(c).Leave)
	}
	errs, status := web.ValidationErrors(err), http.StatusUnprocessableEntity
	var refused *domain.Error
	switch {
	case errors.Is(err, &domain.Error{Code: domain.CodeSpendCapReached}):
		errs = form.Errors{{Field: "create",
			Message: "Your account has reached its spend cap, so it can’t create live sessions. An owner or finance can raise the cap under Billing"}}
	case errors.As(err, &refused) && refused.Code == domain.CodeRateLimitExceeded && refused.Fields != nil: // D106
		errs = form.Errors{{Field: "deliver",
			Message: "Your account has had as many links emailed today as it can. Leave this out and pass on the link yourself"}}
	case errors.As(err, &refused) && refused.Code == domain.CodeRateLimitExceeded:
		web.SetRetryAfter(c, refused)
		status, errs = http.StatusTooManyRequests, form.Errors{{Field: "create",
			Message: "Your account, with its API keys, has created too many sessions in a short time. Wait a moment and create this one again"}}
	case errors.As(err, &refused) && refused.Code == domain.CodeForbidden: // no approval, or no subscription
		errs = form.Errors{{Field: "create", Message: refused.Message}}
	}
	if errs != nil {
		page, err := s.newSessionPage(c, v)
		if err != nil {
			return err
		}
		page.Email, page.Name, page.Reference, page.Return, page.Days, page.Language = params.CustomerEmail, params.CustomerName,
			params.ReferenceID, params.ReturnURL, typed, params.Language
		page.Deliver, page.Remind = deliver, remind
		page.Offer = page.MayOffer && params.PrefillFrom != ""
		if page.Like != nil {
			page.Asks = asks
		}
		page.Errors = view.ErrorItems(ofNotes(errs, params.Ask))
		return web.Render(c, status, view.NewSession(page))
	}
	if err != nil {
		return err
	}
	notice := "session_created"
	if created.Emailed {
		notice = "session_emailed"
	}
	return s.backTo(c, v, "sessions/"+created.ID.String(), nil, notice)
}

// asksIn reads what is asked for again of the customer of like, and returns it as it was
// typed. Who may not read answers can't have them offered (D51).
func asksIn(c echo.Context, v *Visit, like *domain.Session, params *domain.NewSession) (typed []view.SectionAsk, err error) {
	if like == nil {
		return nil, nil
	}
	if c.FormValue("prefill_from") != "" {
		if !v.Staff.May(domain.DownloadData) {
			return nil, domain.Lacking(domain.DownloadData,
				"Your role can’t see the customer’s answers, so it can’t have them offered again. Ask an owner.")
		}
		params.PrefillFrom = like.ID.String()
	}
	form, err := web.FormValues(c)
	if err != nil {
		return nil, err
	}
	for _, name := range statement.BeforeDeclaration {
		ask := view.SectionAsk{Section: name, Asked: slices.Contains(form["ask"], name), Note: form.Get(view.NoteInput(name))}
		if typed = append(typed, ask); ask.Asked {
			params.Ask = append(params.Ask, domain.Ask{Section: name, Note: ask.Note})
		}
	}
	return typed, nil
}

// missing asks for a note on each section that is ticked, and for the email with the link
// if only its reminders are ticked.
func missing(asks []domain.Ask, onlyReminders bool) error {
	var errs form.Errors
	if onlyReminders {
		errs = append(errs, form.Error{Field: "deliver", Message: "Tick this, too, or untick the reminders: they follow this email"})
	}
	for _, a := range asks {
		if strings.TrimSpace(a.Note) == "" {
			message := "Say what to do again in " + statement.Title(a.Section) + ", or untick it"
			errs = append(errs, form.Error{Field: view.NoteInput(a.Section), Message: message})
		}
	}
	if errs == nil {
		return nil
	}
	return &domain.Error{Code: domain.CodeValidation, Fields: errs}
}

// ofNotes names the notes by their inputs instead of their places in the request.
func ofNotes(errs form.Errors, asks []domain.Ask) form.Errors {
	for i := range errs {
		for at, a := range asks {
			if errs[i].Field == fmt.Sprintf("ask.%d.note", at) {
				errs[i].Field, errs[i].Rule.Of = view.NoteInput(a.Section), "note"
			}
		}
	}
	return errs
}

// ExportSessions streams the filtered list, or what was chosen of it, as CSV of any length.
func (s *Server) ExportSessions(c echo.Context, v *Visit) error {
	ctx, zone := c.Request().Context(), v.Staff.Zone()
	filter, _, errs := s.readSessions(c.QueryParams(), v)
	if len(errs) > 0 {
		return web.Invalid(errs)
	}
	chosen, err := s.chosenIn(ctx, v, c.QueryParams())
	if err != nil {
		return err
	}
	return web.StreamCSV(c, s.Logger, s.Clock.Now().In(zone), "sessions_"+view.ModeName(v.Scope.Livemode), view.ExportColumns,
		func(write web.WriteRow) error {
			row := func(of *domain.Session) error { return write(sessionCells(of, zone)...) }
			if len(chosen) > 0 {
				return s.Sessions.ExportChosen(ctx, v.Scope, chosen, v.Actor, row)
			}
			return s.Sessions.Export(ctx, v.Scope, filter, v.Actor, row)
		})
}

// sessionCells are a session's cells below view.ExportColumns.
func sessionCells(of *domain.Session, zone *time.Location) []string {
	minutes, documents, metadata := "", "", ""
	if of.AccessedAt != nil && of.CompletedAt != nil {
		minutes = strconv.Itoa(of.DurationMinutes())
	}
	if of.Documents != nil {
		documents = strconv.Itoa(*of.Documents)
	}
	if len(of.Metadata) > 0 {
		text, _ := json.Marshal(of.Metadata) // raw JSON can't fail
		metadata = string(text)
	}
	return []string{
		of.ID.String(), view.StatusWord(of.Status), of.CustomerEmail, web.Text(of.CustomerName), web.Text(of.ReferenceID),
		web.Stamp(&of.CreatedAt, zone), web.Stamp(&of.ExpiresAt, zone), web.Stamp(of.AccessedAt, zone),
		web.Stamp(of.LastActivityAt, zone), web.Stamp(of.CompletedAt, zone), web.Stamp(of.CancelledAt, zone),
		strconv.Itoa(of.SectionsFinished), minutes, documents, metadata,
	}
}
