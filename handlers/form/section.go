package form

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
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
	page.Notice = suggested(c.Request().Context(), v, name)
	return web.Render(c, http.StatusOK, view.Section(page))
}

func (s *Server) sectionPage(c echo.Context, v *visit, section *form.Section) view.SectionPage {
	return view.SectionPage{
		Page: s.page(v), Section: section, Action: actionURL(c, v, sectionOf(c)), Returning: returning(c),
	}
}

// suggested is the notice about answers that were filled in for the customer
// (D20).
func suggested(ctx context.Context, v *visit, name string) string {
	if own, begun := v.Sections[name]; begun {
		if name == statement.ExpensesSection && v.Statement.HouseholdChanged(own.Draft) {
			return view.HouseholdNotice(ctx)
		}
		return ""
	}
	if len(v.Statement.Prefill[name]) > 0 {
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

// maxWas is how many states of the page an edit can replace: the last one that
// the page knows to be stored, and those it sent since.
const maxWas = 4

// An answer is a section's form as posted, and what becomes of it.
type answer struct {
	*visit
	section string
	action  string // what comes before the colon of the button's value
	target  string // what comes after it
	edit    form.Edit

	page   view.SectionPage
	status int // 0 if the post leads on
}

// AnswerSection takes a section's form (D47). What other tabs and devices saved
// since the page was loaded is kept: see form.Merge.
func (s *Server) AnswerSection(c echo.Context, v *visit) error {
	values, err := web.ShortForm(c, mostBytes(sectionOf(c)))
	if err != nil {
		return err
	}
	a, err := newAnswer(v, sectionOf(c), values)
	if err != nil {
		return err
	}
	a.page = s.sectionPage(c, v, nil)
	ctx := c.Request().Context()
	if a.action == view.ActionAutosave {
		defer s.awaitTurn()()
	}
	if err := s.Forms.Edit(ctx, v.State, a.section, a.edit, func(m *form.Merged) (forms.Save, error) { return a.decide(ctx, m) }); err != nil {
		return err
	}
	switch {
	case a.status != 0:
		a.page.Announce = a.announce
		return web.Render(c, a.status, view.Section(a.page))
	case a.action == view.ActionLanguage:
		return s.switchLanguage(c, v, actionURL(c, v, a.section), domain.Language(a.target))
	case a.action == view.ActionEvidence:
		return c.Redirect(http.StatusSeeOther, evidenceURL(c, v, a.section, a.target))
	case a.action == view.ActionSave:
		s.leaveNotice(c, v.Session.ID, "saved", "")
		return c.Redirect(http.StatusSeeOther, formURL(v.Session.ID))
	}
	return s.next(c, v, a.section)
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

func newAnswer(v *visit, section string, values url.Values) (*answer, error) {
	a := &answer{visit: v, section: section, edit: form.Edit{Ours: values}}
	verb, target, _ := strings.Cut(values.Get("action"), ":")
	a.action, a.target = verb, target
	for i, was := range values["was"] {
		replaced, err := url.ParseQuery(was)
		if err != nil || i == maxWas {
			return nil, web.Unreadable(errors.New("the page does not say what it replaces"))
		}
		a.edit.Bases = append(a.edit.Bases, replaced)
	}
	switch verb {
	case view.ActionKeep, view.ActionTake:
		seen, err := url.ParseQuery(strings.Join(values["seen"], "&"))
		if err != nil {
			return nil, web.Unreadable(err)
		}
		a.edit.Resolve(target, seen, verb == view.ActionTake)
	case view.ActionJoin:
		a.edit.Union = target
	case view.ActionEvidence:
		if !statement.KnownCategory(target) {
			return nil, errUnknownAction
		}
	case view.ActionLanguage:
		if !v.offers(domain.Language(target)) {
			return nil, errUnknownAction
		}
	}
	return a, nil
}

// decide says what is stored of the merged section, and shown.
func (a *answer) decide(ctx context.Context, merged *form.Merged) (forms.Save, error) {
	section := a.Empty(a.section)
	section.Read(merged.Store)
	a.page.Section, a.status = section, http.StatusOK
	save := forms.Save{Section: section, Skip: a.action == view.ActionAutosave && !merged.Changed}
	if len(merged.Conflicts) > 0 {
		a.collide(merged)
		return save, nil
	}
	switch a.action {
	case "", view.ActionContinue:
		return a.complete(merged), nil
	case view.ActionSave, view.ActionLanguage, view.ActionEvidence:
		a.status = 0
		// A save never completes a section, since the customer may not be finished.
		// A completed section stays completed if its answers are still valid.
		if a.Sections[a.section].Completed {
			if whole := a.empty(); len(whole.Decode(merged.Store))+len(whole.Left()) == 0 {
				return forms.Save{Section: whole, Complete: true}, nil
			}
		}
	case view.ActionAutosave, view.ActionJoin:
	case view.ActionKeep, view.ActionTake:
		a.page.Focus = a.target
	case view.ActionTakeOnly:
		a.page.Focus = a.target
		if !section.TakeOnly(a.target) {
			return save, errUnknownAction
		}
	default:
		return save, a.changeList(ctx, section)
	}
	return save, nil
}

// empty is the section without answers, to be completed.
func (a *answer) empty() *form.Section {
	section := a.Empty(a.section)
	section.FromPage = len(a.edit.Bases) > 0
	return section
}

// collide shows the answers that were changed here and elsewhere. The others
// are stored.
func (a *answer) collide(merged *form.Merged) {
	a.page.Stored, a.page.Section = a.page.Section, a.Empty(a.section)
	a.page.Section.Read(merged.Show)
	a.page.Was, a.page.Collisions = merged.Base.Encode(), merged.Conflicts
	if a.action != view.ActionAutosave {
		a.status = http.StatusUnprocessableEntity
	}
}

// complete stores valid answers. It shows invalid ones again and keeps them as a
// draft, so that nothing is lost. Answers that are left for later are no mistakes,
// but they keep the section a draft.
func (a *answer) complete(merged *form.Merged) forms.Save {
	whole := a.empty()
	errs, left := whole.Decode(merged.Store), whole.Left()
	errs = slices.DeleteFunc(errs, func(e form.Error) bool { return slices.Contains(left, e.Field) })
	if len(errs) == 0 {
		a.status = 0
		return forms.Save{Section: whole, Complete: len(left) == 0}
	}
	a.page.Section, a.page.Errors, a.status = whole, errs, http.StatusUnprocessableEntity
	return forms.Save{Section: whole, Refused: errs}
}

// changeList adds or removes an item, or adds an amount.
func (a *answer) changeList(ctx context.Context, section *form.Section) error {
	name, number, _ := strings.Cut(a.target, ".")
	if input, added := section.AddAmount(a.target); added && a.action+":" == view.ActionAdd {
		a.page.Focus = input
		return nil
	}
	if a.action+":" == view.ActionOffer {
		if list, i := section.Take(a.target); list != nil {
			a.page.Focus = view.FirstInput(list, i)
			a.announce = view.ItemAdded(ctx, list, i)
		}
		return nil // it was added in another tab, or is gone
	}
	list := section.List(name)
	if list == nil {
		return errUnknownAction
	}
	a.page.Focus = list.Name
	switch a.action + ":" {
	case view.ActionAdd:
		if i, added := list.Add(); added {
			a.page.Focus = view.FirstInput(list, i)
			a.announce = view.ItemAdded(ctx, list, i)
		}
	case view.ActionRemove:
		// If items were added or removed elsewhere, the number means another item.
		i, err := strconv.Atoi(number)
		if same := len(a.edit.Bases) == 0 || list.Version == a.edit.Ours.Get(name+".version"); err == nil && same && list.Remove(i) {
			a.page.Focus = view.AfterRemoval(list, i)
			if list.Len() == 0 {
				section.Untick(list.Name)
			}
			a.announce = view.ItemRemoved(ctx, list, i)
		}
	default:
		return errUnknownAction
	}
	return nil
}
