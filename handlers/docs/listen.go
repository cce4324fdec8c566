package docs

import (
	"bytes"
	_ "embed"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	view "candor/views/docs"
)

// listenSource is a partner's program: it forwards test events to a receiver on
// their own computer (D61). {base_url} in it is this service.
//
//go:embed listen.mjs
var listenSource []byte

func (s *Server) listenScript() (*web.Asset, error) {
	return web.NewAsset(bytes.ReplaceAll(listenSource, []byte("{base_url}"), []byte(s.BaseURL)))
}

// ShowListenScript answers with the program.
func (s *Server) ShowListenScript(c echo.Context) error {
	c.Response().Header().Set(echo.HeaderContentType, "text/javascript; charset=utf-8")
	return s.serve(c, view.ListenURL)
}
