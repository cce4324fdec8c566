package dashboard

import (
	"encoding/json"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/staff/sso"
	view "candor/views/dashboard"
)

// ShowCompanySignIn shows the account's company sign-in (D141).
func (s *Server) ShowCompanySignIn(c echo.Context, v *Visit) error {
	return s.companyPage(c, v, nil, func(*view.CompanyPage) {})
}

// companyPage shows what is stored. typed puts in what was posted, which errs are about.
func (s *Server) companyPage(c echo.Context, v *Visit, errs form.Errors, typed func(*view.CompanyPage)) error {
	ctx := c.Request().Context()
	state, err := s.SSO.State(ctx, v.Scope.AccountID)
	if err != nil {
		return err
	}
	page := view.CompanyPage{Page: s.page(v, "Company sign-in"), RedirectURL: state.RedirectURL, LogoutURL: state.LogoutURL,
		Domains: state.Domains, Keep: state.Keep}
	if page.Team, err = s.Team.List(ctx, v.Scope.AccountID); err != nil {
		return err
	}
	if stored := state.Connection; stored != nil {
		page.Connected, page.OnlySSO = true, stored.OnlySSO
		page.Issuer, page.ClientID, page.DefaultRole = stored.Issuer, stored.ClientID, stored.DefaultRole
		page.GroupsClaim, page.TrustsEmail = stored.GroupsClaim, stored.TrustsEmail
		page.GroupRoles = groupLines(stored.GroupRoles)
	}
	page.Errors = view.ErrorItems(errs)
	typed(&page)
	return web.Render(c, pageStatus(errs), view.CompanySignIn(page))
}

// groupLines are stored groups as they are typed.
func groupLines(stored []byte) string {
	var roles []domain.GroupRole
	if json.Unmarshal(stored, &roles) != nil {
		return ""
	}
	var lines []string
	for _, one := range roles {
		lines = append(lines, one.Group+" = "+string(one.Role))
	}
	return strings.Join(lines, "\n")
}

// changedCompany leads back with a notice, or shows what was typed and the errors.
func (s *Server) changedCompany(c echo.Context, v *Visit, err error, notice string, typed func(*view.CompanyPage)) error {
	if errs := web.ValidationErrors(err); errs != nil {
		return s.companyPage(c, v, errs, typed)
	}
	return s.backTo(c, v, "settings/sign-in", err, notice)
}

// ConnectCompany stores the company's provider.
func (s *Server) ConnectCompany(c echo.Context, v *Visit) error {
	p := sso.Params{
		Issuer: strings.TrimSpace(c.FormValue("issuer")), ClientID: strings.TrimSpace(c.FormValue("client_id")),
		Secret: strings.TrimSpace(c.FormValue("client_secret")), DefaultRole: domain.Role(c.FormValue("default_role")),
		GroupsClaim: strings.TrimSpace(c.FormValue("groups_claim")), GroupRoles: c.FormValue("group_roles"),
		TrustsEmail: c.FormValue("trusts_email") != "",
	}
	err := s.SSO.Connect(c.Request().Context(), v.Scope.AccountID, v.Actor, p)
	return s.changedCompany(c, v, err, "sso_saved", func(page *view.CompanyPage) {
		page.Issuer, page.ClientID, page.DefaultRole = p.Issuer, p.ClientID, p.DefaultRole
		page.GroupsClaim, page.GroupRoles, page.TrustsEmail = p.GroupsClaim, p.GroupRoles, p.TrustsEmail
	})
}

// DisconnectCompany removes the company's provider. Who signed in by it is signed out.
func (s *Server) DisconnectCompany(c echo.Context, v *Visit) error {
	err := s.SSO.Disconnect(c.Request().Context(), v.Scope.AccountID, v.Actor)
	return s.changedCompany(c, v, err, "sso_removed", func(*view.CompanyPage) {})
}

// RequireCompany lets people in only by the company, or by passwords again.
func (s *Server) RequireCompany(c echo.Context, v *Visit) error {
	ctx := c.Request().Context()
	if c.FormValue("of") != "company" {
		err := s.SSO.ReleaseSSO(ctx, v.Scope.AccountID, v.Actor)
		return s.changedCompany(c, v, err, "sso_released", func(*view.CompanyPage) {})
	}
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	err = s.SSO.RequireSSO(ctx, v.Staff, v.Actor, values["keep"])
	return s.changedCompany(c, v, err, "sso_only", func(*view.CompanyPage) {})
}

// AddDomain adds a domain of the company's.
func (s *Server) AddDomain(c echo.Context, v *Visit) error {
	name := c.FormValue("domain")
	err := s.SSO.AddDomain(c.Request().Context(), v.Scope.AccountID, v.Actor, name)
	return s.changedCompany(c, v, err, "domain_added", func(page *view.CompanyPage) { page.Domain = name })
}

// CheckDomain looks for the DNS record of a domain.
func (s *Server) CheckDomain(c echo.Context, v *Visit) error {
	err := s.SSO.CheckDomain(c.Request().Context(), v.Scope.AccountID, v.Actor, c.FormValue("domain"))
	return s.changedCompany(c, v, err, "domain_checked", func(*view.CompanyPage) {})
}

// RemoveDomain removes a domain.
func (s *Server) RemoveDomain(c echo.Context, v *Visit) error {
	err := s.SSO.RemoveDomain(c.Request().Context(), v.Scope.AccountID, v.Actor, c.FormValue("domain"))
	return s.changedCompany(c, v, err, "domain_removed", func(*view.CompanyPage) {})
}
