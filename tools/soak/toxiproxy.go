package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"
)

// toxiproxy is the running toxiproxy-server, through which all connections lead.
type toxiproxy struct{ addr string }

// link is a proxy in front of one address.
type link struct {
	of           *toxiproxy
	name, listen string
	upstream     string
}

func (t *toxiproxy) ready(ctx context.Context) bool {
	return t.call(ctx, http.MethodGet, "/version", nil) == nil
}

// call sends a request and forgets the answer's body.
func (t *toxiproxy) call(ctx context.Context, method, path string, body any) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+t.addr+path, bytes.NewReader(text))
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

// link makes a proxy.
func (t *toxiproxy) link(ctx context.Context, name string, listen int, upstream string) (*link, error) {
	l := &link{t, name, local(listen), upstream}
	return l, t.call(ctx, http.MethodPost, "/proxies", map[string]any{"name": name, "listen": l.listen, "upstream": upstream,
		"enabled": true})
}

// cut closes all connections and accepts none until restore.
func (l *link) cut(ctx context.Context) error { return l.enable(ctx, false) }

func (l *link) restore(ctx context.Context) error { return l.enable(ctx, true) }

func (l *link) enable(ctx context.Context, enabled bool) error {
	return l.of.call(ctx, http.MethodPost, "/proxies/"+l.name, map[string]any{"name": l.name, "listen": l.listen,
		"upstream": l.upstream, "enabled": enabled})
}

// toxic makes the link worse in one direction, upstream or downstream.
type toxic struct {
	Type       string         `json:"type"`
	Stream     string         `json:"stream"`
	Name       string         `json:"name"`
	Attributes map[string]int `json:"attributes"`
}

func (l *link) add(ctx context.Context, t toxic) error {
	return l.of.call(ctx, http.MethodPost, "/proxies/"+l.name+"/toxics", t)
}

func (l *link) remove(ctx context.Context, t toxic) error {
	return l.of.call(ctx, http.MethodDelete, "/proxies/"+l.name+"/toxics/"+t.Name, nil)
}
