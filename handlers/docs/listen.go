package docs

import (
	"bytes"
	_ "embed"
	"fmt"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
)

// listenScript is a partner's program: it forwards test events to a receiver on
// their own computer (D61). {base_url} in it is this service.
//
//go:embed listen.mjs
var listenScript []byte

// newListenScript returns the program for a service at the address.
func newListenScript(baseURL string) (*web.Asset, error) {
	asset, err := web.NewAsset(bytes.ReplaceAll(listenScript, []byte("{base_url}"), []byte(baseURL)))
	if err != nil {
		return nil, fmt.Errorf("docs: listen.mjs: %w", err)
	}
	return asset, nil
}

// ShowListenScript answers with the program.
func (s *Server) ShowListenScript(c echo.Context) error {
	h := c.Response().Header()
	h.Set(echo.HeaderContentType, "text/javascript; charset=utf-8")
	h.Set(echo.HeaderCacheControl, "public, no-cache")
	return s.listen.Serve(c, "listen.mjs")
}
