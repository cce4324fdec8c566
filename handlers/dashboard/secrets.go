package dashboard

import (
	"net/http"
	"path"
	"slices"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/webhooks"
	view "candor/views/dashboard"
	"candor/views/dashboard/snippets"
)

// ShowSecrets shows the webhook secrets after the password was entered: in the
// response to a POST, which a browser neither prefetches nor repeats.
func (s *Server) ShowSecrets(c echo.Context, v *Visit) error {
	secrets, err := s.Webhooks.ShowSecrets(c.Request().Context(), v.Scope, ofForm(c), v.Actor)
	if err != nil {
		return err
	}
	return web.Render(c, http.StatusOK, view.Secrets(view.SecretsPage{
		Page: s.page(v, "Webhook secret"), Text: secrets.Current, Next: secrets.Next, Endpoint: c.FormValue("endpoint"),
	}))
}

// NextSecret creates the next webhook secret and shows it.
func (s *Server) NextSecret(c echo.Context, v *Visit) error {
	secret, err := s.Webhooks.CreateNextSecret(c.Request().Context(), v.Scope, ofForm(c), v.Actor)
	if webhooks.Outdated(err) {
		return s.rotated(c, v, err, "")
	}
	if err != nil && secret == "" {
		return err
	}
	return web.Render(c, http.StatusOK, view.NewSecret(view.SecretsPage{
		Page: s.page(v, "Copy your new webhook secret"), Next: secret, Endpoint: c.FormValue("endpoint"),
	}))
}

// SwitchSecret makes the next secret the current one.
func (s *Server) SwitchSecret(c echo.Context, v *Visit) error {
	err := s.Webhooks.SwitchSecret(c.Request().Context(), v.Scope, ofForm(c), v.Actor)
	return s.rotated(c, v, err, "secret_switched")
}

// RestoreSecret makes the previous secret the current one.
func (s *Server) RestoreSecret(c echo.Context, v *Visit) error {
	err := s.Webhooks.RestoreSecret(c.Request().Context(), v.Scope, ofForm(c), v.Actor)
	return s.rotated(c, v, err, "secret_restored")
}

// AbandonSecret deletes the next secret.
func (s *Server) AbandonSecret(c echo.Context, v *Visit) error {
	err := s.Webhooks.AbandonNextSecret(c.Request().Context(), v.Scope, ofForm(c), v.Actor)
	return s.rotated(c, v, err, "secret_abandoned")
}

// rotated leads back to the endpoint, or to the settings for the default one, with a
// notice, or with the one that another user has changed the secrets first.
func (s *Server) rotated(c echo.Context, v *Visit, err error, notice string) error {
	if webhooks.Outdated(err) {
		err, notice = nil, "secret_moved_on"
	}
	back := webhookSettings
	if id := ofForm(c); id != nil {
		back = "webhooks/endpoints/" + id.String()
	}
	return s.backTo(c, v, back, err, notice)
}

// ofForm is the endpoint that the form names, nil for the default one.
func ofForm(c echo.Context) *domain.EndpointID {
	text := c.FormValue("endpoint")
	if text == "" {
		return nil
	}
	id, _ := domain.ParseEndpointID(text) // a malformed one is that of no endpoint
	return &id
}

// ShowVerifyCode shows code that verifies webhooks, in one programming language
// at a time.
func (s *Server) ShowVerifyCode(c echo.Context, v *Visit) error {
	all := snippets.All()
	page := view.VerifyCodePage{Page: s.page(v, "Verify webhooks")}
	chosen := max(0, slices.IndexFunc(all, func(one snippets.Snippet) bool { return one.ID == c.QueryParam("in") }))
	for i, one := range all {
		page.Languages = append(page.Languages, view.LanguageLink{ID: one.ID, Name: one.Language, Chosen: i == chosen})
	}
	page.File, page.Note, page.Code = path.Base(all[chosen].File), all[chosen].Note, all[chosen].Text
	return web.Render(c, http.StatusOK, view.VerifyCode(page))
}
