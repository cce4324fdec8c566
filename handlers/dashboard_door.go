package handlers

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/service"
	"candor/views/dashboard"
)

// letterCookie holds a letter's token between the opening of its link and the
// page that it leads to, so that the token is in no address that is kept. It
// opens its own page alone.
const letterCookie = "candor_letter"

// letterSeconds is how long a page that a letter's link led to can be used.
const letterSeconds = 60 * 60

// The pages that letters lead to, below the dashboard's root.
const (
	resetPath      = "/reset"
	verifyPath     = "/verify"
	invitationPath = "/invitation"
)

// doorRoutes registers the pages for those who aren't signed in. What they post
// goes through the group of its own, which counts it.
func (s *Server) doorRoutes(d, posts *echo.Group) {
	d.Match(read, "/sign-in", s.showSignIn)
	posts.POST("/sign-in", s.signIn)
	d.Match(read, "/sign-in/code", s.showCode)
	posts.POST("/sign-in/code", s.takeCode)
	posts.POST("/sign-in/passkey", s.askPasskey)
	posts.POST("/sign-in/passkey/answer", s.takePasskey)
	d.Match(read, "/forgot", s.showForgot)
	posts.POST("/forgot", s.forgot)
	d.Match(read, "/sign-up", s.showSignUp)
	posts.POST("/sign-up", s.signUp)
	d.Match(read, "/letter-sent", s.showLetterSent)
	d.Match(read, resetPath, s.showReset)
	posts.POST(resetPath, s.reset)
	d.Match(read, verifyPath, s.showVerify)
	posts.POST(verifyPath, s.verify)
	d.Match(read, invitationPath, s.showInvitation)
	posts.POST(invitationPath, s.acceptInvitation)
	for _, path := range []string{resetPath, verifyPath, invitationPath} {
		d.Match(read, path+"/:token", s.openLetter(path))
	}
}

func signInURL(then string) string {
	return dashboard.Root + "/sign-in?then=" + url.QueryEscape(then)
}

// openLetter takes the token out of the address and leads to its page. It uses
// nothing up: mail programs open links, too.
func (s *Server) openLetter(path string) echo.HandlerFunc {
	return func(c echo.Context) error {
		c.SetCookie(s.letterCookie(path, c.Param("token"), letterSeconds))
		return c.Redirect(http.StatusSeeOther, dashboard.Root+path)
	}
}

func (s *Server) letterCookie(path, token string, seconds int) *http.Cookie {
	return s.cookie(letterCookie, url.QueryEscape(token), dashboard.Root+path, seconds)
}

// letterToken is the token of the letter whose link the browser has opened, ""
// without one.
func (s *Server) letterToken(c echo.Context) string {
	return s.sentCookie(c, letterCookie, dashboard.Root)
}

// linkGone answers a link that works no more with a page that says what can be
// done, and returns other errors.
func (s *Server) linkGone(c echo.Context, err error) error {
	if !errors.Is(err, &domain.Error{Code: domain.CodeNotFound}) {
		return err
	}
	return render(c, http.StatusNotFound, dashboard.LinkGone(dashboard.Page{Title: "This link works no more"}))
}

func (s *Server) showLetterSent(c echo.Context) error {
	return render(c, http.StatusOK, dashboard.LetterSent(dashboard.Page{Title: "Look into your e-mail"}))
}

// letterSent leads to a page that is the same whoever asked.
func (s *Server) letterSent(c echo.Context) error {
	return c.Redirect(http.StatusSeeOther, dashboard.Root+"/letter-sent")
}

func (s *Server) showForgot(c echo.Context) error {
	return render(c, http.StatusOK, dashboard.Forgot(dashboard.ForgotPage{Page: dashboard.Page{Title: "Forgotten your password?"}}))
}

// forgot asks for a letter, if there is somebody to send it to.
func (s *Server) forgot(c echo.Context) error {
	page := dashboard.ForgotPage{Page: dashboard.Page{Title: "Forgotten your password?"}, Email: c.FormValue("email")}
	err := s.Service.RequestReset(c.Request().Context(), page.Email, s.newcomer(c))
	if wrong, ok := wrongFields(err, "email"); ok {
		page.Problems = wrong
		return render(c, statusOfWrong(c, err), dashboard.Forgot(page))
	}
	if err != nil {
		return err
	}
	return s.letterSent(c)
}

// statusOfWrong is the status of a page that says what is wrong. Too many
// attempts have one of their own, and a header that says how long to wait.
func statusOfWrong(c echo.Context, err error) int {
	var own *domain.Error
	if errors.As(err, &own) {
		sayWhenToRetry(c, own)
	}
	if status, _, ok := refusal(err); ok {
		return status
	}
	return http.StatusUnprocessableEntity
}

func (s *Server) showReset(c echo.Context) error {
	email, err := s.Service.CheckReset(c.Request().Context(), s.letterToken(c))
	if err != nil {
		return s.linkGone(c, err)
	}
	return render(c, http.StatusOK, dashboard.Reset(dashboard.ResetPage{Page: dashboard.Page{Title: "Choose a new password"}, Email: email}))
}

// reset sets a new password; whoever did it signs in as usual, second factor
// and all.
func (s *Server) reset(c echo.Context) error {
	ctx := c.Request().Context()
	device, err := s.Service.Reset(ctx, s.letterToken(c), c.FormValue("new_password"), s.newcomer(c))
	if wrong, ok := wrongFields(err, "new_password"); ok {
		email, checkErr := s.Service.CheckReset(ctx, s.letterToken(c))
		if checkErr != nil {
			return s.linkGone(c, checkErr)
		}
		page := dashboard.ResetPage{Page: dashboard.Page{Title: "Choose a new password", Problems: wrong}, Email: email}
		return render(c, statusOfWrong(c, err), dashboard.Reset(page))
	}
	if err != nil {
		return s.linkGone(c, err)
	}
	c.SetCookie(s.letterCookie(resetPath, "", -1))
	c.SetCookie(s.deviceCookie(device))
	s.leaveStaffNotice(c, "password_reset")
	return c.Redirect(http.StatusSeeOther, dashboard.Root+"/sign-in")
}

func (s *Server) showInvitation(c echo.Context) error {
	invitation, err := s.Service.Invitation(c.Request().Context(), s.letterToken(c))
	if err != nil {
		return s.linkGone(c, err)
	}
	page := dashboard.InvitationPage{Page: dashboard.Page{Title: "Join " + invitation.AccountName}, Invitation: invitation}
	return render(c, http.StatusOK, dashboard.Invitation(page))
}

// acceptInvitation makes the invited person a staff user, signed in.
func (s *Server) acceptInvitation(c echo.Context) error {
	ctx := c.Request().Context()
	token, err := s.Service.AcceptInvitation(ctx, s.letterToken(c), c.FormValue("name"), c.FormValue("new_password"), s.newcomer(c))
	if wrong, ok := wrongFields(err, "new_password"); ok {
		invitation, checkErr := s.Service.Invitation(ctx, s.letterToken(c))
		if checkErr != nil {
			return s.linkGone(c, checkErr)
		}
		page := dashboard.InvitationPage{Page: dashboard.Page{Title: "Join " + invitation.AccountName, Problems: wrong}, Invitation: invitation, Name: c.FormValue("name")}
		return render(c, statusOfWrong(c, err), dashboard.Invitation(page))
	}
	if err != nil {
		return s.linkGone(c, err)
	}
	return s.enter(c, invitationPath, token)
}

// enter leads those whom a letter's link has signed in to the dashboard.
func (s *Server) enter(c echo.Context, path, token string) error {
	if err := s.giveStaffCookie(c, token); err != nil {
		return err
	}
	c.SetCookie(s.letterCookie(path, "", -1))
	s.leaveStaffNotice(c, "welcome")
	return c.Redirect(http.StatusSeeOther, dashboard.URL(false, ""))
}

func (s *Server) showSignUp(c echo.Context) error {
	return render(c, http.StatusOK, dashboard.SignUp(dashboard.SignUpPage{Page: dashboard.Page{Title: "Open an account"}}))
}

// signUp asks for the letter that opens an account.
func (s *Server) signUp(c echo.Context) error {
	wish := service.NewSignUp{Company: c.FormValue("company"), Name: c.FormValue("name"), Email: c.FormValue("email"), Password: c.FormValue("new_password")}
	err := s.Service.SignUp(c.Request().Context(), wish, s.newcomer(c))
	if wrong, ok := wrongFields(err, "email"); ok {
		page := dashboard.SignUpPage{
			Page: dashboard.Page{Title: "Open an account", Problems: wrong}, Company: wish.Company, Name: wish.Name, Email: wish.Email,
		}
		return render(c, statusOfWrong(c, err), dashboard.SignUp(page))
	}
	if err != nil {
		return err
	}
	return s.letterSent(c)
}

func (s *Server) showVerify(c echo.Context) error {
	email, err := s.Service.CheckSignUp(c.Request().Context(), s.letterToken(c))
	if err != nil {
		return s.linkGone(c, err)
	}
	return render(c, http.StatusOK, dashboard.Verify(dashboard.VerifyPage{Page: dashboard.Page{Title: "Open your account"}, Email: email}))
}

// verify opens the account and signs its owner in.
func (s *Server) verify(c echo.Context) error {
	ctx := c.Request().Context()
	token, err := s.Service.OpenAccount(ctx, s.letterToken(c), c.FormValue("password"), s.newcomer(c))
	if wrong, ok := wrongFields(err, "password"); ok {
		email, checkErr := s.Service.CheckSignUp(ctx, s.letterToken(c))
		if checkErr != nil {
			return s.linkGone(c, checkErr)
		}
		page := dashboard.VerifyPage{Page: dashboard.Page{Title: "Open your account", Problems: wrong}, Email: email}
		return render(c, statusOfWrong(c, err), dashboard.Verify(page))
	}
	if err != nil {
		return s.linkGone(c, err)
	}
	return s.enter(c, verifyPath, token)
}
