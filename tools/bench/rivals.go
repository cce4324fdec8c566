package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"candor/internal/testkit/client"
	"candor/internal/testkit/proc"
	"candor/tools/harness"
)

// exchange posts in as JSON and reads the answer into out.
func exchange(ctx context.Context, url, token string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	a, err := client.NewPartner("", token).Send(ctx, http.MethodPost, url, bytes.NewReader(body),
		map[string]string{"Content-Type": "application/json"})
	if err != nil {
		return err
	}
	if a.Status >= http.StatusMultipleChoices {
		return fmt.Errorf("POST %s: %d: %s", url, a.Status, a.Body)
	}
	return json.Unmarshal(a.Body, out)
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
	created, err := e.createSession(ctx, newSession)
	if err != nil {
		return err
	}
	auth := "Authorization: Bearer " + e.Account.TestKey
	for _, load := range []struct {
		name             string
		request, rivals  []byte
		status, accepted int
		least            float64
	}{
		{"POST /v1/sessions", client.Request("POST", e.Addr, "/v1/sessions", newSession, auth),
			client.Request("POST", p.addr, recordsPath, newSession), http.StatusCreated, http.StatusOK, 1.5},
		{"GET /v1/sessions/:id", client.Request("GET", e.Addr, "/v1/sessions/"+created.ID.String(), "", auth),
			client.Request("GET", p.addr, recordsPath+"/"+record, ""), http.StatusOK, http.StatusOK, 3},
	} {
		for _, clients := range []int{8, 32} {
			rival := subject{used: p.cpu, load: func() (float64, error) {
				return rateOf(ctx, p.addr, clients, load.rivals, load.accepted)
			}}
			candor := subject{used: e.cpu, load: func() (float64, error) {
				return rateOf(ctx, e.Addr, clients, load.request, load.status)
			}}
			if err := inTurn(&rival, &candor); err != nil {
				return fmt.Errorf("%s: %w", load.name, err)
			}
			ratio := candor.rate / rival.rate
			b.add(row{
				what: fmt.Sprintf("%s, %d clients", load.name, clients),
				figure: fmt.Sprintf("%.0f requests/s; CPU of candor and PostgreSQL %.0f µs", candor.rate,
					micros(candor.cpu.sum())),
				yardstick: fmt.Sprintf("PocketBase %.0f requests/s; CPU %.0f µs", rival.rate, micros(rival.cpu.sum())),
				ratio:     fmt.Sprintf("%.2f ×", ratio), target: fmt.Sprintf("≥ %.1f ×", load.least), met: ratio >= load.least,
			})
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

// cpu is what it has used so far.
func (p *pocketBase) cpu() (used cpu) {
	for _, one := range proc.All() {
		if one.PID == p.process.Process.Pid {
			used.candor = one.CPU
		}
	}
	return used
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
	err := exchange(ctx, "http://"+p.addr+"/api/collections/_superusers/auth-with-password", "",
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
	return exchange(ctx, "http://"+p.addr+"/api/collections", session.Token, map[string]any{
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
	err := exchange(ctx, "http://"+p.addr+recordsPath, "", json.RawMessage(body), &record)
	return record.ID, err
}
