package form

import (
	"net/http"
	"net/url"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/language"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/statement"
	"candor/views/i18n"
)

// languageCookie keeps the customer's choice of language for a form.
const languageCookie = "candor_language"

// speak sets the language of the response.
func speak(c echo.Context, l domain.Language) {
	c.SetRequest(c.Request().WithContext(i18n.In(c.Request().Context(), l)))
}

// GuessLanguage is the middleware that sets the language to the one of the
// address, or else of the browser. A form's own languages are known later.
func GuessLanguage(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		offered := domain.Languages[:]
		asked := domain.Language(c.QueryParam("lang"))
		if !slices.Contains(offered, asked) {
			asked = preferred(c.Request(), offered)
		}
		speak(c, asked)
		return next(c)
	}
}

// speakTo sets the language to the customer's choice in this browser, else to the one that the
// partner chose (D57), else to the browser's. A form's account can stop offering
// either of the first two.
func (s *Server) speakTo(c echo.Context, v *visit) {
	offered := v.Account.Languages()
	for _, name := range s.formCookieNames(languageCookie) {
		if cookie, err := c.Cookie(name); err == nil && slices.Contains(offered, domain.Language(cookie.Value)) {
			speak(c, domain.Language(cookie.Value))
			return
		}
	}
	if of := v.Session.Language; of != nil && slices.Contains(offered, *of) {
		speak(c, *of)
		return
	}
	speak(c, preferred(c.Request(), offered))
}

// keepTime shows instants on the clock of the state that the customer lives in,
// as the PDF does. Until it is known, pages show the device's.
func keepTime(c echo.Context, answers *statement.Statement) {
	if answers == nil {
		return // the session is closed, or its answers are read later
	}
	if zone, known := answers.Personal.Address.Zone(); known {
		c.SetRequest(c.Request().WithContext(i18n.At(c.Request().Context(), zone)))
	}
}

// preferred is the offered language that the browser asks for, English for
// none. A similar one doesn't count: a reader of Traditional Chinese may prefer
// English to Simplified Chinese.
func preferred(r *http.Request, offered []domain.Language) domain.Language {
	if len(offered) < 2 {
		return domain.English
	}
	asked, _, err := language.ParseAcceptLanguage(r.Header.Get("Accept-Language"))
	if err != nil {
		return domain.English
	}
	_, i, confidence := matcherOf(offered).Match(asked...)
	if confidence < language.High {
		return domain.English
	}
	return offered[i]
}

// matchers keeps a matcher for each choice of languages: making one takes ten
// times as long as using it.
var matchers sync.Map

func matcherOf(offered []domain.Language) language.Matcher {
	var key [len(domain.Languages)]domain.Language
	copy(key[:], offered)
	if kept, ok := matchers.Load(key); ok {
		return kept.(language.Matcher)
	}
	tags := make([]language.Tag, len(offered))
	for i, l := range offered {
		tags[i] = language.MustParse(string(l))
	}
	made := language.NewMatcher(tags)
	matchers.Store(key, made)
	return made
}

// chooseLanguage stores the language that a link on the page asks for, and
// reports whether there was one. It then redirects to the page's plain address.
func (s *Server) chooseLanguage(c echo.Context, v *visit) (bool, error) {
	asked := domain.Language(c.QueryParam("lang"))
	if c.Request().Method != http.MethodGet || !v.offers(asked) {
		return false, nil
	}
	if err := s.keepLanguage(c, v, asked); err != nil {
		return true, err
	}
	query := c.QueryParams()
	query.Del("lang")
	plain := url.URL{Path: c.Request().URL.Path, RawQuery: query.Encode()}
	return true, c.Redirect(http.StatusSeeOther, plain.String())
}

// offers reports whether the account offers its forms in the language.
func (v *visit) offers(l domain.Language) bool { return slices.Contains(v.Account.Languages(), l) }

// keepLanguage keeps the customer's choice in the browser, and for emails (D125).
func (s *Server) keepLanguage(c echo.Context, v *visit, l domain.Language) error {
	c.SetCookie(s.Cookies.New(languageCookie, string(l), formURL(v.Session.ID), int(longestAccess/time.Second)))
	return s.Forms.ChooseLanguage(c.Request().Context(), v.Session, l)
}

// switchLanguage shows a saved page in another language. All of it changes, so htmx
// must load it, too.
func (s *Server) switchLanguage(c echo.Context, v *visit, url string, l domain.Language) error {
	if err := s.keepLanguage(c, v, l); err != nil {
		return err
	}
	s.leaveSaved(c, v, "")
	if web.Enhanced(c) {
		c.Response().Header().Set("HX-Redirect", url)
		return c.NoContent(http.StatusOK)
	}
	return c.Redirect(http.StatusSeeOther, url)
}
