package dashboard

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	view "candor/views/dashboard"
)

// ShowErase asks which of a customer's sessions to erase.
func (s *Server) ShowErase(c echo.Context, v *Visit, id domain.SessionID) error {
	return s.erasePage(c, v, id, []string{id.String()}, nil)
}

func (s *Server) erasePage(c echo.Context, v *Visit, id domain.SessionID, chosen []string, errs form.Errors) error {
	same, err := s.Sessions.SameCustomer(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	if same[0].CustomerErasedAt != nil {
		return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "sessions/"+id.String()))
	}
	page := view.ErasePage{Page: s.page(v, "Delete a customer’s data"), Sessions: same, Chosen: chosen,
		Confirm: c.FormValue("confirm")}
	page.Errors = view.ErrorItems(errs)
	return web.Render(c, pageStatus(errs), view.Erase(page))
}

// EraseCustomer erases the chosen sessions and shows the receipt.
func (s *Server) EraseCustomer(c echo.Context, v *Visit, id domain.SessionID) error {
	form, err := web.FormValues(c)
	if err != nil {
		return err
	}
	var chosen []domain.SessionID
	for _, text := range form["sessions"] {
		one, err := domain.ParseSessionID(text)
		if err != nil {
			return echo.ErrNotFound
		}
		chosen = append(chosen, one)
	}
	err = s.Sessions.Erase(c.Request().Context(), v.Scope, id, chosen, c.FormValue("confirm"), v.Actor)
	if errs := web.ValidationErrors(err); errs != nil {
		return s.erasePage(c, v, id, form["sessions"], errs)
	}
	if err != nil {
		return err
	}
	s.Notices.Leave(c, "customer_erased")
	if len(chosen) > 0 {
		id = chosen[0]
	}
	return c.Redirect(http.StatusSeeOther, view.URL(v.Scope.Livemode, "sessions/"+id.String()))
}

// DownloadReceipt answers with the receipt for erased data as a text file.
func (s *Server) DownloadReceipt(c echo.Context, v *Visit, id domain.SessionID) error {
	receipt, err := s.Sessions.Erasure(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, line := range [][2]string{
		{"Receipt for deleted data", receipt.ID.String()},
		{"Account", v.Staff.AccountName},
		{"Mode", view.ModeName(v.Scope.Livemode)},
		{"Session", receipt.SessionID.String()},
		{"State before", string(receipt.FormerStatus)},
		{"Deleted at", web.Stamp(&receipt.At, v.Staff.Zone())},
		{"Deleted by", receipt.ByName},
		{"Deleted", view.ErasedThings(receipt)},
		{"Also deleted", "name, email address, reference, metadata and webhook URL of the session"},
	} {
		fmt.Fprintf(&text, "%s: %s\n", line[0], line[1])
	}
	return web.BytesFile("text/plain; charset=utf-8", "erasure_"+receipt.SessionID.String()+".txt", []byte(text.String())).Respond(c)
}
