package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/labstack/echo/v4"
)

// An Asset is content that doesn't change while the process runs, compressed
// once.
type Asset struct {
	plain, gzipped []byte // gzipped is nil if it isn't smaller
	tag            string // of plain
}

// NewAsset compresses the content.
func NewAsset(plain []byte) (*Asset, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(plain)
	a := &Asset{plain: plain, tag: base64.RawURLEncoding.EncodeToString(sum[:12])}
	if b.Len() < len(plain) {
		a.gzipped = b.Bytes()
	}
	return a, nil
}

// Bytes is the content.
func (a *Asset) Bytes() []byte { return a.plain }

// quality is how much a client wants what a header such as Accept lists (RFC 9110,
// 12.4.2), from 0 to 1; 0 if it isn't listed by its name.
func quality(header, wanted string) float64 {
	for one := range strings.SplitSeq(header, ",") {
		if name, parameter, _ := strings.Cut(one, ";"); strings.EqualFold(strings.TrimSpace(name), wanted) {
			_, weight, _ := strings.Cut(parameter, "q=")
			if q, err := strconv.ParseFloat(strings.TrimSpace(weight), 64); err == nil {
				return q
			}
			return 1
		}
	}
	return 0
}

// Prefers reports whether the client names the content type, and the other one not before
// it.
func Prefers(r *http.Request, contentType, other string) bool {
	accept := r.Header.Get("Accept")
	q := quality(accept, contentType)
	return q > 0 && q >= quality(accept, other)
}

// takesGzip reports whether the client takes gzip: it names it, and not with q=0.
func takesGzip(r *http.Request) bool { return quality(r.Header.Get("Accept-Encoding"), "gzip") > 0 }

// Serve answers with the content, 304 if the client has it. The name's ending
// says its type if no Content-Type is set.
func (a *Asset) Serve(c echo.Context, name string) error {
	h := c.Response().Header()
	h.Add("Vary", "Accept-Encoding")
	content, tag := a.plain, a.tag
	if a.gzipped != nil && takesGzip(c.Request()) {
		h.Set("Content-Encoding", "gzip")
		content, tag = a.gzipped, a.tag+"-gzip"
	}
	h.Set("ETag", `"`+tag+`"`)
	http.ServeContent(c.Response(), c.Request(), name, time.Time{}, bytes.NewReader(content))
	return nil
}
