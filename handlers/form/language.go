package form

import (
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/labstack/echo/v4"
	"golang.org/x/text/language"

	"candor/internal/domain"
	"candor/views/i18n"
)

// languageCookie keeps the language that a customer has chosen for a form.
const languageCookie = "candor_language"

// speak answers this request in that language.
func speak(c echo.Context, l domain.Language) {
	c.SetRequest(c.Request().WithContext(i18n.In(c.Request().Context(), l)))
}

// GuessLanguage is the middleware that answers in the language that the browser asks for, or the
// address, until it is known whose form it is and which languages it offers.
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

// speakTo answers in the language that the visitor of a form has chosen of
// those offered, or else in the one that the browser asks for.
func (s *Server) speakTo(c echo.Context, offered []domain.Language) {
	for _, name := range s.formCookieNames(languageCookie) {
		if cookie, err := c.Cookie(name); err == nil && slices.Contains(offered, domain.Language(cookie.Value)) {
			speak(c, domain.Language(cookie.Value))
			return
		}
	}
	speak(c, preferred(c.Request(), offered))
}

// preferred is the language of those offered that the browser asks for,
// English for none. One that merely resembles it won't do: who reads
// Traditional Chinese may rather have English than Simplified Chinese.
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

// matchers keeps the matcher of each choice of languages, since making one takes
// more than ten times as long as asking it.
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

// chooseLanguage takes the language that a link on the page asks for, and
// reports whether one did: the page then comes without that in its address.
func (s *Server) chooseLanguage(c echo.Context, v *visit) (bool, error) {
	asked := domain.Language(c.QueryParam("lang"))
	if c.Request().Method != http.MethodGet || !slices.Contains(v.Account.Languages(), asked) {
		return false, nil
	}
	c.SetCookie(s.Cookies.New(languageCookie, string(asked), formURL(v.Session.ID), int(longestAccess/time.Second)))
	return true, c.Redirect(http.StatusSeeOther, c.Request().URL.Path)
}
