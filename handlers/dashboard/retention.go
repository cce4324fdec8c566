package dashboard

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	view "candor/views/dashboard"
)

// typedRetention reads which retention a form is about and what was typed: the
// form has a field of that name. An empty field is 0, which only a kind without
// a limit takes.
func typedRetention(values url.Values) (kind domain.RetentionKind, typed string, wanted int) {
	kind = domain.FileRetention
	for _, one := range domain.RetentionKinds {
		if values.Has(string(one)) {
			kind = one
		}
	}
	typed = values.Get(string(kind))
	if strings.TrimSpace(typed) == "" {
		return kind, typed, 0
	}
	return kind, typed, days(typed)
}

// ReviewRetention shows what another retention would delete.
func (s *Server) ReviewRetention(c echo.Context, v *Visit) error {
	kind, typed, wanted := typedRetention(c.QueryParams())
	change, err := s.Accounts.PreviewRetention(c.Request().Context(), v.Scope.AccountID, kind, wanted)
	if errs := web.ValidationErrors(err); errs != nil {
		return s.settingsPage(c, v, errs, func(p *view.SettingsPage) { p.Retention[kind] = typed })
	}
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Retention(view.RetentionPage{
		Page: s.page(v, view.RetentionTitle(kind, change.To)), Kind: kind, From: change.From, To: change.To, EndedBy: change.EndedBy,
		Sessions: change.Sessions, OrMore: change.Sessions == domain.CountMost,
	}))
}

// ChangeRetention does what ReviewRetention showed. If another user was faster,
// it shows the review again, because it may delete other data now.
func (s *Server) ChangeRetention(c echo.Context, v *Visit) error {
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	kind, typed, wanted := typedRetention(values)
	changed, err := s.Accounts.ChangeRetention(c.Request().Context(), v.Scope.AccountID, v.Actor, kind,
		days(values.Get("from_days")), wanted)
	if err == nil && !changed {
		s.Notices.Leave(c, "retention_moved_on")
		return c.Redirect(http.StatusSeeOther, view.RetentionURL(v.Scope.Livemode, kind, typed))
	}
	return s.changedSettings(c, v, err, "retention_saved", func(p *view.SettingsPage) { p.Retention[kind] = typed })
}
