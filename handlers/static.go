package handlers

import (
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"candor/handlers/web"
	"candor/static"
)

// loadAssets returns the built files by name. All servers of a process share
// them.
var loadAssets = sync.OnceValues(func() (map[string]*web.Asset, error) {
	assets := map[string]*web.Asset{}
	err := fs.WalkDir(static.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(static.Files(), name)
		if err != nil {
			return err
		}
		assets[name], err = web.NewAsset(content)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("handlers: load static files: %w", err)
	}
	return assets, nil
})

// staticFile serves a built file. Its name holds a hash of its bytes, so
// browsers may keep it forever. During an upgrade a page of one release asks a process
// of another for its file: that gets its own one of the same name, which is kept
// nowhere, because a page without its style would be worse.
func (s *server) staticFile(c echo.Context) error {
	name := strings.TrimPrefix(c.Request().URL.Path, static.Prefix)
	a, ok := s.assets[name]
	if ok {
		c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		return a.Serve(c, name)
	}
	if name, ok = static.Sibling(name); !ok {
		return echo.ErrNotFound
	}
	return s.assets[name].Serve(c, name)
}

// securityText says where vulnerabilities are reported (RFC 9116). It is valid until the
// end of the month after next, so that no one keeps an old one.
func (s *server) securityText(c echo.Context) error {
	year, month, _ := s.Clock.Now().UTC().Date()
	expires := time.Date(year, month+3, 1, 0, 0, 0, 0, time.UTC)
	return c.String(http.StatusOK, fmt.Sprintf("Contact: %s\nExpires: %s\nPreferred-Languages: en\nCanonical: %s%s\n",
		s.SecurityContact, expires.Format(time.RFC3339), s.BaseURL, c.Path()))
}
