package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	view "candor/views/dashboard"
	"candor/views/i18n"
)

// ShowAnswers shows a completed session's answers, and notes in the audit log that they were
// looked at (D127).
func (s *Server) ShowAnswers(c echo.Context, v *Visit, id domain.SessionID) error {
	ctx := i18n.In(c.Request().Context(), i18n.ForStaff)
	c.SetRequest(c.Request().WithContext(ctx))
	data, err := s.Sessions.Data(ctx, v.Scope, id, web.Reader(ctx, v.Actor))
	if err != nil {
		return err
	}
	account, err := s.Accounts.Get(ctx, v.Scope.AccountID)
	if err != nil {
		return err
	}
	page := view.AnswersPage{
		Page: s.page(v, "Answers"), Session: data.Session, Names: data.Statement.Names(data.Session.CustomerName),
		Sections: data.Statement.Sections(*data.Session.CompletedAt),
		Summary:  data.Statement.Summary(), Documents: data.Statement.Documents,
		Corrected: corrected(ctx, data.Statement), Confirmed: data.Statement.Confirmed(),
		Retained: data.Session.Retained(s.Clock.Now(), account.Retention()),
	}
	page.Of = data.Session.Reference()
	if data.Session.PreviousSessionID != nil {
		if page.Former, err = s.Sessions.Get(ctx, v.Scope, *data.Session.PreviousSessionID); err != nil {
			return err
		}
		page.Changed = data.Statement.ChangedSections()
		if page.Former.Status == domain.Completed { // else the customer signed none of it
			page.Before = data.Statement.FormerSections()
		}
	}
	return web.Render(c, http.StatusOK, view.Answers(page))
}

// corrected names the answers that the partner gave and the customer changed, by section
// (D58). What the customer removed has no name.
func corrected(ctx context.Context, answers *statement.Statement) map[string][]string {
	out, results := map[string][]string{}, answers.Prefilled()
	for name := range answers.Prefill {
		answers.Section(name, answers.Declaration.SignedAt).Walk(func(path string, f form.Field) {
			if label := i18n.T(ctx, f.Label); results[name+"."+path] == statement.Changed && !slices.Contains(out[name], label) {
				out[name] = append(out[name], label)
			}
			delete(results, name+"."+path)
		})
	}
	for path, result := range results {
		name, _, _ := strings.Cut(path, ".")
		if removed := "what was removed"; result == statement.Changed && !slices.Contains(out[name], removed) {
			out[name] = append(out[name], removed)
		}
	}
	return out
}
