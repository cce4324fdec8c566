package form

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/forms"
	"candor/internal/statement"
	view "candor/views/form"
)

// maxUploadBytes leaves room for the form around the largest file, and for
// slightly larger files, which the use case rejects by name.
const maxUploadBytes = statement.MaxDocumentBytes + 1<<20

// ShowDocuments shows the documents section.
func (s *Server) ShowDocuments(c echo.Context, v *visit) error {
	return s.renderDocuments(c, v, http.StatusOK, c.QueryParam("category"), nil)
}

// evidenceURL is the documents page as a section leads to it: the category is
// chosen, and Continue leads back.
func evidenceURL(c echo.Context, v *visit, from, category string) string {
	query := url.Values{"from": {from}, "category": {category}}
	if returning(c) {
		query.Set("return", statement.DeclarationSection)
	}
	return sectionURL(v.Session.ID, statement.DocumentsSection) + "?" + query.Encode()
}

// cameFrom is the section that led to the documents page, "" for none.
func cameFrom(c echo.Context) string {
	if from := c.QueryParam("from"); slices.Contains(statement.SectionNames[:], from) && from != statement.DocumentsSection {
		return from
	}
	return ""
}

// documentsURL is the address of the documents page, to come back to.
func documentsURL(c echo.Context, v *visit) string {
	if from := cameFrom(c); from != "" {
		return evidenceURL(c, v, from, c.QueryParam("category"))
	}
	return actionURL(c, v, statement.DocumentsSection)
}

func (s *Server) renderDocuments(c echo.Context, v *visit, status int, category string, errs form.Errors) error {
	full := len(v.Statement.Documents) >= statement.MaxDocuments
	for i := range errs {
		if full && (errs[i].Field == "file" || errs[i].Field == "category") {
			errs[i].Field = "uploaded" // these inputs aren't shown any more
		}
	}
	page := s.page(v)
	page.Focus = v.focus
	again := slices.IndexFunc(v.Statement.Documents, func(d statement.Document) bool { return d.ID == v.again.document })
	if again >= 0 && len(errs) == 0 {
		page.Focus = view.UploadedID(again)
	}
	return web.Render(c, status, view.Documents(view.DocumentsPage{
		Page: page, Action: documentsURL(c, v), Documents: v.Statement.Documents, Again: v.again.document, OtherCategory: v.again.other,
		Asked: v.Asks[statement.DocumentsSection], Former: v.Statement.Offers[statement.DocumentsSection].Documents,
		Category: category, Errors: errs, Returning: returning(c) && cameFrom(c) == "", From: cameFrom(c),
	}))
}

// showInvalidDocuments shows the section as it is stored now, with the
// validation errors of err. Other errors are returned.
func (s *Server) showInvalidDocuments(c echo.Context, v *visit, category string, err error) error {
	errs := web.ValidationErrors(err)
	if errs == nil {
		return err
	}
	counted := slices.Clone(errs)
	for i := range counted {
		if _, ok := strings.CutPrefix(counted[i].Field, statement.CategoryField("")); ok {
			counted[i].Field = "category" // the rule, not which document broke it
		}
	}
	ctx := c.Request().Context()
	if err := s.Forms.CountErrors(ctx, v.Session.ID, statement.DocumentsSection, counted); err != nil {
		return err
	}
	if err := v.reload(ctx, s.Forms); err != nil {
		return err
	}
	if !v.Session.Status.Open() {
		return s.showClosed(c, v)
	}
	return s.renderDocuments(c, v, http.StatusUnprocessableEntity, category, errs)
}

// documentsAction is the button that was pressed on the documents page. A POST
// without one uploads if the form has the file's input: a browser sends that
// as a value if no file was chosen.
func documentsAction(u *web.Upload) string {
	switch {
	case u.Values.Get("action") != "":
		return u.Values.Get("action")
	case u.HasFile || u.Values.Has("file"):
		return view.ActionUpload
	}
	return view.ActionContinue
}

// storesFile reports whether the button stores the chosen file. Only the
// buttons that remove another file don't (D47).
func storesFile(action string) bool {
	switch action {
	case view.ActionUpload, view.ActionContinue, view.ActionSave:
		return true
	}
	return strings.HasPrefix(action, view.ActionLanguage+":")
}

// again is a stored document that was added once more, as a notice carries it to the
// next page (D84). The zero value is none.
type again struct {
	document string // its id
	other    bool   // it was added with another category, which isn't kept
}

const (
	againCode      = "again" // a colon and the document's id follow
	againOtherCode = "again-other"
)

func readAgain(code string) again {
	kind, document, _ := strings.Cut(code, ":")
	if kind != againCode && kind != againOtherCode {
		return again{}
	}
	return again{document: document, other: kind == againOtherCode}
}

func (a again) code() string {
	if a.other {
		return againOtherCode + ":" + a.document
	}
	return againCode + ":" + a.document
}

// AnswerDocuments takes the documents page's form (D47). A chosen file is
// stored whichever button was pressed, so that none is lost.
func (s *Server) AnswerDocuments(c echo.Context, v *visit) error {
	u, err := web.ReadUpload(c, maxUploadBytes, statement.FileTooLarge, func(u *web.Upload, name string, content io.Reader) error {
		return s.storeUpload(c, v, u, name, content)
	})
	if err != nil {
		return err
	}
	if already, ok := errors.AsType[*forms.AlreadyAdded](u.Rejected); ok {
		v.again, u.Rejected = again{already.Document.String(), already.Category != ""}, nil
	}
	action := documentsAction(u)
	document, removes := strings.CutPrefix(action, view.ActionRemove+":")
	language, switches := strings.CutPrefix(action, view.ActionLanguage+":")
	if switches && !v.offers(domain.Language(language)) ||
		!switches && !removes && action != view.ActionDescribe && !storesFile(action) {
		return errUnknownAction
	}
	err = s.describeDocuments(c, v, u.Values, action == view.ActionContinue)
	switch {
	case err != nil:
	case removes:
		return s.removeDocument(c, v, document)
	case u.Rejected != nil && storesFile(action):
		err = u.Rejected
	case switches:
		return s.switchLanguage(c, v, documentsURL(c, v), domain.Language(language))
	case action == view.ActionUpload && !u.HasFile:
		err = domain.FieldError(domain.CodeValidation, "file", statement.NoFile)
	default:
		err = s.leaveDocuments(c, v, action)
	}
	return s.showInvalidDocuments(c, v, u.Values.Get("category"), err)
}

// describeDocuments stores the categories that were chosen beside stored
// documents, and those that a page guessed if guesses count. What a page only showed
// leaves what another tab stored (D84).
func (s *Server) describeDocuments(c echo.Context, v *visit, values url.Values, guesses bool) error {
	rest := values.Get(statement.RestField)
	if rest != "" && !statement.KnownCategory(rest) {
		return domain.FieldError(domain.CodeValidation, statement.RestField, statement.NoCategory)
	}
	chosen := map[domain.DocumentID]string{}
	for _, d := range v.Statement.Documents {
		category := values.Get(statement.CategoryField(d.ID))
		onlyShown := category != "" && values.Get(statement.ShownField(d.ID)) == category
		switch {
		case onlyShown && (d.Category != "" || !guesses):
			continue
		case category == "" && d.Category == "" && values.Has(statement.CategoryField(d.ID)):
			category = rest
		}
		if category == "" || category == string(d.Category) {
			continue
		}
		id, err := domain.ParseDocumentID(d.ID)
		if err != nil {
			return err
		}
		chosen[id] = category
	}
	if len(chosen) == 0 {
		return nil
	}
	return s.Forms.DescribeDocuments(c.Request().Context(), v.Session, chosen)
}

// errNotStored drops a file because the button doesn't store it.
var errNotStored = errors.New("the button stores no file")

// storeUpload stores the chosen file. Fields can come before and after it.
func (s *Server) storeUpload(c echo.Context, v *visit, u *web.Upload, name string, content io.Reader) error {
	if !storesFile(documentsAction(u)) {
		return errNotStored
	}
	if u.Values.Get("category") != "" && !statement.KnownCategory(u.Values.Get("category")) {
		return domain.FieldError(domain.CodeValidation, "category", statement.NoCategory)
	}
	file := forms.Upload{FileName: name, Content: content, Approved: v.Account.ApprovedAt != nil, Began: u.Hurry}
	file.Rest = func() (string, error) {
		if err := u.ReadRest(); err != nil {
			return "", err
		}
		if !storesFile(documentsAction(u)) {
			return "", errNotStored
		}
		return u.Values.Get("category"), nil
	}
	return s.Forms.AddDocument(c.Request().Context(), v.Session, file)
}

// leaveDocuments leads to the page that the button asks for.
func (s *Server) leaveDocuments(c echo.Context, v *visit, action string) error {
	switch action {
	case view.ActionUpload:
		if v.again.document != "" {
			s.leaveSaved(c, v, "")
		} else {
			s.leaveNotice(c, v.Session.ID, "uploaded", view.UploadedID(len(v.Statement.Documents)))
		}
		return c.Redirect(http.StatusSeeOther, documentsURL(c, v))
	case view.ActionDescribe:
		s.leaveSaved(c, v, "")
		return c.Redirect(http.StatusSeeOther, documentsURL(c, v))
	case view.ActionSave:
		s.leaveSaved(c, v, "")
		return c.Redirect(http.StatusSeeOther, formURL(v.Session.ID))
	}
	if from := cameFrom(c); from != "" { // the rest of the documents can come later
		s.leaveSaved(c, v, "")
		return c.Redirect(http.StatusSeeOther, actionURL(c, v, from))
	}
	if err := s.Forms.CompleteDocuments(c.Request().Context(), v.Session); err != nil {
		return err
	}
	return s.next(c, v, statement.DocumentsSection)
}

func (s *Server) removeDocument(c echo.Context, v *visit, document string) error {
	id, err := domain.ParseDocumentID(document)
	if err != nil {
		return errUnknownAction
	}
	if err := s.Forms.RemoveDocument(c.Request().Context(), v.Session, id); err != nil {
		return err
	}
	focus := ""
	documents := v.Statement.Documents
	if i := slices.IndexFunc(documents, func(d statement.Document) bool { return d.ID == document }); i >= 0 {
		focus = view.AfterDeletion(i, len(documents)-1)
	}
	s.leaveNotice(c, v.Session.ID, "removed", focus)
	return c.Redirect(http.StatusSeeOther, documentsURL(c, v))
}
