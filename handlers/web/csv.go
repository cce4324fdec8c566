package web

import (
	"encoding/csv"
	"errors"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
)

// exportFlush is after how many rows an export is sent on.
const exportFlush = 200

// exportPause is how long it then pauses at most: as long as these rows took, so that
// an export takes half of a core (D88), but not for a reader who is slow.
const exportPause = 50 * time.Millisecond

// A WriteRow writes a row of an export.
type WriteRow func(cells ...string) error

// StreamCSV answers with the rows that fill writes, below the names of the
// columns. The file's name is name and now's day. If fill fails after the first
// bytes were sent, StreamCSV logs the error and breaks the connection, so that
// a part doesn't look like the whole.
func StreamCSV(c echo.Context, logger *slog.Logger, now time.Time, name string, columns []string,
	fill func(WriteRow) error) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, disposition(false, name+"_"+now.Format(time.DateOnly)+".csv"))
	if RequestOf(c).HeadOnly {
		return c.NoContent(http.StatusOK)
	}
	c.SetRequest(c.Request().WithContext(domain.WithPatienceForEach(c.Request().Context())))
	w := csv.NewWriter(c.Response())
	if err := w.Write(CSVSafe(slices.Clone(columns))); err != nil {
		return err
	}
	rows, began := 0, time.Now()
	err := fill(func(cells ...string) error {
		if rows++; rows%exportFlush == 0 {
			w.Flush()
			c.Response().Flush()
			pause(c.Request().Context(), min(time.Since(began), exportPause))
			began = time.Now()
		}
		return w.Write(CSVSafe(cells))
	})
	w.Flush()
	if err = errors.Join(err, w.Error()); err != nil && c.Response().Committed {
		LogFailure(logger, c, err)
		panic(http.ErrAbortHandler) // or a part would look like the whole
	}
	return err
}

// CSVSafe puts an apostrophe before each cell that a spreadsheet would run as a
// formula (OWASP CSV injection). Spreadsheets skip white space before the sign,
// and Japanese and Chinese ones also take the full-width signs.
func CSVSafe(cells []string) []string {
	for i, cell := range cells {
		text := strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
		if first, _ := utf8.DecodeRuneInString(text); strings.ContainsRune("=+-@＝＋－＠", first) || strings.IndexAny(cell, "\t\r\n") == 0 {
			cells[i] = "'" + cell
		}
	}
	return cells
}

// Stamp returns a time as exports have it, with its offset from UTC; "" for none.
func Stamp(t *time.Time, zone *time.Location) string {
	if t == nil {
		return ""
	}
	return t.In(zone).Format(time.RFC3339)
}
