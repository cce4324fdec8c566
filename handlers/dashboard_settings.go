package handlers

import (
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
	"candor/views/dashboard"
	"candor/views/ui"
)

// showSettings shows how customers see the account, and what it wants for its
// sessions.
func (s *Server) showSettings(c echo.Context, v *staffVisit) error {
	return s.settingsPage(c, v, nil, func(*dashboard.SettingsPage) {})
}

// settingsPage shows the settings as they are stored but for what was typed;
// wrong is about that.
func (s *Server) settingsPage(c echo.Context, v *staffVisit, wrong form.Errors, typed func(*dashboard.SettingsPage)) error {
	account, err := s.Service.Account(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	page := dashboard.SettingsPage{
		Page: s.staffPageOf(v, "Settings"), Name: account.Name, HelpEmail: text(account.HelpEmail), HelpPhone: text(account.HelpPhone),
		Logo: ui.Logo(account), LogoOf: account.Name, Languages: account.FormLanguages,
		DefaultExpiry: strconv.Itoa(account.DefaultExpiresInDays), Retention: map[domain.RetentionKind]string{},
	}
	page.TwoStepRequired = account.TwoStepRequired
	team, err := s.Service.Team(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	page.Team = len(team)
	for _, m := range team {
		if !m.TwoStep && !m.HasPasskey {
			page.WithoutFactor++
		}
	}
	for _, kind := range domain.RetentionKinds {
		if days := *kind.DaysOf(account); days > 0 {
			page.Retention[kind] = strconv.Itoa(days)
		}
	}
	if account.BrandColour != nil {
		page.BrandColour = "#" + *account.BrandColour
	}
	status := http.StatusOK
	if wrong != nil {
		status, page.Problems = http.StatusUnprocessableEntity, errorItems(wrong)
	}
	typed(&page)
	return render(c, status, dashboard.Settings(page))
}

// changedSettings leads back to the settings, or shows them with what was
// typed and is wrong.
func (s *Server) changedSettings(c echo.Context, v *staffVisit, err error, notice string, typed func(*dashboard.SettingsPage)) error {
	if wrong := problems(err); wrong != nil {
		return s.settingsPage(c, v, wrong, typed)
	}
	if err != nil {
		return err
	}
	s.leaveStaffNotice(c, notice)
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "settings"))
}

// changeSettings stores how customers see the account.
func (s *Server) changeSettings(c echo.Context, v *staffVisit) error {
	wish := service.AccountSettings{
		Name: c.FormValue("name"), HelpEmail: c.FormValue("help_email"), HelpPhone: c.FormValue("help_phone"), BrandColour: c.FormValue("brand_colour"),
	}
	err := s.Service.ChangeSettings(c.Request().Context(), v.Scope.AccountID, v.actor, wish)
	return s.changedSettings(c, v, err, "settings_saved", func(p *dashboard.SettingsPage) {
		p.Name, p.HelpEmail, p.HelpPhone, p.BrandColour = wish.Name, wish.HelpEmail, wish.HelpPhone, wish.BrandColour
	})
}

// changeFormLanguages sets which languages forms offer besides English.
func (s *Server) changeFormLanguages(c echo.Context, v *staffVisit) error {
	values, err := formValues(c)
	if err != nil {
		return err
	}
	err = s.Service.ChangeFormLanguages(c.Request().Context(), v.Scope.AccountID, v.actor, values["languages"])
	return s.changedSettings(c, v, err, "languages_saved", func(*dashboard.SettingsPage) {})
}

// requireTwoStep sets whether everyone in the team needs a second factor.
func (s *Server) requireTwoStep(c echo.Context, v *staffVisit) error {
	required, notice := c.FormValue("of") == "everyone", "two_step_released"
	if required {
		notice = "two_step_required"
	}
	err := s.Service.RequireTwoStep(c.Request().Context(), v.Session, required, visitor(c))
	return s.changedSettings(c, v, err, notice, func(*dashboard.SettingsPage) {})
}

// days reads a number of days; what is none is one that no setting takes.
func days(typed string) int {
	n, err := strconv.Atoi(strings.TrimSpace(typed))
	if err != nil {
		return -1
	}
	return n
}

// changeDefaultExpiry sets how long links work that nobody said anything of.
func (s *Server) changeDefaultExpiry(c echo.Context, v *staffVisit) error {
	typed := c.FormValue("default_expires_in_days")
	err := s.Service.SetDefaultExpiry(c.Request().Context(), v.Scope.AccountID, v.actor, days(typed))
	return s.changedSettings(c, v, err, "expiry_saved", func(p *dashboard.SettingsPage) { p.DefaultExpiry = typed })
}

// typedRetention is which retention a form is about and what was typed: the
// form has a field of the kind's name. Days of nothing are 0, which only a kind
// that needs none takes.
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

// reviewRetention says what another retention would delete.
func (s *Server) reviewRetention(c echo.Context, v *staffVisit) error {
	kind, typed, wanted := typedRetention(c.QueryParams())
	change, err := s.Service.PreviewRetention(c.Request().Context(), v.Scope.AccountID, kind, wanted)
	if wrong := problems(err); wrong != nil {
		return s.settingsPage(c, v, wrong, func(p *dashboard.SettingsPage) { p.Retention[kind] = typed })
	}
	if err != nil {
		return err
	}
	return render(c, http.StatusOK, dashboard.Retention(dashboard.RetentionPage{
		Page: s.staffPageOf(v, dashboard.RetentionTitle(kind, change.To)), Kind: kind, From: change.From, To: change.To, EndedBy: change.EndedBy,
		Sessions: change.Sessions, OrMore: change.Sessions == service.CountMost,
	}))
}

// changeRetention does what reviewRetention said. If another person was faster,
// it shows the review again: what is deleted has changed with it.
func (s *Server) changeRetention(c echo.Context, v *staffVisit) error {
	values, err := formValues(c)
	if err != nil {
		return err
	}
	kind, typed, wanted := typedRetention(values)
	changed, err := s.Service.ChangeRetention(c.Request().Context(), v.Scope.AccountID, v.actor, kind, days(values.Get("from_days")), wanted)
	if err == nil && !changed {
		s.leaveStaffNotice(c, "retention_moved_on")
		return c.Redirect(http.StatusSeeOther, dashboard.RetentionURL(v.Scope.Livemode, kind, typed))
	}
	return s.changedSettings(c, v, err, "retention_saved", func(p *dashboard.SettingsPage) { p.Retention[kind] = typed })
}

// logoPath is where a logo is sent to: the one page of the dashboard that takes
// a file.
const logoPath = "/settings/logo"

// maxLogoForm leaves room for the form around the largest logo, and for files
// a little too large, which the service refuses by name.
const maxLogoForm = domain.MaxLogoUpload + 64<<10

// setLogo stores the account's logo.
func (s *Server) setLogo(c echo.Context, v *staffVisit) error {
	u, err := readUpload(c, maxLogoForm, service.LogoTooLarge, func(_ *upload, _ string, content io.Reader) error {
		return s.Service.SetLogo(c.Request().Context(), v.Scope.AccountID, v.actor, content)
	})
	switch {
	case err != nil:
	case u.hasFile:
		err = u.refusal
	default:
		err = domain.FieldError(domain.CodeValidation, "file", "Select a file")
	}
	return s.changedSettings(c, v, err, "logo_saved", func(*dashboard.SettingsPage) {})
}

// removeLogo takes the account's logo away.
func (s *Server) removeLogo(c echo.Context, v *staffVisit) error {
	err := s.Service.RemoveLogo(c.Request().Context(), v.Scope.AccountID, v.actor)
	return s.changedSettings(c, v, err, "logo_removed", func(*dashboard.SettingsPage) {})
}
