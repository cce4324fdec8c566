package dashboard

import (
	"io"
	"net/http"
	"net/url"
	"slices"
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
		Page: s.page(v, "Settings"), Logo: ui.Logo(account), LogoOf: account.Name, Retention: map[domain.RetentionKind]string{},
	}
	fillSettings(&page, accounts.SettingsOf(account))
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
	page.Errors = view.ErrorItems(errs)
	typed(&page)
	c.Response().Header().Set("Content-Security-Policy", web.PagePolicy+"; frame-src 'self'") // the preview
	return web.Render(c, pageStatus(errs), view.Settings(page))
}

// fillSettings puts in what the forms of the page show.
func fillSettings(p *view.SettingsPage, of accounts.Settings) {
	p.Name, p.BrandColour, p.HelpEmail, p.HelpPhone = of.Name, of.BrandColour, of.HelpEmail, of.HelpPhone
	p.MoneyHelp, p.MoneyHelpURL, p.NextSteps, p.ReceiptEmail = of.MoneyHelp, of.MoneyHelpURL, of.NextSteps, of.ReceiptEmail
	p.Languages, p.DefaultExpiry, p.TimeZone = of.Languages, strconv.Itoa(of.DefaultExpiresInDays), of.TimeZone
}

// changedSettings leads back to the settings with a notice, or shows them with
// what was typed and the errors.
func (s *Server) changedSettings(c echo.Context, v *Visit, err error, notice string, typed func(*view.SettingsPage)) error {
	if errs := web.ValidationErrors(err); errs != nil {
		return s.settingsPage(c, v, errs, typed)
	}
	return s.backTo(c, v, "settings", err, notice)
}

// ChangeSettings stores the settings that were posted: those of a form of the page, or of a
// page of the previous release (D143). Settings that were not posted stay as they are.
func (s *Server) ChangeSettings(c echo.Context, v *Visit) error {
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	var typed accounts.Settings
	err = s.Accounts.ChangeSettings(c.Request().Context(), v.Scope.AccountID, v.Actor, func(to *accounts.Settings) {
		putSettings(values, to)
		typed = *to
	})
	return s.changedSettings(c, v, err, "settings_saved", func(p *view.SettingsPage) {
		fillSettings(p, typed)
		if values.Has(expiryField) {
			p.DefaultExpiry = values.Get(expiryField)
		}
	})
}

const expiryField = "default_expires_in_days"

// putSettings puts in what was posted.
func putSettings(values url.Values, to *accounts.Settings) {
	for name, field := range map[string]*string{
		"name": &to.Name, "brand_colour": &to.BrandColour, "help_email": &to.HelpEmail, "help_phone": &to.HelpPhone,
		"money_help": &to.MoneyHelp, "money_help_url": &to.MoneyHelpURL, "next_steps": &to.NextSteps, "time_zone": &to.TimeZone,
	} {
		if values.Has(name) {
			*field = values.Get(name)
		}
	}
	if values.Has("next_steps") { // a box that isn't ticked isn't posted
		to.ReceiptEmail = values.Get("receipt_email") != ""
	}
	if values.Has("languages") {
		to.Languages = slices.DeleteFunc(slices.Clone(values["languages"]), func(l string) bool { return l == "" })
	}
	if values.Has(expiryField) {
		to.DefaultExpiresInDays = days(values.Get(expiryField))
	}
}

// PreviewForm draws the first page of the account's forms with the brand that was posted, and
// stores nothing. The settings show it in a frame.
func (s *Server) PreviewForm(c echo.Context, v *Visit) error {
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	account, err := s.Accounts.Get(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	typed := accounts.SettingsOf(account)
	putSettings(values, &typed)
	if name := strings.TrimSpace(typed.Name); name != "" {
		account.Name = name
	}
	account.BrandColour = nil
	if colour, ok := accounts.Colour(typed.BrandColour); ok && colour != "" {
		account.BrandColour = &colour
	}
	headers := c.Response().Header()
	headers.Del("X-Frame-Options")
	headers.Set("Content-Security-Policy", strings.Replace(web.PagePolicy, "frame-ancestors 'none'", "frame-ancestors 'self'", 1))
	return web.Render(c, http.StatusOK, s.FirstPage(account, ui.BrandWords(web.Text(account.BrandColour))))
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

// maxLogoForm leaves room for the form around the largest logo, and for
// slightly larger files, which the use case rejects by name.
const maxLogoForm = domain.MaxLogoUpload + 64<<10

const logoTooLarge form.RuleCode = "logo_bytes"

// SetLogo stores the account's logo.
func (s *Server) SetLogo(c echo.Context, v *Visit) error {
	u, err := web.ReadUpload(c, maxLogoForm, view.Words.Rules[logoTooLarge], func(_ *web.Upload, _ string, content io.Reader) error {
		return s.Accounts.SetLogo(c.Request().Context(), v.Scope.AccountID, v.Actor, content)
	})
	switch {
	case err != nil:
	case u.HasFile:
		err = u.Rejected
	default:
		err = domain.FieldError(domain.CodeValidation, "file", "Select a file")
	}
	return s.changedSettings(c, v, err, "logo_saved", func(*view.SettingsPage) {})
}

// RemoveLogo deletes the account's logo.
func (s *Server) RemoveLogo(c echo.Context, v *Visit) error {
	err := s.Accounts.RemoveLogo(c.Request().Context(), v.Scope.AccountID, v.Actor)
	return s.changedSettings(c, v, err, "logo_removed", func(*view.SettingsPage) {})
}
