package handlers

import (
	"context"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"candor/static"
)

// readyTimeout is how long readyz waits for what the process depends on.
const readyTimeout = 2 * time.Second

// healthz says that the process runs.
func (s *Server) healthz(c echo.Context) error {
	return c.JSON(http.StatusOK, map[string]string{"status": "ok", "version": s.Version})
}

// readyz says whether the process can serve: 503 where it can't now.
func (s *Server) readyz(c echo.Context) error {
	ctx, cancel := context.WithTimeout(c.Request().Context(), readyTimeout)
	defer cancel()
	if err := s.Ready(ctx); err != nil {
		s.Logger.LogAttrs(ctx, slog.LevelWarn, "not ready", slog.Any("error", err))
		return c.JSON(http.StatusServiceUnavailable, map[string]string{"status": "unavailable"})
	}
	return c.JSON(http.StatusOK, map[string]string{"status": "ok"})
}

// staticFile serves a built file. Its name holds a hash of its bytes, so that
// it can be kept for good.
func (s *Server) staticFile(c echo.Context) error {
	name := strings.TrimPrefix(c.Request().URL.Path, static.Prefix)
	info, err := fs.Stat(static.Files(), name)
	if err != nil || info.IsDir() {
		return echo.ErrNotFound
	}
	c.Response().Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	http.ServeFileFS(c.Response(), c.Request(), static.Files(), name)
	return nil
}
