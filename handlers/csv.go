package handlers

import (
	"encoding/csv"
	"errors"
	"net/http"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/labstack/echo/v4"
)

// exportFlush is after how many rows an export is sent on.
const exportFlush = 200

// writeRow writes a row of an export.
type writeRow func(cells ...string) error

// streamCSV answers with the rows that fill writes, however many, below those
// names of columns, as a file called name and the day.
func (s *Server) streamCSV(c echo.Context, name string, columns []string, fill func(writeRow) error) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/csv; charset=utf-8")
	h.Set(echo.HeaderContentDisposition, disposition(false, name+"_"+s.Clock.Now().Format(time.DateOnly)+".csv"))
	if requestOf(c).headOnly {
		return c.NoContent(http.StatusOK)
	}
	w := csv.NewWriter(c.Response())
	if err := w.Write(columns); err != nil {
		return err
	}
	rows := 0
	err := fill(func(cells ...string) error {
		if rows++; rows%exportFlush == 0 {
			w.Flush()
			c.Response().Flush()
		}
		return w.Write(csvSafe(cells))
	})
	w.Flush()
	if err = errors.Join(err, w.Error()); err != nil && c.Response().Committed {
		s.logFailure(c, err)
		panic(http.ErrAbortHandler) // or a part would look like the whole
	}
	return err
}

// csvSafe puts an apostrophe before each cell that a spreadsheet would run as a
// formula (OWASP CSV injection). Spreadsheets skip white space before the sign,
// and Japanese and Chinese ones also take the full-width signs.
func csvSafe(cells []string) []string {
	for i, cell := range cells {
		text := strings.TrimLeftFunc(cell, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) })
		if first, _ := utf8.DecodeRuneInString(text); strings.ContainsRune("=+-@＝＋－＠", first) || strings.IndexAny(cell, "\t\r\n") == 0 {
			cells[i] = "'" + cell
		}
	}
	return cells
}

func stamp(t *time.Time) string {
	if t == nil {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}
