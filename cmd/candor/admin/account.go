package admin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/accounts"
)

// Credentials are a new account's secrets, which are shown once.
type Credentials accounts.Created

// Text lists the credentials.
func (c *Credentials) Text() string {
	table := cli.NewTable()
	for _, row := range [][2]string{
		{"Account", c.AccountID.String()}, {"Test API key", c.TestKey}, {"Live API key", c.LiveKey},
		{"Test webhook secret", c.TestWebhookSecret},
		{"Live webhook secret", c.LiveWebhookSecret}, {"Staff user", c.Email}, {"Password", c.Password},
	} {
		table.Row(row[0], row[1])
	}
	return table.String() + `
Store these now. The keys and the password are not shown again. The dashboard
asks for a new password at the first sign-in.
`
}

func (c commands) accountCreate(ctx context.Context, args []string) error {
	params := accounts.Params{ChangePassword: true}
	flags := cli.NewJSONFlags("account create")
	flags.StringVar(&params.Name, "name", "", "")
	flags.StringVar(&params.Email, "email", "", "")
	flags.StringVar(&params.Plan, "plan", "", "")
	flags.StringVar(&params.WebhookURL, "webhook-url", "", "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if params.Name == "" || params.Email == "" || params.Plan == "" {
		return cli.Usagef("account create needs --name, --email and --plan (%s)", strings.Join(domain.PlanIDs, ", "))
	}
	app, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer app.Close()
	if params.WebhookURL != "" {
		if err := app.Policy.CheckURL(params.WebhookURL); err != nil {
			return fmt.Errorf("--webhook-url: %w", err)
		}
	}
	created, err := CreateAccount(ctx, app.Accounts, params)
	if err != nil {
		return err
	}
	return flags.Print(c.Out, created)
}

// CreateAccount creates an account.
func CreateAccount(ctx context.Context, a *accounts.Service, params accounts.Params) (*Credentials, error) {
	created, err := a.Create(ctx, params, operator)
	return (*Credentials)(created), err
}

// shownAccount is an account in the list.
type shownAccount struct {
	AccountID    string          `json:"account_id"`
	Name         string          `json:"name"`
	BillingEmail string          `json:"billing_email"`
	CreatedAt    form.Timestamp  `json:"created_at"`
	ApprovedAt   *form.Timestamp `json:"approved_at"`
}

type accountList []shownAccount

// Text lists the accounts.
func (l accountList) Text() string {
	table := cli.NewTable("ACCOUNT", "NAME", "BILLING EMAIL", "CREATED", "LIVE MODE")
	for _, a := range l {
		liveMode := "open"
		if a.ApprovedAt == nil {
			liveMode = "awaits approval"
		}
		table.Row(a.AccountID, a.Name, a.BillingEmail, a.CreatedAt, liveMode)
	}
	return table.String()
}

func (c commands) accountList(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("account list")
	app, err := c.open(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	accounts, err := app.DB.Accounts(ctx)
	if err != nil {
		return err
	}
	list := make(accountList, len(accounts))
	for i, a := range accounts {
		list[i] = shownAccount{a.ID.String(), a.Name, a.BillingEmail, form.At(a.CreatedAt), form.AtOptional(a.ApprovedAt)}
	}
	return flags.Print(c.Out, list)
}

// accountApprove opens live mode for an account that signed up (D52).
func (c commands) accountApprove(ctx context.Context, args []string) error {
	flags := cli.NewFlags("account approve")
	app, err := c.openAccount(ctx, flags, accountFlag(flags), args)
	if errors.Is(err, errAccountID) {
		return cli.Usagef("account approve: %v", err)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	approved, err := app.Accounts.Approve(ctx, app.scope.AccountID, operator)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "Live mode is open for %s (%s).\n", cli.Printable(approved.Name), approved.ID)
	return err
}

// staffResetFactors helps a staff user who has lost every second factor.
func (c commands) staffResetFactors(ctx context.Context, args []string) error {
	flags := cli.NewFlags("staff reset-factors")
	email := flags.Text("email")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *email == "" {
		return cli.Usagef("staff reset-factors needs --email")
	}
	app, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer app.Close()
	staff, err := app.Auth.ResetFactors(ctx, *email, operator)
	if err != nil {
		return err
	}
	if staff.OnlyByCompany() {
		_, err = fmt.Fprintf(c.Out,
			"%s of %s has no second factor now, and signs in with the company alone; an email was sent to them. "+
				"To let passwords in: candor sso allow-passwords; for who never had one: candor sso remove.\n",
			cli.Printable(staff.Email), staff.AccountID)
		return err
	}
	_, err = fmt.Fprintf(c.Out,
		"%s of %s can now sign in with the password alone; an email was sent to them. If the account requires two-step sign-in, they set it up first.\n", cli.Printable(staff.Email), staff.AccountID)
	return err
}
