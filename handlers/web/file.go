package web

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

// A File is a response of bytes with a name.
type File struct {
	ContentType string
	Name        string
	Inline      bool // a browser shows it instead of saving it
	Size        int64
	SHA256      []byte // with it a client can ask for a part, or whether the file changed; nil if it can't
	Content     io.ReadCloser
}

// BytesFile returns a file of that content.
func BytesFile(contentType, name string, content []byte) *File {
	return &File{ContentType: contentType, Name: name, Size: int64(len(content)), Content: io.NopCloser(bytes.NewReader(content))}
}

// Respond sends the file and closes it.
func (f *File) Respond(c echo.Context) error {
	defer func() { _ = f.Content.Close() }() // read only: nothing is lost
	RequestOf(c).Leave()                     // a slow reader must not keep it
	h := c.Response().Header()
	tag := `"` + hex.EncodeToString(f.SHA256) + `"`
	if f.SHA256 != nil {
		if err := f.checkRange(c, tag); err != nil {
			return err
		}
	}
	h.Set(echo.HeaderContentDisposition, disposition(f.Inline, f.Name))
	if f.SHA256 == nil {
		h.Set(echo.HeaderContentLength, strconv.FormatInt(f.Size, 10))
		return c.Stream(http.StatusOK, f.ContentType, f.Content)
	}
	h.Set(echo.HeaderContentType, f.ContentType)
	h.Set("ETag", tag)
	c.Request().Header.Del("If-Match") // a file never changes, and the API's contract has no 412
	content := &onward{from: f.Content, size: f.Size}
	http.ServeContent(c.Response(), c.Request(), "", time.Time{}, content)
	return content.failure
}

// oneRange is a Range of one part. Others are ignored, as RFC 9110 permits (14.2).
var oneRange = regexp.MustCompile(`^bytes=(?:([0-9]{1,15})-([0-9]{0,15})|-0*[1-9][0-9]{0,14})$`)

// checkRange refuses a part that begins after the file's end, and drops a Range
// that isn't of one part or is of another file than tag's.
func (f *File) checkRange(c echo.Context, tag string) error {
	h := c.Request().Header
	asked := oneRange.FindStringSubmatch(h.Get("Range"))
	if asked == nil || h.Get("If-Range") != "" && h.Get("If-Range") != tag {
		h.Del("Range")
		return nil
	}
	first, _ := strconv.ParseInt(asked[1], 10, 64) // 0 for the last bytes
	last, err := strconv.ParseInt(asked[2], 10, 64)
	switch {
	case first >= f.Size && f.Size > 0:
		c.Response().Header().Set("Content-Range", fmt.Sprintf("bytes */%d", f.Size))
		return domain.Errorf(domain.CodeRangeNotSatisfiable, "The part begins after the end of the file, which has %d bytes.", f.Size)
	case err == nil && last < first:
		h.Del("Range") // malformed, so ignored
	}
	return nil
}

// onward reads a stream of a known size from a place further on, as
// http.ServeContent asks for one part.
type onward struct {
	from    io.Reader
	size    int64
	at      int64 // how far from was read
	next    int64 // from where the next read is
	failure error // of from, which http.ServeContent doesn't tell
}

// Seek moves the next read. It can't read again what was read.
func (o *onward) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekStart:
		o.next = offset
	case io.SeekEnd:
		o.next = o.size + offset
	default:
		o.next += offset
	}
	return o.next, nil
}

// Read reads from where Seek moved to.
func (o *onward) Read(p []byte) (int, error) {
	if o.next < o.at {
		return 0, errors.New("web: read again what was read")
	}
	skipped, err := io.CopyN(io.Discard, o.from, o.next-o.at)
	o.at += skipped
	n := 0
	if err == nil {
		n, err = o.from.Read(p)
	}
	o.at += int64(n)
	o.next = o.at
	if err != nil && !errors.Is(err, io.EOF) {
		o.failure = err
	}
	return n, err
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
