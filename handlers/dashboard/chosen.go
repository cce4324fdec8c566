package dashboard

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/dashboard/auth"
	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// Why a chosen session stays as it is, besides what the use cases say themselves (D133).
const (
	leftEnded    = "had ended already"
	leftLate     = "had been kept already, or had ended"
	leftTooLong  = "would have a link for more than 90 days"
	leftExtended = "had the link extended since you opened the list"
	leftSent     = "had the link sent since you opened the list, or it is being sent"
	leftTooMany  = "can’t have the link today: your account has had as many links emailed as it can"
	leftUnknown  = "may have been done, but something went wrong. Look at it before you try again"
	leftNotTried = "not tried, because something went wrong before. Try again"
)

// chosenNotices say what was done to all that were chosen.
var chosenNotices = map[string]string{"extend": "chosen_extend", "keep": "chosen_keep", "email": "chosen_email"}

// ChangeChosen extends, cancels or keeps the sessions that were chosen in the list, or has their
// links emailed, each in a transaction of its own. It says which stay as they are, and why; also if
// an error ends it midway.
func (s *Server) ChangeChosen(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	values, err := c.FormParams()
	if err != nil {
		return web.Unreadable(err)
	}
	chosen, err := s.chosenIn(ctx, v, values)
	if err != nil {
		return err
	}
	do, back := values.Get("do"), auth.LocalPath(values.Get("back"))
	if do == "export" && len(chosen) > 0 {
		return c.Redirect(http.StatusSeeOther, view.ExportChosen(v.Scope.Livemode, chosen))
	}
	change, known := s.changes(ctx, v, values)[do]
	if !known && len(chosen) > 0 {
		return echo.ErrNotFound
	}
	page := view.ChosenPage{Page: s.page(v, "Chosen sessions"), Do: do, Back: back}
	status := http.StatusOK
	for i := range chosen {
		left, err := change(chosen[i].ID)
		if err == nil && left == "" {
			page.Done++
			if do == "cancel" {
				page.Ends = append(page.Ends, chosen[i])
			}
			continue
		}
		if err != nil {
			s.Logger.ErrorContext(ctx, "chosen sessions", "error", err, "done", page.Done)
			page.Leave(leftUnknown, chosen[i])
			if i+1 < len(chosen) {
				page.Leave(leftNotTried, chosen[i+1:]...)
			}
			status = http.StatusInternalServerError
			break
		}
		page.Leave(left, chosen[i])
	}
	if len(page.Left) > 0 || len(page.Ends) > 0 {
		return web.Render(c, status, view.Chosen(page))
	}
	if page.Done > 0 {
		s.Notices.Leave(c, web.Counted(chosenNotices[do], page.Done))
	}
	return c.Redirect(http.StatusSeeOther, back)
}

// chosenIn are the sessions that a form names. One that isn't the scope's, or more than a page
// lists, come from no page.
func (s *Server) chosenIn(ctx context.Context, v *Visit, values url.Values) ([]domain.Session, error) {
	texts := values["session"]
	if len(texts) == 0 {
		return nil, nil
	}
	var ids []domain.SessionID
	for _, text := range slices.Compact(slices.Sorted(slices.Values(texts))) {
		id, err := domain.ParseSessionID(text)
		if err != nil || len(ids) == sessionsPerPage {
			return nil, echo.ErrNotFound
		}
		ids = append(ids, id)
	}
	return s.Sessions.Chosen(ctx, v.Scope, ids)
}

// changes are what can be done to chosen sessions. Each says why the session stays as it is.
func (s *Server) changes(ctx context.Context, v *Visit, values url.Values) map[string]func(domain.SessionID) (string, error) {
	days, _ := strconv.Atoi(values.Get("days"))                      // 0 days extend nothing
	shown, _ := time.Parse(time.RFC3339Nano, values.Get(view.Shown)) // of no page: what was ever sent isn't sent again
	ends := map[string]time.Time{}                                   // of the links, as the page showed them
	for _, text := range values[view.Ends] {
		id, end, _ := strings.Cut(text, " ")
		ends[id], _ = time.Parse(time.RFC3339Nano, end)
	}
	return map[string]func(domain.SessionID) (string, error){
		"extend": func(id domain.SessionID) (string, error) {
			extended, err := s.Sessions.ExtendShown(ctx, v.Scope, id, ends[id.String()], days, v.Actor)
			if err == nil && !extended {
				return leftExtended, nil
			}
			return whyLeft(err)
		},
		"cancel": func(id domain.SessionID) (string, error) {
			return whyLeft(s.Sessions.RequestCancel(ctx, v.Scope, id, v.Actor))
		},
		"keep": func(id domain.SessionID) (string, error) {
			kept, err := s.Sessions.UndoCancel(ctx, v.Scope, id)
			if err == nil && !kept {
				return leftLate, nil
			}
			return whyLeft(err)
		},
		"email": func(id domain.SessionID) (string, error) {
			queued, err := s.Sessions.EmailLinkSince(ctx, v.Scope, id, shown, !v.Staff.May(domain.DownloadData), v.Actor)
			if err == nil && !queued {
				return leftSent, nil
			}
			return whyLeft(err)
		},
	}
}

// whyLeft is what an error says about the session; one that says nothing about it is returned.
func whyLeft(err error) (string, error) {
	var refused *domain.Error
	switch {
	case err == nil:
		return "", nil
	case web.SessionClosed(err):
		return leftEnded, nil
	case !errors.As(err, &refused):
		return "", err
	case refused.Code == domain.CodeValidation:
		return leftTooLong, nil
	case refused.Code == domain.CodeRateLimitExceeded:
		return leftTooMany, nil
	case refused.Code == domain.CodeForbidden:
		return refused.Message, nil
	}
	return "", err
}
