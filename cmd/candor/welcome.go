package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"candor/cmd/candor/admin"
	"candor/cmd/candor/config"
	"candor/internal/domain"
	"candor/internal/service/accounts"
)

// demoAccount returns the credentials of development's demo account. The database
// stores only hashes of keys, so a file keeps the credentials. If the database
// doesn't know them, a new account is created.
func demoAccount(ctx context.Context, c config.Config, a *app) (*admin.Credentials, error) {
	path := filepath.Join(c.DataDir, "demo-account.json")
	var kept admin.Credentials
	content, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(content, &kept)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s can't be read: %w: delete it for a new demo account", path, err)
	}
	var rejected *domain.Error
	if _, err := a.services.Keys.Authenticate(ctx, kept.TestKey, "127.0.0.1"); !errors.As(err, &rejected) {
		return &kept, err
	}
	created, err := createDemoAccount(ctx, a)
	if err != nil {
		return nil, err
	}
	content, err = json.MarshalIndent(created, "", "  ")
	if err != nil {
		return nil, err
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if _, err := keepOnce(path, func() []byte { return append(content, '\n') }); err != nil {
		return nil, err
	}
	return created, nil
}

// createDemoAccount adds a number to the email address if an earlier demo account,
// whose credentials are lost, has it.
func createDemoAccount(ctx context.Context, a *app) (*admin.Credentials, error) {
	params := accounts.Params{Name: "Demo Lending", Email: "demo@example.com", Plan: "professional"}
	for n := 2; ; n++ {
		created, err := admin.CreateAccount(ctx, a.services.Accounts, params)
		var known *domain.Error
		if !errors.As(err, &known) || n > 1000 {
			return created, err
		}
		params.Email = fmt.Sprintf("demo%d@example.com", n)
	}
}

// welcome prints what a developer needs to start.
func welcome(ctx context.Context, w io.Writer, c config.Config, a *app) error {
	demo, err := demoAccount(ctx, c, a)
	if err != nil {
		return err
	}
	base := c.PublicURL()
	var b strings.Builder
	if a.postgres != nil && a.postgres.server.Notice() != "" {
		fmt.Fprintf(&b, "Note: %s.\n\n", a.postgres.server.Notice())
	}
	mailPage := ""
	if a.devMail != nil {
		mailPage = "  Emails               " + base + "/dev/mail\n"
	}
	fmt.Fprintf(&b, `Candor is ready on %[1]s (Ctrl-C to stop)

  Dashboard            %[1]s/dashboard
    email address      %[6]s
    password           %[7]s
%[8]s  API                  %[1]s/v1
  API docs             %[1]s/docs
  Test API key         %[2]s
  Live API key         %[3]s
  Test webhook secret  %[4]s
  Live webhook secret  %[5]s

Create a session, then open its session_url in a browser:

  curl %[1]s/v1/sessions \
    -H 'Authorization: Bearer %[2]s' \
    -H 'Content-Type: application/json' \
    -d '{"form_type":"financial_statement","customer_email":"sam@example.com","customer_name":"Sam Taylor"}'

`, base, demo.TestKey, demo.LiveKey, demo.TestWebhookSecret, demo.LiveWebhookSecret, demo.Email, demo.Password, mailPage)
	_, err = io.WriteString(w, b.String())
	return err
}
