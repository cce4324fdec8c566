package handlers

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/form"
	"candor/intake"
	"candor/service"
	"candor/statement"
	"candor/views"
)

const (
	// maxUploadBytes leaves room for the form around the largest file, and for
	// files a little too large, which the service refuses by name.
	maxUploadBytes = statement.MaxDocumentBytes + 1<<20
	// uploadMemory is how much of an upload is held in memory while it comes
	// in; the rest waits in a temporary file.
	uploadMemory = 1 << 20
	// uploadTime is enough for the largest file over a slow mobile line.
	uploadTime = 10 * time.Minute
	// A browser shows the answer to a file that is too large only once it has
	// sent it, so that much more is read and thrown away.
	drainBytes = 64 << 20
	drainTime  = 30 * time.Second
)

// showDocuments shows the documents section.
func (s *Server) showDocuments(c echo.Context, v *visit) error {
	return s.renderDocuments(c, v, http.StatusOK, "", nil)
}

func (s *Server) renderDocuments(c echo.Context, v *visit, status int, category string, errs form.Errors) error {
	full := len(v.Statement.Documents) >= statement.MaxDocuments
	for i := range errs {
		if full {
			errs[i].Field = "uploaded" // the inputs aren't shown any more
		}
	}
	return render(c, status, views.Documents(views.DocumentsPage{
		Page: s.page(v), Action: actionURL(c, v, statement.DocumentsSection), Documents: v.Statement.Documents,
		Category: category, Errors: errs, Returning: returning(c),
	}))
}

// refuseDocuments shows the section again with what is wrong.
func (s *Server) refuseDocuments(c echo.Context, v *visit, category string, errs form.Errors) error {
	if err := s.Service.RefuseSection(c.Request().Context(), v.Session.ID, statement.DocumentsSection, errs); err != nil {
		return err
	}
	return s.renderDocuments(c, v, http.StatusUnprocessableEntity, category, errs)
}

// upload is what the documents page posts.
type upload struct {
	values url.Values
	file   *multipart.FileHeader // nil where none was chosen
}

// fromPage reports whether the form has the file's input at all: a browser
// sends it without a name where no file was chosen, as a value.
func (u upload) fromPage() bool { return u.file != nil || u.values.Has("file") }

// answerDocuments takes the documents page's form (D47): a chosen file is
// stored whichever button was pressed, so that none is ever lost.
func (s *Server) answerDocuments(c echo.Context, v *visit) error {
	u, err := readUpload(c, maxUploadBytes, service.FileTooLarge)
	if errs := problems(err); errs != nil {
		return s.refuseDocuments(c, v, "", errs)
	}
	if err != nil {
		return err
	}
	if u.file != nil {
		defer c.Request().MultipartForm.RemoveAll() //nolint:errcheck // the system clears its temporary folder too
	}
	action := u.values.Get("action")
	if document, ok := strings.CutPrefix(action, views.ActionRemove); ok {
		return s.removeDocument(c, v, document)
	}
	if action == "" {
		action = views.ActionContinue
		if u.fromPage() {
			action = views.ActionUpload
		}
	}
	switch action {
	case views.ActionUpload, views.ActionContinue, views.ActionSave:
		return s.storeAndGoOn(c, v, u, action)
	}
	return errUnknownAction
}

func (s *Server) storeAndGoOn(c echo.Context, v *visit, u upload, action string) error {
	err := s.storeUpload(c, v, u, action)
	if errs := problems(err); errs != nil {
		return s.refuseDocuments(c, v, u.values.Get("category"), errs)
	}
	if err != nil {
		return err
	}
	switch action {
	case views.ActionUpload:
		s.leaveNotice(c, v.Session.ID, "uploaded")
		return c.Redirect(http.StatusSeeOther, actionURL(c, v, statement.DocumentsSection))
	case views.ActionSave:
		s.leaveNotice(c, v.Session.ID, "saved")
		return c.Redirect(http.StatusSeeOther, formURL(v.Session.ID))
	}
	if err := s.Service.CompleteDocuments(c.Request().Context(), v.Session.ID); err != nil {
		return err
	}
	s.leaveNotice(c, v.Session.ID, "saved")
	return s.next(c, v, statement.DocumentsSection)
}

// storeUpload stores the chosen file; only the upload button needs one.
func (s *Server) storeUpload(c echo.Context, v *visit, u upload, action string) error {
	if u.file == nil {
		if action == views.ActionUpload {
			return intake.FieldError(intake.CodeValidation, "file", "Select a file")
		}
		return nil
	}
	file, err := u.file.Open()
	if err != nil {
		return err
	}
	defer file.Close()
	return s.Service.AddDocument(c.Request().Context(), v.Session.ID, service.Upload{
		Category: u.values.Get("category"), FileName: u.file.Filename, Content: file,
	})
}

func (s *Server) removeDocument(c echo.Context, v *visit, document string) error {
	id, err := intake.ParseDocumentID(document)
	if err != nil {
		return errUnknownAction
	}
	if err := s.Service.RemoveDocument(c.Request().Context(), v.Session.ID, id); err != nil {
		return err
	}
	s.leaveNotice(c, v.Session.ID, "removed")
	return c.Redirect(http.StatusSeeOther, actionURL(c, v, statement.DocumentsSection))
}

// problems are what a person can mend of err in the fields of a form, nil for
// any other error.
func problems(err error) form.Errors {
	var own *intake.Error
	if errors.As(err, &own) {
		return own.Fields
	}
	return nil
}

// readUpload reads a form with its file. More than that many bytes is a
// validation_error on the file that says tooMuch.
func readUpload(c echo.Context, most int64, tooMuch string) (upload, error) {
	r := c.Request()
	isMultipart, err := isMultipart(r)
	if err != nil {
		return upload{}, err
	}
	if !isMultipart {
		values, err := formValues(c)
		return upload{values: values}, err
	}
	defer within(c, uploadTime)()
	body := r.Body
	r.Body = http.MaxBytesReader(c.Response(), body, most)
	err = r.ParseMultipartForm(uploadMemory)
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		defer within(c, drainTime)()
		_, _ = io.CopyN(io.Discard, body, drainBytes) // the connection is closed after the answer anyway
		return upload{}, intake.FieldError(intake.CodeValidation, "file", tooMuch)
	}
	if err != nil {
		return upload{}, unreadable(err)
	}
	u := upload{values: r.PostForm}
	if files := r.MultipartForm.File["file"]; len(files) > 0 {
		u.file = files[0]
	}
	return u, nil
}
