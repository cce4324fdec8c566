package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"time"

	"candor/internal/testkit/client"
	"candor/internal/testkit/proc"
)

// memory reads the service's peak resident memory after the load.
func (b *bench) memory(_ context.Context, e *environment) error {
	peak, err := proc.Memory(e.Server.Process.Pid, "VmHWM")
	if err != nil {
		return err
	}
	b.add(row{what: "Peak memory of candor serve under that load", figure: fmt.Sprintf("%d MB", peak>>20), target: "< 150 MB",
		met: peak < 150<<20})
	return nil
}

// An openedForm is a customer's form in a browser.
type openedForm struct {
	id      string
	cookies string // as a request's header has them
	browser *client.Client
	hub     []byte // its first page
}

func (e *environment) openForm(ctx context.Context) (*openedForm, error) {
	created, err := e.createSession(ctx, newSession)
	if err != nil {
		return nil, err
	}
	f := &openedForm{id: created.ID.String(), browser: client.New("http://" + e.Addr)}
	if _, f.hub, err = f.browser.Open(ctx, created.URL); err != nil {
		return nil, err
	}
	f.cookies = f.browser.Cookies("/f/" + f.id + "/assets")
	return f, nil
}

// formPages measures the server time of a section page and the weight of the
// hub.
func (b *bench) formPages(ctx context.Context, e *environment) error {
	f, err := e.openForm(ctx)
	if err != nil {
		return err
	}
	weight, err := weigh(ctx, f.browser, f.hub)
	if err != nil {
		return err
	}
	b.add(row{what: "Hub: HTML + CSS + JS, gzip", figure: fmt.Sprintf("%.1f KB", float64(weight)/1024), target: "< 60 KB",
		met: weight < 60<<10})
	page := client.Request("GET", e.Addr, "/f/"+f.id+"/assets", "", "Cookie: "+f.cookies)
	times, err := latencies(ctx, e.Addr, 2000, page)
	if err != nil {
		return fmt.Errorf("section page: %w", err)
	}
	p99 := quantile(times, 0.99)
	b.add(row{what: "Section page, one client, p99 (p50)", figure: fmt.Sprintf("%.1f ms (%.1f ms)", ms(p99),
		ms(quantile(times, 0.5))), target: "≤ 5 ms", met: p99 <= 5*time.Millisecond})
	return nil
}

func fetch(ctx context.Context, browser *client.Client, path string) ([]byte, error) {
	a, err := browser.Get(ctx, path)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d", path, a.Status)
	}
	return a.Body, err
}

var asset = regexp.MustCompile(`(?:href|src)="(/static/[^"]+\.(?:css|js))"`)

// weigh adds up the gzipped sizes of the page and its assets.
func weigh(ctx context.Context, browser *client.Client, page []byte) (total int, err error) {
	contents := [][]byte{page}
	for _, found := range asset.FindAllSubmatch(page, -1) {
		content, err := fetch(ctx, browser, string(found[1]))
		if err != nil {
			return 0, err
		}
		contents = append(contents, content)
	}
	for _, content := range contents {
		var out bytes.Buffer
		w := gzip.NewWriter(&out)
		_, err = w.Write(content)
		if err := errors.Join(err, w.Close()); err != nil {
			return 0, err
		}
		total += out.Len()
	}
	return total, nil
}
