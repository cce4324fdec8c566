package admin

import (
	"context"
	"errors"
	"fmt"

	"candor/cmd/candor/cli"
	"candor/internal/demo"
	"candor/internal/domain"
	"candor/views/pdf"
)

var (
	errSeedProduction = errors.New(
		"demo seed creates a made-up partner and customers, in development only: CANDOR_ENV is production")
	errSeeded = errors.New(
		"this database already has the demo partner: to start over, stop candor, delete the data folder (CANDOR_DATA_DIR, .data) and run this again, " +
			"or set DATABASE_URL to an empty database")
)

// demoSeed fills the development database with a partner who has worked for
// three months. Production refuses it: made-up customers must not mix with real
// ones.
func (c commands) demoSeed(ctx context.Context, args []string) error {
	flags := cli.NewFlags("demo seed")
	sessions := flags.Int("sessions", demo.Sessions, "")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if *sessions < 1 || *sessions > 20_000 {
		return cli.Usagef("demo seed needs --sessions from 1 to 20000")
	}
	app, err := c.Open(ctx)
	if err != nil {
		return err
	}
	defer app.Close()
	if !app.Policy.Development {
		return errSeedProduction
	}
	fonts, err := pdf.LoadFonts(app.PDFFont)
	if err != nil {
		return err
	}
	signer, err := app.OpenSigner()
	if err != nil {
		return err
	}
	services := func(clock domain.Clock) *demo.Services {
		s := app.Demo(clock)
		s.Signer = signer
		return s
	}
	fmt.Fprintf(c.Out, "Creating %d sessions …\n", *sessions)
	made, err := demo.Fill(ctx, services, fonts, domain.SystemClock.Now(), *sessions)
	if errors.Is(err, demo.ErrSeeded) {
		return errSeeded
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(c.Out, "%s has %d sessions and %d events of the last three months. Sign in on %s/dashboard\n\n", made.Name,
		made.Sessions, made.Events, app.BaseURL)
	for _, staff := range made.Team {
		fmt.Fprintf(c.Out, "  %-10s %s\n", staff.Role, staff.Email)
	}
	fmt.Fprintf(c.Out, "  password   %s\n", demo.Password)
	return nil
}
