package forms

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"candor/internal/form"
	"candor/internal/statement"
)

// limited reads up to MaxDocumentBytes and counts them; more is an error.
type limited struct {
	r *bufio.Reader
	n *int64
}

// Read fills p.
func (l *limited) Read(p []byte) (int, error) {
	n, err := l.r.Read(p)
	if *l.n += int64(n); *l.n > statement.MaxDocumentBytes {
		*l.n = statement.MaxDocumentBytes
		return 0, fileError("file", statement.FileTooLarge)
	}
	return n, err
}

// sniff returns the type of the content by its first bytes, which it leaves to
// be read.
func (l *limited) sniff() (string, error) {
	head, err := l.r.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	contentType := sniff(head)
	switch {
	case len(head) == 0:
		return "", fileError("file", statement.FileEmpty)
	case contentType == "":
		return "", fileError("file", statement.FileTypeUnknown)
	}
	return contentType, nil
}

// sniffed is how many bytes sniff needs.
const sniffed = 12

// sniff tells the accepted types by their first bytes, "" for any other.
func sniff(content []byte) string {
	switch {
	case bytes.HasPrefix(content, []byte("%PDF-")):
		return "application/pdf"
	case bytes.HasPrefix(content, []byte("\xff\xd8\xff")):
		return "image/jpeg"
	case bytes.HasPrefix(content, []byte("\x89PNG\r\n\x1a\n")):
		return "image/png"
	case len(content) >= 12 && string(content[4:8]) == "ftyp":
		switch string(content[8:12]) {
		case "heic", "heix", "hevc", "heim", "heis", "hevm", "hevs", "mif1", "msf1":
			return "image/heic"
		}
	}
	return ""
}

// extensions are what the name of a file of each type can end in; the first is
// added to a name that ends otherwise.
var extensions = map[string][]string{
	"application/pdf": {".pdf"},
	"image/jpeg":      {".jpg", ".jpeg"},
	"image/png":       {".png"},
	"image/heic":      {".heic", ".heif"},
}

// maxFileName is how long a document's name can be, in characters.
const maxFileName = 200

// cleanFileName keeps the last part of a path, without characters that can't be
// seen, at most 200 characters long. The name ends as the content's type does:
// a PDF called report.hta would be run by the computer it is opened on.
func cleanFileName(name, contentType string) string {
	name = path.Base(strings.ReplaceAll(name, `\`, "/"))
	name, problem := form.CleanText(name, maxFileName)
	extension := extensions[contentType][0]
	if problem != "" || name == "" || name == "." || name == ".." || name == "/" {
		return "document" + extension
	}
	if !slices.Contains(extensions[contentType], strings.ToLower(path.Ext(name))) {
		name += extension
	}
	if utf8.RuneCountInString(name) > maxFileName {
		return "document" + extension
	}
	return name
}
