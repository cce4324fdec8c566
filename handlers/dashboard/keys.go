package dashboard

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/keys"
	view "candor/views/dashboard"
)

// ShowKeys lists the mode's API keys.
func (s *Server) ShowKeys(c echo.Context, v *Visit) error {
	keys, err := s.Keys.List(c.Request().Context(), v.Scope)
	if err != nil {
		return err
	}
	page := view.KeysPage{Page: s.page(v, "API keys"), Keys: keys}
	if page.New, err = s.Keys.NewNetworks(c.Request().Context(), v.Scope); err != nil {
		return err
	}
	team, err := s.Team.List(c.Request().Context(), v.Scope.AccountID)
	if err != nil {
		return err
	}
	page.Outgrown = outgrown(keys, team, s.Clock.Now())
	return web.Render(c, http.StatusOK, view.Keys(page))
}

// outgrown are the keys that still work and that the person who made them couldn't make
// now (D93). Keys that operators made are not among them.
func outgrown(keys []domain.APIKey, team []domain.TeamMember, now time.Time) (out []view.OutgrownKey) {
	makers := map[string]*domain.Staff{}
	for i := range team {
		makers[team[i].Email] = &team[i].Staff
	}
	for _, k := range keys {
		maker := makers[k.CreatedBy]
		ended := k.ExpiresAt != nil && !k.ExpiresAt.After(now)
		byStaff := strings.Contains(k.CreatedBy, "@") // the name of a staff user is the email address
		if byStaff && !ended && (maker == nil || !maker.Grantable().Cover(k.Permissions)) {
			out = append(out, view.OutgrownKey{ID: k.ID, Maker: k.CreatedBy, Left: maker == nil})
		}
	}
	return out
}

// ShowNewKey shows the form for a new key.
func (s *Server) ShowNewKey(c echo.Context, v *Visit) error {
	return web.Render(c, http.StatusOK, view.NewKey(view.NewKeyPage{Page: s.page(v, "New API key"),
		KeyFields: view.KeyFields{Full: true}}))
}

// fullAndPermissions answers a form that asks for two keys in one.
const fullAndPermissions = "You ticked permissions and chose a key that can do everything. Choose “Only what is ticked here”, or untick them"

// keyFields reads the form of a key. kept is the end of the key that it changes: the day
// that stands in the form means it.
func (s *Server) keyFields(c echo.Context, v *Visit, kept *time.Time) (view.KeyFields, keys.Params, form.Errors, error) {
	values, err := web.FormValues(c)
	typed := view.KeyFields{
		Name: values.Get("name"), Full: values.Get("access") == "full", Permissions: values["permissions"],
		Expires: values.Get("expires_at"), Networks: values.Get("networks"),
	}
	params := keys.Params{Name: typed.Name, Networks: typed.Networks}
	var errs form.Errors
	switch {
	case typed.Full && len(typed.Permissions) > 0: // one of the two wasn't meant
		errs = append(errs, form.Error{Field: "permissions", Message: fullAndPermissions})
	case !typed.Full:
		params.Permissions = domain.Permissions{}
		for _, p := range typed.Permissions {
			params.Permissions = append(params.Permissions, domain.Permission(p))
		}
	}
	cal := s.calendar(v)
	switch text := strings.TrimSpace(typed.Expires); {
	case text == "":
	case kept != nil && text == cal.lastDay(*kept):
		params.ExpiresAt = kept
	default:
		if day, message := cal.day("Last day it works", text, theLast); message != "" {
			errs = append(errs, form.Error{Field: "expires_at", Message: message})
		} else {
			after := cal.startOf(day, theLast)
			params.ExpiresAt = &after
		}
	}
	return typed, params, errs, err
}

// CreateKey creates a key and shows it once, in the response to the POST: no
// page that can be loaded again has it.
func (s *Server) CreateKey(c echo.Context, v *Visit) error {
	typed, params, errs, err := s.keyFields(c, v, nil)
	if err == nil && errs == nil {
		var key domain.APIKey
		var text string
		key, text, err = s.Keys.Create(c.Request().Context(), v.Scope, v.Actor, params)
		if err == nil {
			return s.showKeyOnce(c, v, view.KeyOncePage{Key: key, Text: text})
		}
		errs = web.ValidationErrors(err)
	}
	if errs == nil {
		return err
	}
	page := view.NewKeyPage{Page: s.page(v, "New API key"), KeyFields: typed}
	page.Errors = view.ErrorItems(errs)
	return web.Render(c, http.StatusUnprocessableEntity, view.NewKey(page))
}

// showKeyOnce shows a new key.
func (s *Server) showKeyOnce(c echo.Context, v *Visit, page view.KeyOncePage) error {
	page.Page, page.BaseURL = s.page(v, "Copy your API key"), s.BaseURL
	return web.Render(c, http.StatusOK, view.KeyOnce(page))
}

// ChangeKey changes what a key is called, may do and until when and from where it works.
func (s *Server) ChangeKey(c echo.Context, v *Visit, id domain.KeyID) error {
	all, err := s.Keys.List(c.Request().Context(), v.Scope)
	if err != nil {
		return err
	}
	at := slices.IndexFunc(all, func(k domain.APIKey) bool { return k.ID == id })
	if at < 0 {
		return echo.ErrNotFound
	}
	typed, params, errs, err := s.keyFields(c, v, all[at].ExpiresAt)
	if err == nil && errs == nil {
		if err = s.Keys.Change(c.Request().Context(), v.Scope, v.Actor, id, params); err == nil {
			return s.backTo(c, v, "keys/"+id.String(), nil, "key_changed")
		}
		errs = web.ValidationErrors(err)
	}
	if errs == nil {
		return err
	}
	return s.keyPage(c, v, id, view.Key, &typed, errs)
}

// RotateKey replaces a key and shows the new one once.
func (s *Server) RotateKey(c echo.Context, v *Visit, id domain.KeyID) error {
	overlap, err := time.ParseDuration(c.FormValue("overlap"))
	if err != nil {
		overlap = -1 // invalid, which the use case reports
	}
	rotation, err := s.Keys.Rotate(c.Request().Context(), v.Scope, v.Actor, id, overlap)
	if err != nil {
		return s.changedKey(c, v, id, err, "")
	}
	return s.showKeyOnce(c, v, view.KeyOncePage{Key: rotation.Key, Text: rotation.Text, OldUntil: &rotation.OldUntil,
		Again: rotation.Again})
}

// DeleteKey deletes a key if its name was typed.
func (s *Server) DeleteKey(c echo.Context, v *Visit, id domain.KeyID) error {
	err := s.Keys.Delete(c.Request().Context(), v.Scope, v.Actor, id, c.FormValue("typed_name"))
	return s.changedKey(c, v, id, err, "key_deleted")
}

// changedKey leads back to the keys with a notice, or shows the key with the errors.
func (s *Server) changedKey(c echo.Context, v *Visit, id domain.KeyID, err error, notice string) error {
	if errs := web.ValidationErrors(err); errs != nil {
		return s.keyPage(c, v, id, view.Key, nil, errs)
	}
	return s.backTo(c, v, "keys", err, notice)
}

// ShowKey shows a key with the networks that used it, and changes it.
func (s *Server) ShowKey(c echo.Context, v *Visit, id domain.KeyID) error {
	return s.keyPage(c, v, id, view.Key, nil, nil)
}

// ShowLeakedKey shows what a key was used for, and ends it.
func (s *Server) ShowLeakedKey(c echo.Context, v *Visit, id domain.KeyID) error {
	return s.keyPage(c, v, id, view.LeakedKey, nil, nil)
}

// keyPage draws a page of a key. typed is what was entered for it, nil for nothing, and
// errs are about that.
func (s *Server) keyPage(c echo.Context, v *Visit, id domain.KeyID, draw func(view.KeyPage) templ.Component,
	typed *view.KeyFields, errs form.Errors) error {
	use, err := s.Keys.Use(c.Request().Context(), v.Scope, id)
	if err != nil {
		return err
	}
	page := view.KeyPage{Page: s.page(v, "API key"), Key: use.Key, Keys: use.Keys, Networks: use.Networks, Uses: use.Uses}
	page.Of, page.Errors = use.Key.Name, view.ErrorItems(errs)
	if typed == nil {
		now := view.FieldsOf(&use.Key)
		if use.Key.ExpiresAt != nil {
			now.Expires = s.calendar(v).lastDay(*use.Key.ExpiresAt)
		}
		typed = &now
	}
	page.Fields = *typed
	return web.Render(c, pageStatus(errs), draw(page))
}
