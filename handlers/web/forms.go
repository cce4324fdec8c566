package web

import (
	"errors"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

// MaxFormBytes is above the longest section that keeps to its limits (D24) with
// the answers that it replaces, percent-encoded in the script that takes most
// bytes.
const MaxFormBytes = 4 << 20

// FormValues reads a posted form of up to MaxFormBytes, multipart or not.
func FormValues(c echo.Context) (url.Values, error) { return ShortForm(c, MaxFormBytes) }

// ShortForm is FormValues of up to most bytes.
func ShortForm(c echo.Context, most int64) (url.Values, error) {
	r := c.Request()
	r.Body = http.MaxBytesReader(c.Response(), r.Body, most)
	multipart, err := isMultipart(r)
	if err != nil {
		return nil, err
	}
	if multipart {
		err = r.ParseMultipartForm(most)
	} else {
		err = r.ParseForm()
	}
	return r.PostForm, Unreadable(err)
}

// isMultipart reports which of a browser's two content types the form has. Any
// other is an error.
func isMultipart(r *http.Request) (bool, error) {
	header := r.Header.Get("Content-Type")
	if header == "" && r.ContentLength == 0 {
		return false, nil
	}
	mediaType, _, _ := mime.ParseMediaType(header)
	switch mediaType {
	case "application/x-www-form-urlencoded":
		return false, nil
	case "multipart/form-data":
		return true, nil
	}
	return false, domain.Errorf(domain.CodeUnsupportedMediaType,
		"Send the form as application/x-www-form-urlencoded or multipart/form-data.")
}

// Unreadable makes a malformed form the client's error.
func Unreadable(err error) error {
	var tooLarge *http.MaxBytesError
	if err == nil || errors.As(err, &tooLarge) || errors.Is(err, ErrTooSlow) {
		return err
	}
	return &domain.Error{Code: domain.CodeInvalidRequest, Message: "The form can’t be read.", Cause: err}
}

// ReadForms is the middleware that reads posted forms, so that no page takes a
// form for empty that is too long or malformed. A route that takes a file reads
// its form itself.
func ReadForms(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if c.Request().Method == http.MethodPost {
			values, err := FormValues(c)
			if err != nil {
				return err
			}
			if !isText(values) {
				return Unreadable(errors.New("a field is not UTF-8 text, or contains a zero byte"))
			}
		}
		return next(c)
	}
}

// isText reports whether PostgreSQL can store all of it.
func isText(values url.Values) bool {
	for _, all := range values {
		for _, v := range all {
			if !utf8.ValidString(v) || strings.ContainsRune(v, 0) {
				return false
			}
		}
	}
	return true
}
