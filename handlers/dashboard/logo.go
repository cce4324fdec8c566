package dashboard

import (
	"io"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

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
