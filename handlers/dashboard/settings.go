package dashboard

import (
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/accounts"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// ShowSettings shows how customers see the account, and the defaults of its
// sessions.
func (s *Server) ShowSettings(c echo.Context, v *Visit) error {
	return s.settingsPage(c, v, nil, func(*view.SettingsPage) {})
}

// settingsPage shows the stored settings. typed puts in what was posted, which
// errs are about.
func (s *Server) settingsPage(c echo.Context, v *Visit, errs form.Errors, typed func(*view.SettingsPage)) error {
	account, err := s.Accounts.Get(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	page := view.SettingsPage{
		Page: s.page(v, "Settings"), Name: account.Name, HelpEmail: web.Text(account.HelpEmail), HelpPhone: web.Text(account.HelpPhone),
		MoneyHelp: web.Text(account.MoneyHelp), MoneyHelpURL: web.Text(account.MoneyHelpURL), NextSteps: web.Text(account.NextSteps),
		ReceiptEmail: account.ReceiptEmail,
		Logo:         ui.Logo(account), LogoOf: account.Name, Languages: account.FormLanguages, TimeZone: account.TimeZone,
		DefaultExpiry: strconv.Itoa(account.DefaultExpiresInDays), Retention: map[domain.RetentionKind]string{},
	}
	page.TwoStepRequired = account.TwoStepRequired
	team, err := s.Team.List(c.Request().Context(), v.Scope.AccountID)
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
	if errs != nil {
		status, page.Errors = http.StatusUnprocessableEntity, view.ErrorItems(errs)
	}
	typed(&page)
	return web.Render(c, status, view.Settings(page))
}

// changedSettings leads back to the settings with a notice, or shows them with
// what was typed and the errors.
func (s *Server) changedSettings(c echo.Context, v *Visit, err error, notice string, typed func(*view.SettingsPage)) error {
	if errs := web.ValidationErrors(err); errs != nil {
		return s.settingsPage(c, v, errs, typed)
	}
	return s.backTo(c, v, "settings", err, notice)
}

// ChangeSettings stores how customers see the account.
func (s *Server) ChangeSettings(c echo.Context, v *Visit) error {
	params := accounts.Settings{
		Name: c.FormValue("name"), HelpEmail: c.FormValue("help_email"), HelpPhone: c.FormValue("help_phone"),
		BrandColour: c.FormValue("brand_colour"),
		MoneyHelp:   c.FormValue("money_help"), MoneyHelpURL: c.FormValue("money_help_url"),
		NextSteps: c.FormValue("next_steps"), ReceiptEmail: c.FormValue("receipt_email") != "",
	}
	err := s.Accounts.ChangeSettings(c.Request().Context(), v.Scope.AccountID, v.Actor, params)
	return s.changedSettings(c, v, err, "settings_saved", func(p *view.SettingsPage) {
		p.Name, p.HelpEmail, p.HelpPhone, p.BrandColour = params.Name, params.HelpEmail, params.HelpPhone, params.BrandColour
		p.MoneyHelp, p.MoneyHelpURL = params.MoneyHelp, params.MoneyHelpURL
		p.NextSteps, p.ReceiptEmail = params.NextSteps, params.ReceiptEmail
	})
}

// ChangeFormLanguages sets which languages forms offer besides English.
func (s *Server) ChangeFormLanguages(c echo.Context, v *Visit) error {
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	err = s.Accounts.ChangeFormLanguages(c.Request().Context(), v.Scope.AccountID, v.Actor, values["languages"])
	return s.changedSettings(c, v, err, "languages_saved", func(*view.SettingsPage) {})
}

// RequireTwoStep sets whether everyone in the team needs a second factor.
func (s *Server) RequireTwoStep(c echo.Context, v *Visit) error {
	required, notice := c.FormValue("of") == "everyone", "two_step_released"
	if required {
		notice = "two_step_required"
	}
	err := s.Accounts.RequireTwoStep(c.Request().Context(), v.Staff, v.Staff.ActorAt(c.RealIP()), required)
	return s.changedSettings(c, v, err, notice, func(*view.SettingsPage) {})
}

// days reads a number of days, -1 if it is none.
func days(typed string) int {
	n, err := strconv.Atoi(strings.TrimSpace(typed))
	if err != nil {
		return -1
	}
	return n
}

// ChangeTimeZone sets the zone of the dashboard's times.
func (s *Server) ChangeTimeZone(c echo.Context, v *Visit) error {
	err := s.Accounts.ChangeTimeZone(c.Request().Context(), v.Scope.AccountID, v.Actor, c.FormValue("time_zone"))
	return s.changedSettings(c, v, err, "time_zone_saved", func(*view.SettingsPage) {})
}

// ChangeDefaultExpiry sets when links expire that were created without an
// expiry.
func (s *Server) ChangeDefaultExpiry(c echo.Context, v *Visit) error {
	typed := c.FormValue("default_expires_in_days")
	err := s.Accounts.SetDefaultExpiry(c.Request().Context(), v.Scope.AccountID, v.Actor, days(typed))
	return s.changedSettings(c, v, err, "expiry_saved", func(p *view.SettingsPage) { p.DefaultExpiry = typed })
}
