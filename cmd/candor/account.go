package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service"
)

// credentials are a new account's secrets, which are shown once.
type credentials struct {
	AccountID         string `json:"account_id"`
	TestKey           string `json:"test_key"`
	LiveKey           string `json:"live_key"`
	TestWebhookSecret string `json:"test_webhook_secret"`
	LiveWebhookSecret string `json:"live_webhook_secret"`
	Email             string `json:"email"`
	Password          string `json:"password"`
}

func runAccountCreate(ctx context.Context, p *process, args []string) error {
	wish := service.NewAccount{ChangePassword: true}
	flags := flag.NewFlagSet("account create", flag.ContinueOnError)
	flags.StringVar(&wish.Name, "name", "", "")
	flags.StringVar(&wish.Email, "email", "", "")
	flags.StringVar(&wish.Plan, "plan", "", "")
	webhookURL := flags.String("webhook-url", "", "")
	asJSON := flags.Bool("json", false, "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	for _, name := range []string{"name", "email", "plan"} {
		if flags.Lookup(name).Value.String() == "" {
			return &usageError{"account create needs --name, --email and --plan (" + strings.Join(service.Plans, ", ") + ")"}
		}
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	if *webhookURL != "" {
		if err := a.service.Policy.CheckURL(*webhookURL); err != nil {
			return fmt.Errorf("--webhook-url: %w", err)
		}
	}
	created, err := createAccount(ctx, a, wish, *webhookURL)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(p.stdout, created)
	}
	return created.write(p.stdout)
}

// openCommand is openApp for a command that works once. What it prints is its
// answer, so it logs to standard error.
func openCommand(ctx context.Context, p *process) (*app, error) {
	c, err := readConfig(p.env)
	if err != nil {
		return nil, err
	}
	return openApp(ctx, c, newLogger(c, &process{stdout: p.stderr, stderr: p.stderr}))
}

// createAccount makes an account whose events go to webhookURL by default,
// if there is one.
func createAccount(ctx context.Context, a *app, wish service.NewAccount, webhookURL string) (*credentials, error) {
	created, err := a.service.CreateAccount(ctx, wish, operator)
	if err != nil {
		return nil, err
	}
	for _, live := range []bool{false, true} {
		if webhookURL == "" {
			break
		}
		scope := domain.Scope{AccountID: created.AccountID, Livemode: live}
		if err := a.service.SetDefaultWebhookURL(ctx, scope, operator, webhookURL); err != nil {
			return nil, err
		}
	}
	return &credentials{
		AccountID: created.AccountID.String(), TestKey: created.TestKey, LiveKey: created.LiveKey,
		TestWebhookSecret: created.TestWebhookSecret, LiveWebhookSecret: created.LiveWebhookSecret,
		Email: created.Email, Password: created.Password,
	}, nil
}

func (c *credentials) write(w io.Writer) error {
	_, err := fmt.Fprintf(w, `Account              %s
Test API key         %s
Live API key         %s
Test webhook secret  %s
Live webhook secret  %s
Staff user           %s
Password             %s

Keep them now: keys and the password are not shown again. The dashboard asks for
a new password at the first sign-in.
`, c.AccountID, c.TestKey, c.LiveKey, c.TestWebhookSecret, c.LiveWebhookSecret, c.Email, c.Password)
	return err
}

func runAccountList(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("account list", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	accounts, err := a.service.Accounts(ctx)
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(p.stdout, listed(accounts))
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "ACCOUNT\tNAME\tBILLING E-MAIL\tCREATED\tLIVE MODE")
	for _, l := range listed(accounts) {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", l.AccountID, l.Name, l.BillingEmail, l.CreatedAt.Format(time.RFC3339), l.liveMode())
	}
	return table.Flush()
}

// runAccountApprove opens live mode to an account that signed up (D52).
func runAccountApprove(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("account approve", flag.ContinueOnError)
	account := flags.String("account", "", "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	id, err := domain.ParseAccountID(*account)
	if err != nil {
		return &usageError{"account approve needs --account; candor account list shows the ids"}
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	approved, err := a.service.ApproveAccount(ctx, id, operator)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "Live mode is open to %s (%s).\n", printable(approved.Name), id)
	return err
}

type listedAccount struct {
	AccountID    string          `json:"account_id"`
	Name         string          `json:"name"`
	BillingEmail string          `json:"billing_email"`
	CreatedAt    form.Timestamp  `json:"created_at"`
	ApprovedAt   *form.Timestamp `json:"approved_at"`
}

func (l listedAccount) liveMode() string {
	if l.ApprovedAt == nil {
		return "awaits approval"
	}
	return "open"
}

func listed(accounts []domain.Account) []listedAccount {
	out := make([]listedAccount, len(accounts))
	for i, a := range accounts {
		out[i] = listedAccount{a.ID.String(), a.Name, a.BillingEmail, form.At(a.CreatedAt), form.AtOptional(a.ApprovedAt)}
	}
	return out
}

// runStaffResetFactors helps a staff user who has lost every second factor.
func runStaffResetFactors(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("staff reset-factors", flag.ContinueOnError)
	email := flags.String("email", "", "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	if *email == "" {
		return &usageError{"staff reset-factors needs --email"}
	}
	a, err := openCommand(ctx, p)
	if err != nil {
		return err
	}
	defer a.close()
	staff, err := a.service.ResetFactors(ctx, *email, operator)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(p.stdout, "%s of %s signs in with the password alone now, and was told by a letter. If the account requires two-step sign-in, they set it up first.\n", printable(staff.Email), staff.AccountID)
	return err
}
