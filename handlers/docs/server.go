// Package docs is the documentation for partners' developers, below /docs: the
// reference, made of the API's description, and the guides, which are Markdown.
// It knows the description and no resource of the API.
package docs

import (
	"bytes"
	"context"
	_ "embed"
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
	"candor/internal/platform/ratelimit"
	"candor/internal/service/keys"
	"candor/internal/service/sessions"
	"candor/internal/webhook"
	view "candor/views/docs"
)

// Config is what the documentation needs.
type Config struct {
	Keys     *keys.Service
	Sessions *sessions.Service
	Staff    func(echo.Context) (*domain.StaffSession, error) // who is signed in, nil for no one

	BaseURL           string           // without a slash at its end
	Rate              ratelimit.Config // of an account's requests
	Schedule          webhook.Schedule
	MaxBody           int // of a request, in bytes
	CallsAtOnce       int // of an account
	IdempotencyWindow time.Duration
}

// Server holds the pages.
type Server struct {
	Config
	document *openapi.Document
	public   map[string]file // what anyone gets, by path
}

// A file is the same for everyone who gets it. It is drawn when it is first asked for: all
// pages take 50 ms, and most processes of tests show none.
type file struct {
	contentType string
	asset       func() (*web.Asset, error)
}

// The content types of files.
const (
	asHTML     = echo.MIMETextHTMLCharsetUTF8
	asJSON     = echo.MIMEApplicationJSON
	asScript   = "text/javascript; charset=utf-8"
	asText     = echo.MIMETextPlainCharsetUTF8
	asMarkdown = "text/markdown; charset=utf-8"
	asAtom     = "application/atom+xml; charset=utf-8"
)

// New returns the documentation, which Describe fills.
func New(c Config) *Server { return &Server{Config: c} }

// A page is drawn for its reader.
type page func(*Server, *view.Mine) (templ.Component, error)

var pages = map[string]page{
	view.Root:         (*Server).index,
	view.ReferenceURL: (*Server).reference,
	view.GuidesURL:    (*Server).guides,
	view.ChangelogURL: (*Server).changelog,
}

// Describe takes the API's description.
func (s *Server) Describe(document *openapi.Document) {
	s.document, s.public = document, s.files()
}

// Paths are where ShowFile answers.
func (s *Server) Paths() []string {
	var out []string
	for path, one := range s.files() {
		if one.contentType != asHTML {
			out = append(out, path)
		}
	}
	return out
}

// files are all files by their paths.
func (s *Server) files() map[string]file {
	out := map[string]file{}
	add := func(path, contentType string, draw func() ([]byte, error)) {
		out[path] = file{contentType, sync.OnceValues(func() (*web.Asset, error) {
			content, err := draw()
			if err != nil {
				return nil, fmt.Errorf("docs: draw %s: %w", path, err)
			}
			return web.NewAsset(content)
		})}
	}
	for url, draw := range pages {
		add(url, asHTML, func() ([]byte, error) { return s.draw(context.Background(), draw, nil) })
		add(view.MarkdownOf(url), asMarkdown, func() ([]byte, error) { return s.pageText(url) })
	}
	for _, name := range guideNames {
		add(guidePath(name), asMarkdown, func() ([]byte, error) { return s.guideText(name) })
	}
	add(view.SearchURL, asJSON, func() ([]byte, error) {
		index, err := s.searchIndex()
		if err != nil {
			return nil, err
		}
		return json.Marshal(index)
	})
	add(view.ListenURL, asScript, s.listenScript)
	add(view.FeedURL, asAtom, s.feed)
	add(view.PostmanURL, asJSON, s.postman)
	add(view.BrunoURL, "application/zip", s.bruno)
	add(view.LLMsURL, asText, s.llms)
	add(view.LLMsFullURL, asText, s.everything)
	return out
}

// ShowFile answers with the file of the request's path.
func (s *Server) ShowFile(c echo.Context) error { return s.serve(c, c.Path()) }

// serve answers with what anyone gets at the path.
func (s *Server) serve(c echo.Context, path string) error {
	one := s.public[path]
	asset, err := one.asset()
	if err != nil {
		return err
	}
	c.Response().Header().Set(echo.HeaderContentType, one.contentType)
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

// ShowPage answers with the page of the request's path, or with its Markdown. Staff who are signed in
// get one of their own, which no one keeps.
func (s *Server) ShowPage(c echo.Context) error {
	path := c.Path()
	h := c.Response().Header()
	h.Set("Vary", "Cookie, Accept")
	if web.Prefers(c.Request(), "text/markdown", "text/html") {
		return s.serve(c, view.MarkdownOf(path))
	}
	mine, err := s.mine(c)
	if err != nil {
		return err
	}
	if mine == nil {
		return s.serve(c, path)
	}
	h.Set(echo.HeaderCacheControl, "private, no-store")
	html, err := s.draw(c.Request().Context(), pages[path], mine)
	if err != nil {
		return err
	}
	return web.Compress(func(c echo.Context) error { return c.HTMLBlob(http.StatusOK, html) })(c)
}

// Guides are where ShowGuide answers.
func (s *Server) Guides() []string {
	var out []string
	for _, name := range guideNames {
		out = append(out, guideURL(name))
	}
	return out
}

// ShowGuide leads from a guide's own address to its place among the others, or answers with
// its Markdown.
func (s *Server) ShowGuide(c echo.Context) error {
	c.Response().Header().Set("Vary", "Accept")
	if web.Prefers(c.Request(), "text/markdown", "text/html") {
		return s.serve(c, view.MarkdownOf(c.Path()))
	}
	return c.Redirect(http.StatusFound, view.GuidesURL+"#"+strings.TrimPrefix(c.Path(), guideURL("")))
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

func (s *Server) index(mine *view.Mine) (templ.Component, error) {
	p := view.IndexPage{Page: view.Page{Title: "Documentation", Current: view.Root, Mine: mine}}
	var err error
	if p.Guides, err = s.allGuides(mine); err != nil {
		return nil, err
	}
	if p.Groups, err = s.groups(mine); err != nil {
		return nil, err
	}
	for _, e := range p.Groups[0].Endpoints {
		if e.Method == "POST" && p.First == nil {
			p.First = e.Samples
		}
	}
	return view.Index(p), nil
}

// listenSource is a partner's program: it forwards test events to a receiver on
// their own computer (D61). {base_url} in it is this service.
//
//go:embed listen.mjs
var listenSource []byte

func (s *Server) listenScript() ([]byte, error) {
	return bytes.ReplaceAll(listenSource, []byte("{base_url}"), []byte(s.BaseURL)), nil
}
