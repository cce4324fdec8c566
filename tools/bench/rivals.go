package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"candor/tools/harness"
)

// exchange sends in as JSON and reads the answer into out.
func exchange(ctx context.Context, method, url, token string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %s: %s: %w", method, url, response.Status, text, err)
	}
	return json.Unmarshal(text, out)
}

// subject is a program under load.
type subject struct {
	addr    string
	request []byte
	status  int
	used    func() (time.Duration, error) // CPU time so far

	rate float64       // requests a second
	cpu  time.Duration // of a request
}

// rivals compares POST and GET of a session with those of a record of PocketBase's
// with the same fields, in turn, with the same client. PocketBase runs with its own
// defaults. make bench-rivals builds it.
func (b *bench) rivals(ctx context.Context, e *environment) error {
	p, err := startPocketBase(ctx, filepath.Join(e.Dir, "pocketbase"))
	if err != nil {
		return err
	}
	defer p.stop()
	record, err := p.create(ctx, newSession)
	if err != nil {
		return err
	}
	id, err := e.createSession(ctx, newSession)
	if err != nil {
		return err
	}
	auth := "Authorization: Bearer " + e.Account.TestKey
	used := func() (time.Duration, error) { return cpuTime(p.process.Process.Pid) }
	for _, load := range []struct {
		name          string
		candor, rival subject
		least         float64
	}{
		{"POST /v1/sessions",
			subject{addr: e.Addr, request: harness.Request("POST", e.Addr, "/v1/sessions", newSession, auth), status: http.StatusCreated, used: e.cpuTime},
			subject{addr: p.addr, request: harness.Request("POST", p.addr, recordsPath, newSession), status: http.StatusOK, used: used}, 1.5},
		{"GET /v1/sessions/:id",
			subject{addr: e.Addr, request: harness.Request("GET", e.Addr, "/v1/sessions/"+id.String(), "", auth), status: http.StatusOK, used: e.cpuTime},
			subject{addr: p.addr, request: harness.Request("GET", p.addr, recordsPath+"/"+record, ""), status: http.StatusOK, used: used}, 3},
	} {
		for _, clients := range []int{8, 32} {
			candor, rival := load.candor, load.rival
			if err := b.inTurn(ctx, clients, &rival, &candor); err != nil {
				return fmt.Errorf("%s: %w", load.name, err)
			}
			ratio := candor.rate / rival.rate
			b.add(row{
				what:      fmt.Sprintf("%s, %d clients", load.name, clients),
				figure:    fmt.Sprintf("%.0f requests/s; CPU of candor and PostgreSQL %.0f µs", candor.rate, micros(candor.cpu)),
				yardstick: fmt.Sprintf("PocketBase %.0f requests/s; CPU %.0f µs", rival.rate, micros(rival.cpu)),
				ratio:     fmt.Sprintf("%.2f ×", ratio), target: fmt.Sprintf("≥ %.1f ×", load.least), met: ratio >= load.least,
			})
		}
	}
	return nil
}

// inTurn puts each subject under load, twice, so that a slow spell of the machine
// hits all.
func (b *bench) inTurn(ctx context.Context, clients int, subjects ...*subject) error {
	const turns = 2
	for range turns {
		for _, s := range subjects {
			before, err := s.used()
			if err != nil {
				return err
			}
			rate, err := load(ctx, s.addr, clients, b.span, s.request, s.status)
			if err != nil {
				return err
			}
			after, err := s.used()
			if err != nil {
				return err
			}
			s.rate += rate / turns
			s.cpu += time.Duration(float64(after-before) / (rate * b.span.Seconds()) / turns)
		}
	}
	return nil
}

// pocketBase is a running PocketBase with one collection.
type pocketBase struct {
	process *exec.Cmd
	addr    string
}

const recordsPath = "/api/collections/session/records"

// startPocketBase makes a superuser with its command line, starts it, and makes the
// collection through its API, as its documentation says. Everyone may create and
// view records. Its output goes to a file.
func startPocketBase(ctx context.Context, dir string) (_ *pocketBase, err error) {
	const identity, password = "bench@example.com", "a long password"
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, err
	}
	p := &pocketBase{}
	if p.addr, err = harness.FreeAddress(); err != nil {
		return nil, err
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, log.Close()) }()
	command := func(args ...string) *exec.Cmd {
		cmd := exec.CommandContext(ctx, filepath.Join("bin", "pocketbase"), append(args, "--dir", dir)...)
		cmd.Stdout, cmd.Stderr = log, log
		return cmd
	}
	if err := command("superuser", "upsert", identity, password).Run(); err != nil {
		return nil, fmt.Errorf("pocketbase superuser: %w", err)
	}
	p.process = command("serve", "--http", p.addr)
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	if err = harness.AwaitOK(ctx, "http://"+p.addr+"/api/health"); err == nil {
		err = p.collection(ctx, identity, password)
	}
	if err != nil {
		p.stop()
		return nil, err
	}
	return p, nil
}

// stop ends the process. It ignores errors, which would only hide the figures.
func (p *pocketBase) stop() {
	_ = p.process.Process.Signal(syscall.SIGTERM)
	_ = p.process.Wait()
}

func (p *pocketBase) collection(ctx context.Context, identity, password string) error {
	var session struct {
		Token string `json:"token"`
	}
	err := exchange(ctx, http.MethodPost, "http://"+p.addr+"/api/collections/_superusers/auth-with-password", "",
		map[string]string{"identity": identity, "password": password}, &session)
	if err != nil {
		return err
	}
	type field struct {
		Name     string `json:"name"`
		Type     string `json:"type"`
		Required bool   `json:"required,omitempty"`
		OnCreate bool   `json:"onCreate,omitempty"`
	}
	return exchange(ctx, http.MethodPost, "http://"+p.addr+"/api/collections", session.Token, map[string]any{
		"name": "session", "type": "base", "createRule": "", "viewRule": "",
		"fields": []field{
			{Name: "form_type", Type: "text", Required: true}, {Name: "customer_email", Type: "email", Required: true},
			{Name: "customer_name", Type: "text"}, {Name: "reference_id", Type: "text"}, {Name: "metadata", Type: "json"},
			{Name: "created", Type: "autodate", OnCreate: true},
		},
	}, &struct{}{})
}

// create makes a record and returns its id.
func (p *pocketBase) create(ctx context.Context, body string) (string, error) {
	var record struct {
		ID string `json:"id"`
	}
	err := exchange(ctx, http.MethodPost, "http://"+p.addr+recordsPath, "", json.RawMessage(body), &record)
	return record.ID, err
}
