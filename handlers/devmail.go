package handlers

import (
	"net/http"
	"regexp"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/platform/mail"
	view "candor/views/dashboard"
)

// DevMail holds the emails that development stores instead of sending.
type DevMail interface {
	// Emails returns them, latest first.
	Emails() ([]mail.Message, error)
}

var webAddress = regexp.MustCompile(`https?://\S+`)

// showDevMail lists these emails. The route exists only in development.
func (s *server) showDevMail(c echo.Context) error {
	messages, err := s.DevMail.Emails()
	if err != nil {
		return err
	}
	var emails []view.DevEmail
	for _, m := range messages {
		e := view.DevEmail{To: m.To, Subject: m.Subject, SentAt: m.SentAt, Parts: textParts(m.Text)}
		for _, a := range m.Attachments {
			e.Files = append(e.Files, a.Name)
		}
		emails = append(emails, e)
	}
	return web.Render(c, http.StatusOK, view.DevMail(view.Page{Title: "Emails that weren’t sent"}, emails))
}

// textParts finds the addresses in a text, so that they can be clicked.
func textParts(text string) []view.TextPart {
	var out []view.TextPart
	at := 0
	for _, found := range webAddress.FindAllStringIndex(text, -1) {
		address := text[found[0]:found[1]]
		out = append(out, view.TextPart{Text: text[at:found[0]]}, view.TextPart{Text: address, URL: address})
		at = found[1]
	}
	return append(out, view.TextPart{Text: text[at:]})
}
