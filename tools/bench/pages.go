package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit/client"
)

// memory reads the service's peak resident memory after the load.
func (b *bench) memory(_ context.Context, e *environment) error {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", e.Server.Process.Pid))
	if err != nil {
		return err
	}
	found := regexp.MustCompile(`VmHWM:\s+([0-9]+) kB`).FindSubmatch(status)
	if found == nil {
		return fmt.Errorf("no VmHWM in the process's status")
	}
	kb, err := strconv.Atoi(string(found[1]))
	if err != nil {
		return err
	}
	b.add(row{what: "Peak memory of candor serve under that load", figure: fmt.Sprintf("%d MB", kb>>10), yardstick: "–", ratio: "–",
		target: "< 150 MB", met: kb>>10 < 150})
	return nil
}

// An openedForm is a customer's form in a browser.
type openedForm struct {
	id      string
	cookies string // as a request's header has them
	browser *client.Client
	hub     []byte // its first page
}

func (b *bench) openForm(ctx context.Context, e *environment) (*openedForm, error) {
	created, err := e.createSession(ctx, `{"form_type":"financial_statement","customer_email":"jessica@example.com"}`)
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
	f, err := b.openForm(ctx, e)
	if err != nil {
		return err
	}
	weight, parts, err := b.weigh(ctx, f.browser, f.hub)
	if err != nil {
		return err
	}
	b.add(row{what: "Hub: HTML + CSS + JS, gzip", figure: fmt.Sprintf("%.1f KB (%s)", float64(weight)/1024, parts), yardstick: "–",
		ratio: "–", target: "< 60 KB", met: weight < 60<<10})

	page := client.Request("GET", e.Addr, "/f/"+f.id+"/assets", "", "Cookie: "+f.cookies)
	times, err := latencies(ctx, e.Addr, 2000, page, http.StatusOK)
	if err != nil {
		return fmt.Errorf("section page: %w", err)
	}
	p99 := quantile(times, 0.99)
	b.add(row{what: "Section page, one client, p99 (p50)", figure: fmt.Sprintf("%.1f ms (%.1f ms)", ms(p99),
		ms(quantile(times, 0.5))), yardstick: "–", ratio: "–", target: "≤ 5 ms", met: p99 <= 5*time.Millisecond})
	return b.sectionSaves(ctx, e)
}

// A section is saved savesOfAForm times in each of savedForms forms: the rate
// limit of one link permits no more.
const (
	savedForms   = 10
	savesOfAForm = 200
)

// sectionSaves measures the time and CPU time of storing a section's answers.
func (b *bench) sectionSaves(ctx context.Context, e *environment) error {
	var times []time.Duration
	var used time.Duration
	answers := statementtest.Values("assets").Encode()
	for range savedForms {
		f, err := b.openForm(ctx, e)
		if err != nil {
			return err
		}
		save := client.Request("POST", e.Addr, "/f/"+f.id+"/assets", answers, "Content-Type: application/x-www-form-urlencoded",
			"Cookie: "+f.cookies)
		before, err := cpuTime(e.Server.Process.Pid)
		if err != nil {
			return err
		}
		own, err := latencies(ctx, e.Addr, savesOfAForm, save, http.StatusSeeOther)
		if err != nil {
			return fmt.Errorf("section save: %w", err)
		}
		after, err := cpuTime(e.Server.Process.Pid)
		if err != nil {
			return err
		}
		times, used = append(times, own...), used+after-before
	}
	slices.Sort(times)
	p99 := quantile(times, 0.99)
	b.add(row{
		what: "Section save, one client, p99 (p50; processor)", yardstick: "–", ratio: "–", target: "≤ 5 ms",
		met:    p99 <= 5*time.Millisecond,
		figure: fmt.Sprintf("%.1f ms (%.1f ms; %.2f ms)", ms(p99), ms(quantile(times, 0.5)), ms(used)/float64(len(times))),
	})
	return nil
}

// cpuTime is the processor time that a process has used, in ticks of 10 ms.
func cpuTime(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(stat, []byte(") ")) // the program's name
	fields := bytes.Fields(after)
	if len(fields) < 13 {
		return 0, fmt.Errorf("no processor time in the process's status")
	}
	var ticks int
	for _, field := range fields[11:13] { // in the program, in the kernel
		n, err := strconv.Atoi(string(field))
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func fetch(ctx context.Context, browser *client.Client, path string) ([]byte, error) {
	a, err := browser.Get(ctx, path)
	if err == nil && a.Status != http.StatusOK {
		err = fmt.Errorf("GET %s: %d", path, a.Status)
	}
	return a.Body, err
}

var asset = regexp.MustCompile(`(?:href|src)="(/static/[^"]+\.(?:css|js))"`)

// weigh adds up the gzipped sizes of the page and its assets.
func (b *bench) weigh(ctx context.Context, browser *client.Client, page []byte) (total int, parts string, err error) {
	total, err = gzipped(page)
	parts = fmt.Sprintf("HTML %.1f", float64(total)/1024)
	for _, found := range asset.FindAllSubmatch(page, -1) {
		content, fetchErr := fetch(ctx, browser, string(found[1]))
		if fetchErr != nil {
			return 0, "", fetchErr
		}
		size, gzipErr := gzipped(content)
		if gzipErr != nil {
			return 0, "", gzipErr
		}
		total += size
		parts += fmt.Sprintf(", %s %.1f", strings.ToUpper(string(found[1][bytes.LastIndexByte(found[1], '.')+1:])), float64(size)/1024)
	}
	return total, parts, err
}

func gzipped(content []byte) (int, error) {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	if _, err := w.Write(content); err != nil {
		return 0, err
	}
	err := w.Close()
	return out.Len(), err
}
