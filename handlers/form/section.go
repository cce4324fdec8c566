package form

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/forms"
	"candor/internal/statement"
	view "candor/views/form"
)

// sectionOf is the name of the section: the last part of the route.
func sectionOf(c echo.Context) string { return path.Base(c.Path()) }

// ShowSection shows a section as the customer left it.
func (s *Server) ShowSection(c echo.Context, v *visit) error {
	name := sectionOf(c)
	page := s.sectionPage(c, v, v.Section(name))
	page.Notice = suggested(c.Request().Context(), v, page.Section)
	return web.Render(c, http.StatusOK, view.Section(page))
}

func (s *Server) sectionPage(c echo.Context, v *visit, section *form.Section) view.SectionPage {
	return view.SectionPage{
		Page: s.page(v), Section: section, Asked: v.Asks[section.Name], Known: known(v, section.Name),
		Action: actionURL(c, v, sectionOf(c)), Returning: returning(c), Abroad: v.Statement.Personal.Address.Abroad(),
	}
}

// suggested is the notice about answers that were filled in for the customer
// (D20).
func suggested(ctx context.Context, v *visit, section *form.Section) string {
	name := section.Name
	_, begun := v.Sections[name]
	switch {
	case begun || section.Outdated:
		return ""
	case v.Statement.Offers[name].Filled():
		return view.OfferedNotice(ctx, section.Followed)
	case section.Shows(v.Statement.Prefill[name]):
		return view.PrefilledNotice(ctx, v.Account.Name)
	}
	switch name {
	case statement.LiabilitiesSection:
		if v.Statement.Liabilities.Total() > 0 {
			return view.SuggestedNotice(ctx)
		}
	case statement.ExpensesSection:
		if v.Statement.Liabilities.Repayments() > 0 {
			return view.RepaymentsNotice(ctx, v.Statement.Liabilities.CardUse().Part > 0)
		}
	}
	return ""
}

// maxWas is how many states of the page an edit can replace: the last one that
// the page knows to be stored, and those it sent since.
const maxWas = 4

// AnswerSection takes a section's form (D47). What other tabs and devices saved
// since the page was loaded is kept: see form.Merge.
func (s *Server) AnswerSection(c echo.Context, v *visit) error {
	name := sectionOf(c)
	values, err := web.ShortForm(c, mostBytes(name))
	if err != nil {
		return err
	}
	action, target, _ := strings.Cut(values.Get("action"), ":")
	change, err := readChange(v, values, action, target)
	if err != nil {
		return err
	}
	if action == view.ActionAutosave {
		defer s.awaitTurn()()
	}
	done, err := s.Forms.Edit(c.Request().Context(), v.State, name, change)
	if err != nil {
		return err
	}
	v.followed = done.Followed
	if v.followed && (action == view.ActionLanguage || action == view.ActionEvidence) { // Save and Continue leave it themselves
		s.leaveSaved(c, v, "")
	}
	switch {
	case len(done.Refused)+len(done.Conflicts) > 0:
		return s.showEdited(c, v, action, done)
	case action == view.ActionLanguage:
		return s.switchLanguage(c, v, actionURL(c, v, name), domain.Language(target))
	case action == view.ActionEvidence:
		return c.Redirect(http.StatusSeeOther, evidenceURL(c, v, name, target))
	case action == view.ActionSave:
		s.leaveSaved(c, v, "")
		return c.Redirect(http.StatusSeeOther, formURL(v.Session.ID))
	case change.Action == forms.Complete:
		return s.next(c, v, name)
	}
	return s.showEdited(c, v, action, done)
}

// showEdited shows the section after an edit that doesn't lead on.
func (s *Server) showEdited(c echo.Context, v *visit, action string, done *forms.Edited) error {
	ctx := c.Request().Context()
	page := s.sectionPage(c, v, done.Section)
	status := http.StatusOK
	switch {
	case len(done.Conflicts) > 0:
		page.Collisions, page.Stored, page.Was = done.Conflicts, done.Stored, done.Base.Encode()
		if action != view.ActionAutosave {
			status = http.StatusUnprocessableEntity
		}
	case len(done.Refused) > 0:
		page.Errors, status = done.Refused, http.StatusUnprocessableEntity
	case done.List == nil:
		page.Focus = done.At
	case done.Removed:
		page.Focus, page.Announce = view.AfterRemoval(done.List, done.Item), view.ItemRemoved(ctx, done.List, done.Item)
	default:
		page.Focus, page.Announce = view.FirstInput(done.List, done.Item), view.ItemAdded(ctx, done.List, done.Item)
	}
	return web.Render(c, status, view.Section(page))
}

// awaitTurn waits until fewer automatic saves are under way, but not for long. The
// caller calls done.
func (s *Server) awaitTurn() (done func()) {
	select {
	case s.saving <- struct{}{}:
		return func() { <-s.saving }
	case <-time.After(saveWait):
		return func() {}
	}
}

// withoutList is above what a section without a list takes: its longest answers
// in the script that takes most bytes, with maxWas times what they replace, are
// 109 KB.
const withoutList = 256 << 10

// mostBytes is how long a section's form can be.
func mostBytes(section string) int64 {
	described := new(statement.Statement).Section(section, time.Time{})
	if slices.ContainsFunc(described.Groups, func(g form.Group) bool { return g.List != nil }) {
		return web.MaxFormBytes
	}
	return withoutList
}

var errUnknownAction = domain.Errorf(domain.CodeInvalidRequest, "The page has no such button.")

// actions are what the page's buttons ask for, by what is before the colon of their value.
var actions = map[string]forms.Action{
	"":                    forms.Complete,
	view.ActionContinue:   forms.Complete,
	view.ActionSave:       forms.Save,
	view.ActionLanguage:   forms.Save,
	view.ActionEvidence:   forms.Save,
	view.ActionAutosave:   forms.Autosave,
	view.ActionKeep:       forms.Keep,
	view.ActionTake:       forms.Keep,
	view.ActionUnion:      forms.Keep,
	view.ActionFillIn:     forms.FillIn,
	view.ActionAdd:        forms.Add,
	view.ActionRemove:     forms.Remove,
	view.ActionAddMissing: forms.AddMissing,
}

// readChange reads a section's form. The button's value is its action and target.
func readChange(v *visit, values url.Values, action, target string) (forms.Change, error) {
	does, known := actions[action]
	if !known {
		return forms.Change{}, errUnknownAction
	}
	change := forms.Change{Edit: form.Edit{Ours: values}, Action: does, Target: target}
	for i, was := range values["was"] {
		replaced, err := url.ParseQuery(was)
		if err != nil || i == maxWas {
			return change, web.Unreadable(errors.New("the page does not say what it replaces"))
		}
		change.Bases = append(change.Bases, replaced)
	}
	switch action {
	case view.ActionKeep, view.ActionTake:
		seen, err := url.ParseQuery(strings.Join(values["seen"], "&"))
		if err != nil {
			return change, web.Unreadable(err)
		}
		change.Resolve(target, seen, action == view.ActionTake)
	case view.ActionUnion:
		change.Union, change.Target = target, ""
	case view.ActionEvidence:
		if !statement.KnownCategory(target) {
			return change, errUnknownAction
		}
	case view.ActionLanguage:
		if !v.offers(domain.Language(target)) {
			return change, errUnknownAction
		}
	}
	return change, nil
}
