// Package toxiproxy tells a running toxiproxy-server what to do. It is built by make
// bin/toxiproxy-server.
package toxiproxy

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Server is the running toxiproxy-server.
type Server struct{ Addr string }

// Link is a proxy in front of one address.
type Link struct {
	of           *Server
	Name, Listen string
	Upstream     string
}

// Ready reports whether it answers.
func (t *Server) Ready(ctx context.Context) bool {
	return t.call(ctx, http.MethodGet, "/version", nil) == nil
}

// call sends a request and forgets the answer's body.
func (t *Server) call(ctx context.Context, method, path string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+t.Addr+path, bytes.NewReader(text))
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	said, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("toxiproxy: %s %s: %s: %s", method, path, response.Status, said)
	}
	return err
}

// Link makes a proxy.
func (t *Server) Link(ctx context.Context, name, listen, upstream string) (*Link, error) {
	l := &Link{t, name, listen, upstream}
	return l, t.call(ctx, http.MethodPost, "/proxies", map[string]any{"name": name, "listen": l.Listen, "upstream": upstream,
		"enabled": true})
}

// Cut closes all connections and accepts none until Restore.
func (l *Link) Cut(ctx context.Context) error { return l.enable(ctx, false) }

// Restore ends a cut.
func (l *Link) Restore(ctx context.Context) error { return l.enable(ctx, true) }

func (l *Link) enable(ctx context.Context, enabled bool) error {
	return l.of.call(ctx, http.MethodPost, "/proxies/"+l.Name, map[string]any{"name": l.Name, "listen": l.Listen,
		"upstream": l.Upstream, "enabled": enabled})
}

// Toxic makes the link worse in one direction, upstream or downstream.
type Toxic struct {
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Name       string         `json:"name"`
	Attributes map[string]int `json:"attributes"`
}

// Add makes the link worse.
func (l *Link) Add(ctx context.Context, t Toxic) error {
	return l.of.call(ctx, http.MethodPost, "/proxies/"+l.Name+"/toxics", t)
}

// Remove ends what Add began.
func (l *Link) Remove(ctx context.Context, t Toxic) error {
	return l.of.call(ctx, http.MethodDelete, "/proxies/"+l.Name+"/toxics/"+t.Name, nil)
}
