package handlers

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
	"candor/views/dashboard"
)

// showKeys lists the mode's API keys.
func (s *Server) showKeys(c echo.Context, v *staffVisit) error {
	return s.keysPage(c, v, http.StatusOK, domain.KeyID{}, nil)
}

// keysPage lists the keys; wrong is about the form of the key at.
func (s *Server) keysPage(c echo.Context, v *staffVisit, status int, at domain.KeyID, wrong form.Errors) error {
	keys, err := s.Service.APIKeys(c.Request().Context(), v.Scope)
	if err != nil {
		return err
	}
	page := dashboard.KeysPage{Page: s.staffPageOf(v, "API keys"), Keys: keys, Open: at}
	for _, w := range wrong {
		w.Field += "-" + at.String()
		page.Problems = append(page.Problems, errorItems(form.Errors{w})...)
	}
	return render(c, status, dashboard.Keys(page))
}

// showNewKey asks what a key is for.
func (s *Server) showNewKey(c echo.Context, v *staffVisit) error {
	return render(c, http.StatusOK, dashboard.NewKey(dashboard.NewKeyPage{Page: s.staffPageOf(v, "New API key"), Full: true}))
}

// createKey makes a key and shows it, this once: in the answer to the POST, so
// that no page that can be loaded again has it.
func (s *Server) createKey(c echo.Context, v *staffVisit) error {
	values, err := formValues(c)
	if err != nil {
		return err
	}
	page := dashboard.NewKeyPage{
		Page: s.staffPageOf(v, "New API key"), Name: values.Get("name"), Full: values.Get("access") != "restricted",
		Permissions: values["permissions"], Expires: values.Get("expires_at"), Networks: values.Get("networks"),
	}
	wish := service.NewKey{Name: page.Name, Networks: page.Networks}
	if !page.Full {
		wish.Permissions = domain.Permissions{}
		for _, p := range page.Permissions {
			wish.Permissions = append(wish.Permissions, domain.Permission(p))
		}
	}
	day, wrong := dayIn("expires_at", strings.TrimSpace(page.Expires), nil)
	if day != nil {
		end := day.AddDate(0, 0, 1) // the day itself included, UTC
		wish.ExpiresAt = &end
	}
	if wrong == nil {
		var key domain.APIKey
		var text string
		key, text, err = s.Service.CreateAPIKey(c.Request().Context(), v.Scope, v.actor, wish)
		if err == nil {
			return s.showKeyOnce(c, v, dashboard.KeyOncePage{Key: key, Text: text})
		}
		wrong = problems(err)
	}
	if wrong == nil {
		return err
	}
	page.Problems = errorItems(wrong)
	return render(c, http.StatusUnprocessableEntity, dashboard.NewKey(page))
}

// showKeyOnce shows a new key.
func (s *Server) showKeyOnce(c echo.Context, v *staffVisit, page dashboard.KeyOncePage) error {
	page.Page, page.BaseURL = s.staffPageOf(v, "Copy your API key"), s.BaseURL
	return render(c, http.StatusOK, dashboard.KeyOnce(page))
}

// renameKey gives a key another name.
func (s *Server) renameKey(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseKeyID(c.Param("key"))
	if err != nil {
		return echo.ErrNotFound
	}
	err = s.Service.RenameAPIKey(c.Request().Context(), v.Scope, v.actor, id, c.FormValue("name"))
	return s.changedKey(c, v, id, err, "key_renamed")
}

// rotateKey makes a key in the place of another and shows it, this once.
func (s *Server) rotateKey(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseKeyID(c.Param("key"))
	if err != nil {
		return echo.ErrNotFound
	}
	overlap, err := time.ParseDuration(c.FormValue("overlap"))
	if err != nil {
		overlap = -1 // refused below
	}
	rotation, err := s.Service.RotateAPIKey(c.Request().Context(), v.Scope, v.actor, id, overlap)
	if err != nil {
		return s.changedKey(c, v, id, err, "")
	}
	return s.showKeyOnce(c, v, dashboard.KeyOncePage{Key: rotation.Key, Text: rotation.Text, OldUntil: &rotation.OldUntil, Again: rotation.Again})
}

// deleteKey deletes a key whose name was typed.
func (s *Server) deleteKey(c echo.Context, v *staffVisit) error {
	id, err := domain.ParseKeyID(c.Param("key"))
	if err != nil {
		return echo.ErrNotFound
	}
	err = s.Service.DeleteAPIKey(c.Request().Context(), v.Scope, v.actor, id, c.FormValue("typed_name"))
	return s.changedKey(c, v, id, err, "key_deleted")
}

// changedKey leads back to the keys, which say what was done, or shows them
// again with what is wrong.
func (s *Server) changedKey(c echo.Context, v *staffVisit, id domain.KeyID, err error, notice string) error {
	if wrong := problems(err); wrong != nil {
		return s.keysPage(c, v, http.StatusUnprocessableEntity, id, wrong)
	}
	if err != nil {
		return err
	}
	s.leaveStaffNotice(c, notice)
	return c.Redirect(http.StatusSeeOther, dashboard.URL(v.Scope.Livemode, "keys"))
}
