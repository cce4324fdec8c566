package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"candor/internal/demo"
	"candor/views/pdf"
)

var (
	errSeedProduction = errors.New("demo seed makes up a partner and customers, which it does in development only: CANDOR_ENV is production")
	errSeeded         = errors.New("the demo partner is in this database already: to start afresh, end candor, delete the data folder (CANDOR_DATA_DIR, .data) and run this again, " +
		"or set DATABASE_URL to an empty database")
)

// runDemoSeed fills the development database with a partner who has been at
// work for three months. What production serves can't be mixed with it.
func runDemoSeed(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("demo seed", flag.ContinueOnError)
	sessions := flags.Int("sessions", demo.Sessions, "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	if *sessions < 1 || *sessions > 20_000 {
		return &usageError{"demo seed needs --sessions from 1 to 20000"}
	}
	c, err := readConfig(p.env)
	if err != nil {
		return err
	}
	if !c.Development {
		return errSeedProduction
	}
	a, err := openApp(ctx, c, newLogger(c, p))
	if err != nil {
		return err
	}
	defer a.close()
	fonts, err := pdf.LoadFonts(c.PDFFont)
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "Making up %d sessions …\n", *sessions)
	made, err := demo.Fill(ctx, a.service.Config, fonts, time.Now(), *sessions)
	if errors.Is(err, demo.ErrSeeded) {
		return errSeeded
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(p.stdout, "%s has %d sessions and %d events of the last three months. Sign in on %s/dashboard\n\n", made.Name, made.Sessions, made.Events, publicURL(c))
	for _, staff := range made.Team {
		fmt.Fprintf(p.stdout, "  %-10s %s\n", staff.Role, staff.Email)
	}
	fmt.Fprintf(p.stdout, "  password   %s\n", demo.Password)
	return nil
}
