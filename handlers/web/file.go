package web

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"
)

// A File is a response of bytes with a name.
type File struct {
	ContentType string
	Name        string
	Inline      bool // a browser shows it instead of saving it
	Size        int64
	Content     io.ReadCloser
}

// BytesFile returns a file of that content.
func BytesFile(contentType, name string, content []byte) *File {
	return &File{ContentType: contentType, Name: name, Size: int64(len(content)), Content: io.NopCloser(bytes.NewReader(content))}
}

// Respond sends the file and closes it.
func (f *File) Respond(c echo.Context) error {
	defer func() { _ = f.Content.Close() }() // read only: nothing is lost
	h := c.Response().Header()
	h.Set(echo.HeaderContentDisposition, disposition(f.Inline, f.Name))
	h.Set(echo.HeaderContentLength, strconv.FormatInt(f.Size, 10))
	return c.Stream(http.StatusOK, f.ContentType, f.Content)
}

// disposition is a Content-Disposition header (RFC 6266): a plain name, and
// the true one beside it if it isn't plain.
func disposition(inline bool, name string) string {
	kind := "attachment"
	if inline {
		kind = "inline"
	}
	plain := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '"' || r == '\\' || r == '%' {
			return '_'
		}
		return r
	}, name)
	value := kind + `; filename="` + plain + `"`
	if plain != name {
		value += "; filename*=UTF-8''" + strings.ReplaceAll(url.QueryEscape(name), "+", "%20")
	}
	return value
}
