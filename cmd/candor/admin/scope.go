package admin

import (
	"context"
	"errors"
	"fmt"

	"candor/cmd/candor/cli"
	"candor/db"
	"candor/internal/domain"
)

// scopeFlags name an account and a mode.
type scopeFlags struct {
	account string
	live    bool
}

// accountFlag adds --account alone, for what both modes share.
func accountFlag(flags *cli.Flags) *scopeFlags {
	f := new(scopeFlags)
	flags.StringVar(&f.account, "account", "", "")
	return f
}

// addScopeFlags adds --account and --live.
func addScopeFlags(flags *cli.Flags) *scopeFlags {
	f := accountFlag(flags)
	flags.BoolVar(&f.live, "live", false, "")
	return f
}

// errAccountID says that --account is not an account id.
var errAccountID = errors.New("is not an account id, which starts with acct_: see candor account list")

// find returns the App at the scope of the flags. It is the only account lookup
// of the commands.
func (f *scopeFlags) find(ctx context.Context, app *App) (*scopedApp, error) {
	id, err := domain.ParseAccountID(f.account)
	if err != nil {
		return nil, fmt.Errorf("--account %q %w", f.account, errAccountID)
	}
	scope := domain.Scope{AccountID: id, Livemode: f.live}
	shown, err := show(ctx, app, scope)
	return &scopedApp{app, scope, shown}, err
}

// shownScope starts every result about an account, so that an operator can't
// mistake the account or the mode.
type shownScope struct {
	AccountID string `json:"account_id"`
	Account   string `json:"account"`
	Livemode  bool   `json:"livemode"`
}

// show finds the account of a scope.
func show(ctx context.Context, app *App, scope domain.Scope) (shownScope, error) {
	account, err := app.DB.Account(ctx, scope.AccountID)
	if errors.Is(err, db.ErrNotFound) {
		return shownScope{}, fmt.Errorf("account %s not found: see candor account list", scope.AccountID)
	}
	if err != nil {
		return shownScope{}, err
	}
	return shownScope{AccountID: scope.AccountID.String(), Account: account.Name, Livemode: scope.Livemode}, nil
}

// scopedApp is an App at one account and mode.
type scopedApp struct {
	*App
	scope domain.Scope
	shown shownScope
}

// open reads the flags of a command about all accounts. The caller closes the App
// if there is no error.
func (c commands) open(ctx context.Context, flags *cli.Flags, args []string) (*App, error) {
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	return c.Open(ctx)
}

// openScope reads the flags of a command about an account and a mode, and opens
// both. The caller closes the App if there is no error.
func (c commands) openScope(ctx context.Context, flags *cli.Flags, args []string) (*scopedApp, error) {
	return c.openAccount(ctx, flags, addScopeFlags(flags), args)
}

// openAccount is openScope for flags that the caller added.
func (c commands) openAccount(ctx context.Context, flags *cli.Flags, named *scopeFlags, args []string) (*scopedApp, error) {
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if named.account == "" {
		return nil, cli.Usagef("%s needs --account; candor account list shows the ids", flags.Name())
	}
	app, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	scoped, err := named.find(ctx, app)
	if err != nil {
		app.Close()
	}
	return scoped, err
}

// openFound opens the scope of what a command names by its id. It refuses another
// scope than the flags name, if they name one. The caller closes the App if there
// is no error.
func (c commands) openFound(ctx context.Context, named *scopeFlags, find func(*App) (domain.Scope, error)) (_ *scopedApp,
	err error) {
	app, err := c.Open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			app.Close()
		}
	}()
	found, err := find(app)
	if err != nil {
		return nil, err
	}
	shown, err := show(ctx, app, found)
	if err != nil {
		return nil, err
	}
	if named.account != "" && named.account != shown.AccountID || named.live && !found.Livemode {
		return nil, fmt.Errorf("it belongs to %s", shown)
	}
	return &scopedApp{app, found, shown}, nil
}

// String is "Acme Loans (acct_…), test mode".
func (s shownScope) String() string {
	return fmt.Sprintf("%s (%s), %s mode", cli.Printable(s.Account), s.AccountID, s.mode())
}

func (s shownScope) mode() string {
	if s.Livemode {
		return "live"
	}
	return "test"
}

// notFound says that nothing was found, and how to search the other mode.
func (s shownScope) notFound(what string) string {
	if s.Livemode {
		return "No " + what + " in live mode. Leave out --live to search test mode."
	}
	return "No " + what + " in test mode. Add --live to search live mode."
}

// liveFlag is what another command needs for this scope.
func (s shownScope) liveFlag() string {
	if s.Livemode {
		return " --live"
	}
	return ""
}
