package handlers

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io/fs"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"candor/static"
)

// An asset is a built file, as it is and compressed once.
type asset struct{ plain, gzipped []byte }

// loadAssets returns the built files by name. All servers of a process share
// them.
var loadAssets = sync.OnceValues(func() (map[string]asset, error) {
	assets := map[string]asset{}
	err := fs.WalkDir(static.Files(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		var a asset
		if a.plain, err = fs.ReadFile(static.Files(), name); err != nil {
			return err
		}
		if a.gzipped, err = compress(a.plain); err != nil {
			return err
		}
		assets[name] = a
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("handlers: load static files: %w", err)
	}
	return assets, nil
})

func compress(plain []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(plain); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

// staticFile serves a built file. Its name holds a hash of its bytes, so
// browsers may keep it forever.
func (s *server) staticFile(c echo.Context) error {
	name := strings.TrimPrefix(c.Request().URL.Path, static.Prefix)
	a, ok := s.assets[name]
	if !ok {
		return echo.ErrNotFound
	}
	h := c.Response().Header()
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	content := a.plain
	if strings.Contains(c.Request().Header.Get("Accept-Encoding"), "gzip") && len(a.gzipped) < len(a.plain) {
		h.Set("Content-Encoding", "gzip")
		content = a.gzipped
	}
	http.ServeContent(c.Response(), c.Request(), name, time.Time{}, bytes.NewReader(content))
	return nil
}
