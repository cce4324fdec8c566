package web

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

const (
	// discardBytes are read and thrown away after a file that is too large: a
	// browser shows the answer only once it has sent everything.
	discardBytes = 64 << 20
	// maxFieldBytes is what is kept of a field beside a file.
	maxFieldBytes = 4 << 10
)

// uploadFields are the fields of the forms that take a file. Those of
// documentFields are read, too.
var uploadFields = []string{"action", "category", "file", "from"}

// The fields of stored documents are named by a prefix and the document's id.
const (
	documentFields    = "category."
	maxDocumentName   = 64 // bytes of such a name
	maxDocumentFields = 90 // twice what a page has
)

// An Upload is a posted form with a file, read part by part: the file is never
// held in memory.
type Upload struct {
	Values   url.Values // of the uploadFields that were read
	HasFile  bool       // a file was chosen
	Rejected error      // why the file was not stored, nil if it was

	timed *timedBody
	parts *multipart.Reader
	end   error // why there are no more parts: io.EOF after the last one
}

// ReadUpload reads a form and passes its first file to store while it arrives;
// store's error becomes Rejected. It reads to the form's end even if the file is
// rejected, since a browser shows the response only then. A form of more than
// most bytes is rejected with the message.
func ReadUpload(c echo.Context, most int64, message string, store func(u *Upload, name string, content io.Reader) error) (*Upload,
	error) {
	r := c.Request()
	isMultipart, err := isMultipart(r)
	if err != nil {
		return nil, err
	}
	if !isMultipart {
		values, err := FormValues(c)
		return &Upload{Values: values}, err
	}
	timed := RequestOf(c).body
	timed.allowUpload()
	body := r.Body
	r.Body = http.MaxBytesReader(c.Response(), body, most)
	u := &Upload{Values: url.Values{}, timed: timed}
	if u.parts, err = r.MultipartReader(); err != nil {
		return nil, Unreadable(err)
	}
	for file := u.nextFile(); file != nil; file = u.nextFile() {
		if !u.HasFile {
			u.HasFile = true
			u.Rejected = store(u, file.FileName(), file)
			timed.allowUpload() // what is left holds no place
		}
	}
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(u.end, &tooLarge):
		timed.restart()
		_, _ = io.CopyN(io.Discard, body, discardBytes) // the connection is closed after the answer anyway
		u.HasFile, u.Rejected = true, domain.FieldError(domain.CodeValidation, "file", message)
	case !errors.Is(u.end, io.EOF):
		return nil, Unreadable(u.end)
	}
	return u, nil
}

// nextFile reads fields up to the next chosen file and returns the file, nil
// after the last part.
func (u *Upload) nextFile() *multipart.Part {
	for u.end == nil {
		var part *multipart.Part
		if part, u.end = u.parts.NextPart(); u.end != nil {
			break
		}
		name := part.FormName()
		if name == "file" && part.FileName() != "" {
			return part
		}
		if !u.takes(name) {
			continue
		}
		var value []byte
		value, u.end = io.ReadAll(io.LimitReader(part, maxFieldBytes))
		u.Values.Set(name, string(value))
	}
	return nil
}

// takes reports whether a field is kept: the first of each known name.
func (u *Upload) takes(name string) bool {
	if u.Values.Has(name) {
		return false
	}
	ofDocument := strings.HasPrefix(name, documentFields) && len(name) <= maxDocumentName && len(u.Values) < maxDocumentFields
	return ofDocument || slices.Contains(uploadFields, name)
}

// Hurry makes the rest arrive at a higher rate while crowded is true (D86).
func (u *Upload) Hurry(crowded func() bool) { u.timed.hurry(crowded) }

// ReadRest reads the fields after the first file.
func (u *Upload) ReadRest() error {
	for u.nextFile() != nil {
	}
	if errors.Is(u.end, io.EOF) {
		return nil
	}
	return u.end
}
