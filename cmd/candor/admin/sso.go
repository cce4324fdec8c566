package admin

import (
	"context"
	"errors"
	"fmt"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/service/staff/sso"
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
	return c.changeSSO(ctx, "sso allow-passwords", args, (*sso.Service).ReleaseSSO, "Passwords and passkeys work again.")
}

// ssoRemove helps a team in which no one has a password.
func (c commands) ssoRemove(ctx context.Context, args []string) error {
	return c.changeSSO(ctx, "sso remove", args, (*sso.Service).Disconnect,
		"Company sign-in is removed. People without a password choose one by “Forgotten your password?”.")
}

func (c commands) changeSSO(ctx context.Context, name string, args []string,
	change func(*sso.Service, context.Context, domain.AccountID, domain.Actor) error, done string) error {
	flags := cli.NewFlags(name)
	app, err := c.openAccount(ctx, flags, accountFlag(flags), args)
	if errors.Is(err, errAccountID) {
		return cli.Usagef("%s: %v", name, err)
	}
	if err != nil {
		return err
	}
	defer app.Close()
	if err := change(app.SSO, ctx, app.scope.AccountID, operator); err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Out, done)
	return err
}
