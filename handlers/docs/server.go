// Package docs is the documentation for partners' developers, below /docs: the
// reference, made of the API's description, and the guides, which are Markdown.
// It knows the description and no resource of the API.
package docs

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/a-h/templ"
	"github.com/labstack/echo/v4"

	"candor/handlers/api/openapi"
	"candor/handlers/web"
	"candor/internal/domain"
	"candor/internal/service/keys"
	"candor/internal/service/sessions"
	view "candor/views/docs"
)

// Config is what the documentation needs.
type Config struct {
	Keys     *keys.Service
	Sessions *sessions.Service
	Staff    func(echo.Context) (*domain.StaffSession, error) // who is signed in, nil for no one

	BaseURL           string // without a slash at its end
	MaxBody           int    // of a request, in bytes
	IdempotencyWindow time.Duration
}

// Server holds the pages.
type Server struct {
	Config
	document *openapi.Document
	public   map[string]func() (*web.Asset, error) // pages and the search index as anyone gets them, by path
}

// New returns the documentation, which Describe fills.
func New(c Config) *Server { return &Server{Config: c} }

// A page is drawn for its reader.
type page func(*Server, *view.Mine) (templ.Component, error)

var pages = map[string]page{
	view.Root:         (*Server).index,
	view.ReferenceURL: (*Server).reference,
	view.GuidesURL:    (*Server).guides,
}

// Describe takes the API's description. A page that anyone gets is drawn when it
// is first asked for: all of them take 50 ms, and most processes of tests show
// none.
func (s *Server) Describe(document *openapi.Document) {
	s.document, s.public = document, map[string]func() (*web.Asset, error){
		view.SearchURL: sync.OnceValues(s.searchAsset), view.ListenURL: sync.OnceValues(s.listenScript),
	}
	for path, draw := range pages {
		s.public[path] = sync.OnceValues(func() (*web.Asset, error) {
			html, err := s.draw(context.Background(), draw, nil)
			if err != nil {
				return nil, fmt.Errorf("docs: draw %s: %w", path, err)
			}
			return web.NewAsset(html)
		})
	}
}

func (s *Server) searchAsset() (*web.Asset, error) {
	index, err := s.searchIndex()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(index)
	if err != nil {
		return nil, err
	}
	return web.NewAsset(text)
}

// serve answers with what anyone gets at the path.
func (s *Server) serve(c echo.Context, path string) error {
	asset, err := s.public[path]()
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderCacheControl, "public, no-cache")
	return asset.Serve(c, path)
}

func (s *Server) draw(ctx context.Context, draw page, mine *view.Mine) ([]byte, error) {
	component, err := draw(s, mine)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = component.Render(ctx, &b)
	return b.Bytes(), err
}

// ShowPage answers with the page of the request's path. Staff who are signed in
// get one of their own, which no one keeps.
func (s *Server) ShowPage(c echo.Context) error {
	path := c.Path()
	h := c.Response().Header()
	h.Set("Vary", "Cookie")
	mine, err := s.mine(c)
	if err != nil {
		return err
	}
	if mine == nil {
		h.Set(echo.HeaderContentType, echo.MIMETextHTMLCharsetUTF8)
		return s.serve(c, path)
	}
	h.Set(echo.HeaderCacheControl, "private, no-store")
	html, err := s.draw(c.Request().Context(), pages[path], mine)
	if err != nil {
		return err
	}
	return web.Compress(func(c echo.Context) error { return c.HTMLBlob(http.StatusOK, html) })(c)
}

// Serves reports whether the request is for the documentation.
func Serves(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, view.Root+"/") }

// AnswerError answers with a page about the error.
func (s *Server) AnswerError(c echo.Context, status int, public *domain.Error) error {
	return web.Render(c, status, view.Failed(public.Message))
}

// ShowIndexBelow leads from the address that people type to the index.
func (s *Server) ShowIndexBelow(c echo.Context) error {
	return c.Redirect(http.StatusMovedPermanently, view.Root)
}

// ShowSearchIndex answers with what the page's search looks through.
func (s *Server) ShowSearchIndex(c echo.Context) error {
	return s.serve(c, view.SearchURL)
}

// mine is what the reader's samples are filled in with, nil unless staff are
// signed in. It has nothing that the reader couldn't see in the dashboard, and
// no secret.
func (s *Server) mine(c echo.Context) (*view.Mine, error) {
	staff, err := s.Staff(c)
	if err != nil || staff == nil || staff.Duty() != domain.NoDuty {
		return nil, err
	}
	ctx, scope := c.Request().Context(), domain.Scope{AccountID: staff.AccountID}
	out := &view.Mine{Account: staff.AccountName}
	if staff.May(domain.ManageKeys) {
		all, err := s.Keys.List(ctx, scope)
		if err != nil {
			return nil, err
		}
		if len(all) > 0 {
			out.KeyHint = "candor_test_…" + all[0].Last4
		}
	}
	if staff.May(domain.UseSessions) {
		newest, _, err := s.Sessions.List(ctx, scope, domain.SessionFilter{}, domain.Page{Number: 1, Size: 1})
		if err != nil {
			return nil, err
		}
		if len(newest) > 0 {
			out.SessionID = newest[0].ID.String()
		}
	}
	return out, nil
}
