package form

import (
	"net/http"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/form"
	"candor/internal/service/forms"
	"candor/internal/statement"
	view "candor/views/form"
	"candor/views/i18n"
)

// ShowDeclaration shows all answers for checking, and the signature if every
// section is finished (D16).
func (s *Server) ShowDeclaration(c echo.Context, v *visit) error {
	page := s.checkPage(v, forms.Signature{Confirmed: v.Confirmed})
	if len(page.Unfinished) == 0 {
		page.Focus = v.focus // else the page opens at its top, where it says what isn't finished
	}
	return web.Render(c, http.StatusOK, view.Check(page))
}

func (s *Server) checkPage(v *visit, signed forms.Signature) view.CheckPage {
	page := view.CheckPage{
		Page: s.page(v), Documents: v.Statement.Documents, Action: sectionURL(v.Session.ID, statement.DeclarationSection),
		DocumentsURL: sectionURL(v.Session.ID, statement.DocumentsSection) + checking, Asked: v.Asks[statement.DocumentsSection],
		Declaration: v.Statement.Section(statement.DeclarationSection, s.Clock.Now()),
		Shown:       v.Digest(),
	}
	page.Changed = signed.Shown != "" && signed.Shown != page.Shown
	for _, name := range v.Unfinished() {
		page.Unfinished = append(page.Unfinished, task(v, name))
	}
	for _, section := range v.Statement.Sections(s.Clock.Now()) {
		if section.Name == statement.DeclarationSection {
			continue
		}
		if own := v.Sections[section.Name]; own.Completed && own.Draft == nil {
			section = v.Section(section.Name) // which keeps a typed 0 apart from an empty answer
		}
		page.Sections = append(page.Sections, view.CheckedSection{
			Section: section, ChangeURL: sectionURL(v.Session.ID, section.Name) + checking,
		})
	}
	page.Summary = v.Statement.Summary()
	s.ask(&page, v, signed)
	return page
}

// ask asks about the odd answers of finished sections, and about the name that is signed
// with, unless it is refused.
func (s *Server) ask(page *view.CheckPage, v *visit, signed forms.Signature) {
	if len(page.Unfinished) == 0 {
		page.Doubts = slices.DeleteFunc(v.Statement.Doubts(s.Clock.Now()), func(d statement.Doubt) bool {
			return d.Code == statement.SignatureName && page.Errors.For("full_name") != ""
		})
		page.Confirmed, page.Unconfirmed = signed.Confirmed, signed.Unconfirmed(page.Doubts)
	}
}

// Sign signs and submits the form (D16). If the signature is invalid, an odd
// answer that the page asked about isn't confirmed, or the answers aren't those that it
// showed, the page shows what was typed, but only the ticks of odd answers are stored. A
// script sends each of those at once.
func (s *Server) Sign(c echo.Context, v *visit) error {
	values, err := web.FormValues(c)
	if err != nil {
		return err
	}
	signature := forms.Signature{Browser: v.Browser, Language: i18n.Language(c.Request().Context()),
		Asked: values.Has(view.AskedInput), Confirmed: values[view.RightInput], Shown: values.Get(view.ShownInput)}
	page := s.checkPage(v, signature)
	ctx := c.Request().Context()
	ticked := slices.DeleteFunc(slices.Clone(signature.Confirmed), func(key string) bool {
		return !slices.ContainsFunc(page.Doubts, func(d statement.Doubt) bool { return d.Key() == key })
	})
	if values.Get("action") == view.ActionConfirm {
		if err := s.Forms.Confirm(ctx, v.Session, ticked); err != nil {
			return err
		}
		return c.NoContent(http.StatusNoContent)
	}
	page.Errors = page.Declaration.Decode(values)
	s.ask(&page, v, signature)
	if len(page.Errors)+len(page.Unfinished)+len(page.Unconfirmed) == 0 && !page.Changed {
		signature.Declaration = v.Statement.Declaration
		return s.submit(c, v, signature)
	}
	if len(page.Unfinished) == 0 {
		if err := s.Forms.CountErrors(ctx, v.Session.ID, statement.DeclarationSection,
			slices.Concat(page.Errors, unconfirmed(page.Unconfirmed))); err != nil {
			return err
		}
		if err := s.Forms.Confirm(ctx, v.Session, ticked); err != nil {
			return err
		}
	}
	return s.showInvalid(c, page)
}

// unconfirmed are the odd answers that weren't confirmed, as they are counted and told to staff: what
// is odd would tell an answer.
func unconfirmed(doubts []statement.Doubt) (errs form.Errors) {
	for _, d := range doubts {
		section, _, _ := strings.Cut(d.Path, ".")
		errs = append(errs, form.Error{Field: "confirmations." + section,
			Message: "Confirm or change what is asked about " + statement.Title(section)})
	}
	return errs
}

// submit hands the decoded declaration to the service, which checks again
// under its lock: another tab may have changed a section since.
func (s *Server) submit(c echo.Context, v *visit, signature forms.Signature) error {
	ctx := c.Request().Context()
	err := s.Forms.Submit(ctx, v.Session, signature)
	if web.ValidationErrors(err) != nil {
		if err := v.reload(ctx, s.Forms); err != nil {
			return err
		}
		if !v.Session.Status.Open() {
			return s.showClosed(c, v)
		}
		v.Statement.Declaration = signature.Declaration
		return s.showInvalid(c, s.checkPage(v, signature))
	}
	if err != nil {
		return err
	}
	v.signed = s.Clock.Now()
	if err := s.grant(c, v.Session.ID, v.pass); err != nil {
		return err
	}
	return c.Redirect(http.StatusSeeOther, formURL(v.Session.ID))
}

// showInvalid shows the check page again. Errors of the signature are left out
// while the page has no fields for it.
func (s *Server) showInvalid(c echo.Context, page view.CheckPage) error {
	if len(page.Unfinished) > 0 {
		page.Errors = form.Errors(nil)
	}
	return web.Render(c, http.StatusUnprocessableEntity, view.Check(page))
}
