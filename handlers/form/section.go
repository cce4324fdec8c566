package form

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
	view "candor/views/form"
)

// sectionOf is the name of the section: the last part of the route.
func sectionOf(c echo.Context) string { return path.Base(c.Path()) }

// ShowSection shows a section as the customer left it.
func (s *Server) ShowSection(c echo.Context, v *visit) error {
	name := sectionOf(c)
	page := s.sectionPage(c, v, v.Section(name))
	page.Notice = suggested(c.Request().Context(), v, name)
	return web.Render(c, http.StatusOK, view.Section(page))
}

func (s *Server) sectionPage(c echo.Context, v *visit, section *form.Section) view.SectionPage {
	return view.SectionPage{
		Page: s.page(v), Section: section, Action: actionURL(c, v, section.Name), Returning: returning(c),
	}
}

// suggested is the notice about answers that were filled in for the customer
// (D20).
func suggested(ctx context.Context, v *visit, name string) string {
	if _, begun := v.Sections[name]; begun {
		return ""
	}
	if name == statement.PersonalDetailsSection || len(v.Statement.Prefill[name]) > 0 {
		return view.PrefilledNotice(ctx, v.Account.Name)
	}
	switch name {
	case statement.LiabilitiesSection:
		if v.Statement.Liabilities.Total() > 0 {
			return view.SuggestedNotice(ctx)
		}
	case statement.ExpensesSection:
		if v.Statement.Liabilities.Repayments() > 0 {
			return view.RepaymentsNotice(ctx)
		}
	}
	return ""
}

// AnswerSection takes a section's form (D47).
func (s *Server) AnswerSection(c echo.Context, v *visit) error {
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	section := v.Empty(sectionOf(c))
	action := values.Get("action")
	if list, ok := strings.CutPrefix(action, view.ActionAdd); ok {
		return s.addItem(c, v, section, values, list)
	}
	if item, ok := strings.CutPrefix(action, view.ActionRemove); ok {
		return s.removeItem(c, v, section, values, item)
	}
	switch action {
	case "", view.ActionContinue:
		return s.completeSection(c, v, section, values)
	case view.ActionSave:
		return s.saveForLater(c, v, section, values)
	case view.ActionTotal:
		section.Read(values)
		return web.Render(c, http.StatusOK, view.Section(s.sectionPage(c, v, section)))
	}
	return errUnknownAction
}

var errUnknownAction = domain.Errorf(domain.CodeInvalidRequest, "The page has no such button.")

// completeSection saves valid answers and leads on. It shows invalid ones again
// and keeps them as a draft, so that nothing is lost.
func (s *Server) completeSection(c echo.Context, v *visit, section *form.Section, values url.Values) error {
	ctx := c.Request().Context()
	if errs := section.Decode(values); len(errs) > 0 {
		if err := s.Forms.SaveDraft(ctx, v.Session.ID, section, errs); err != nil {
			return err
		}
		page := s.sectionPage(c, v, section)
		page.Errors = errs
		return web.Render(c, http.StatusUnprocessableEntity, view.Section(page))
	}
	if err := s.Forms.SaveSection(ctx, v.Session.ID, section); err != nil {
		return err
	}
	return s.next(c, v, section.Name)
}

// saveForLater keeps the answers, valid or not, and leads to the hub. It never
// completes a section, since the customer may not be finished. A completed
// section stays completed if its answers are still valid.
func (s *Server) saveForLater(c echo.Context, v *visit, section *form.Section, values url.Values) error {
	section.Read(values)
	save := func(ctx context.Context, id domain.SessionID, section *form.Section) error {
		return s.Forms.SaveDraft(ctx, id, section, nil)
	}
	if v.Sections[section.Name].Completed {
		if whole := v.Empty(section.Name); len(whole.Decode(values)) == 0 {
			section, save = whole, s.Forms.SaveSection
		}
	}
	if err := save(c.Request().Context(), v.Session.ID, section); err != nil {
		return err
	}
	s.leaveNotice(c, v.Session.ID, "saved", "")
	return c.Redirect(http.StatusSeeOther, formURL(v.Session.ID))
}

func (s *Server) addItem(c echo.Context, v *visit, section *form.Section, values url.Values, name string) error {
	section.Read(values)
	if input, added := section.AddAmount(name); added {
		return s.showChanged(c, v, section, input)
	}
	list := section.List(name)
	if list == nil {
		return errUnknownAction
	}
	focus := list.Name
	if i, added := list.Add(); added {
		focus = view.FirstInput(list, i)
		v.announce = view.ItemAdded(c.Request().Context(), list, i)
	}
	return s.showChanged(c, v, section, focus)
}

func (s *Server) removeItem(c echo.Context, v *visit, section *form.Section, values url.Values, item string) error {
	section.Read(values)
	name, number, _ := strings.Cut(item, ".")
	list := section.List(name)
	if list == nil {
		return errUnknownAction
	}
	focus := list.Name
	if i, err := strconv.Atoi(number); err == nil && list.Remove(i) {
		focus = view.AfterRemoval(list, i)
		if list.Len() == 0 {
			section.Untick(list.Name)
		}
		v.announce = view.ItemRemoved(c.Request().Context(), list, i)
	}
	return s.showChanged(c, v, section, focus)
}

// showChanged stores a section whose list has changed and shows it again.
func (s *Server) showChanged(c echo.Context, v *visit, section *form.Section, focus string) error {
	if err := s.Forms.SaveDraft(c.Request().Context(), v.Session.ID, section, nil); err != nil {
		return err
	}
	page := s.sectionPage(c, v, section)
	page.Focus = focus
	return web.Render(c, http.StatusOK, view.Section(page))
}
