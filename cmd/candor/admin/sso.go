package admin

import (
	"context"
	"errors"
	"fmt"

	"candor/cmd/candor/cli"
)

// ssoVerifyDomain verifies a domain whose company an operator knows (D141).
func (c commands) ssoVerifyDomain(ctx context.Context, args []string) error {
	flags := cli.NewFlags("sso verify-domain")
	name := flags.Text("domain")
	app, err := c.openAccount(ctx, flags, accountFlag(flags), args)
	if errors.Is(err, errAccountID) {
		return cli.Usagef("sso verify-domain: %v", err)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	if *name == "" {
		return cli.Usagef("sso verify-domain needs --domain")
	}
	if err := app.SSO.VerifyDomain(ctx, app.scope.AccountID, operator, *name); err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.Out, "%s is verified.\n", cli.Printable(*name))
	return err
}

// ssoAllowPasswords helps a team that its company's provider lets in no more.
func (c commands) ssoAllowPasswords(ctx context.Context, args []string) error {
	flags := cli.NewFlags("sso allow-passwords")
	app, err := c.openAccount(ctx, flags, accountFlag(flags), args)
	if errors.Is(err, errAccountID) {
		return cli.Usagef("sso allow-passwords: %v", err)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	if err := app.SSO.ReleaseSSO(ctx, app.scope.AccountID, operator); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Out, "Passwords and passkeys work again.")
	return err
}
