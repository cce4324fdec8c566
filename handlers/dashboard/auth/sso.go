package auth

import (
	"errors"
	"net/http"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/staff/sso"
	view "candor/views/dashboard"
	"candor/views/ui"
)

// ssoCookie holds the way to the company's provider and back, sealed.
const ssoCookie = "candor_company"

// companyPath is what the pages of the company's sign-in are below.
const companyPath = view.Root + "/sign-in/company"

// maxThen is the longest page that a sign-in leads back to, in bytes.
const maxThen = 1000

// ShowCompany asks for the address whose company signs in.
func (s *Server) ShowCompany(c echo.Context) error {
	return web.Render(c, http.StatusOK, view.Company(view.SignInPage{Page: view.Page{Title: "Continue with your company"},
		Then: LocalPath(c.QueryParam("then"))}))
}

// BeginCompany leads to the provider of the address's domain.
func (s *Server) BeginCompany(c echo.Context) error {
	page := view.SignInPage{Page: view.Page{Title: "Continue with your company"}, Email: c.FormValue("email"),
		Then: LocalPath(c.FormValue("then"))}
	ctx := c.Request().Context()
	connection, err := s.SSO.Of(ctx, page.Email, s.newcomer(c))
	var start *sso.Start
	if err == nil {
		giveBackPlace(c) // the provider may take its time
		start, err = s.SSO.Begin(ctx, connection, shortThen(page.Then))
	}
	if errs, ok := FieldErrors(err, "email"); ok {
		page.Errors = errs
		return web.Render(c, ErrorStatus(c, err), view.Company(page))
	}
	if err != nil {
		return err
	}
	return s.LeadToCompany(c, start, companyPath)
}

func shortThen(then string) string {
	if len(then) > maxThen {
		return view.Root
	}
	return then
}

// LeadToCompany leads the browser to the provider, by a page: our forms can't lead to other
// sites. back is where Cancel leads.
func (s *Server) LeadToCompany(c echo.Context, start *sso.Start, back string) error {
	c.SetCookie(s.Cookies.New(ssoCookie, start.Cookie, companyPath, sso.FlowSeconds))
	return web.Render(c, http.StatusOK, view.ToCompany(view.ToCompanyPage{
		Page: view.Page{Title: "Continue at " + start.Host, Refresh: start.URL}, URL: start.URL, Host: start.Host, Back: back,
	}))
}

// EndCompany takes the provider's answer and signs in, or confirms who is there.
func (s *Server) EndCompany(c echo.Context) error {
	session, err := s.Session(c)
	if err != nil {
		return err
	}
	token, then, err := s.SSO.Finish(c.Request().Context(), sso.Answer{
		Account: c.Param("account"), Cookie: s.Cookies.Value(c, ssoCookie, companyPath), Query: c.QueryParams(), Session: session,
	}, s.newcomer(c))
	c.SetCookie(s.Cookies.New(ssoCookie, "", companyPath, -1))
	if _, message, ok := ProofError(err); ok {
		page := view.SignInPage{Page: view.Page{Title: "Continue with your company"}, Then: view.Root}
		page.Errors = []ui.ErrorItem{{Target: "email", Message: message}}
		return web.Render(c, ErrorStatus(c, err), view.Company(page))
	}
	if err != nil {
		return err
	}
	if err := s.GiveCookie(c, token); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, LocalPath(then))
}

// maxLogout bounds the body of a logout token, in bytes.
const maxLogout = 16 << 10

// LogoutCompany takes a provider's logout token (OpenID Connect Back-Channel Logout 1.0).
func (s *Server) LogoutCompany(c echo.Context) error {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, maxLogout)
	c.Response().Header().Set("Cache-Control", "no-store")
	err := s.SSO.Logout(r.Context(), c.Param("account"), r.PostFormValue("logout_token"), web.Visitor(c))
	if errors.Is(err, &domain.Error{Code: domain.CodeValidation}) {
		return c.JSON(http.StatusBadRequest, map[string]string{"error": "invalid_request"})
	}
	if err != nil {
		return err
	}
	return c.NoContent(http.StatusOK)
}
