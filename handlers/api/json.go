package api

import (
	"bytes"
	"encoding/json"
	"strconv"

	"github.com/labstack/echo/v4"
)

func writeJSON(c echo.Context, status int, v any) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	return writeBody(c, status, text)
}

func writeBody(c echo.Context, status int, text []byte) error {
	c.Response().Header().Set(echo.HeaderContentLength, strconv.Itoa(len(text)))
	return c.Blob(status, echo.MIMEApplicationJSON, text)
}

// encode writes JSON without the escapes that only a page needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
