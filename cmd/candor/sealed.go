package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"text/tabwriter"
	"time"
)

// shownSeal is how many values of a kind one secret key sealed.
type shownSeal struct {
	Kind       string `json:"kind"`
	Key        string `json:"key"`
	Values     int    `json:"values"`
	Configured bool   `json:"configured"`
}

var errKeysMissing = errors.New("something is sealed by a secret key that isn't configured: add that key to CANDOR_SECRET_KEYS, after the first one")

// runKeysCheck lists what is sealed by which key. It fails if one of the keys
// isn't configured.
func runKeysCheck(ctx context.Context, p *process, args []string) error {
	a, asJSON, err := openKeysCommand(ctx, p, "keys check", args)
	if err != nil {
		return err
	}
	defer a.close()
	sealed, err := a.service.SealedBy(ctx)
	if err != nil {
		return err
	}
	out, missing := []shownSeal{}, error(nil)
	for _, s := range sealed {
		out = append(out, shownSeal(s))
		if !s.Configured {
			missing = errKeysMissing
		}
	}
	if asJSON {
		return errors.Join(writeJSON(p.stdout, out), missing)
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tKEY\tVALUES\tCONFIGURED")
	for _, s := range out {
		fmt.Fprintf(table, "%s\t%s\t%d\t%s\n", s.Kind, printable(s.Key), s.Values, yesNo(s.Configured))
	}
	return errors.Join(table.Flush(), missing)
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// shownReseal is what became of a kind of sealed values.
type shownReseal struct {
	Kind     string `json:"kind"`
	Resealed int    `json:"resealed"`
	Left     int    `json:"left"` // that no configured key opens
}

// runKeysReseal seals by the newest key what an older one sealed, and what
// earlier releases stored in clear.
func runKeysReseal(ctx context.Context, p *process, args []string) error {
	a, asJSON, err := openKeysCommand(ctx, p, "keys reseal", args)
	if err != nil {
		return err
	}
	defer a.close()
	fromClear, err := a.service.Vault.SealOld(ctx, a.db)
	if err != nil {
		return err
	}
	out := []shownReseal{{Kind: "sessions stored in clear", Resealed: fromClear}}
	resealed, err := a.service.Reseal(ctx)
	if err != nil {
		return err
	}
	left := error(nil)
	for _, r := range resealed {
		out = append(out, shownReseal(r))
		if r.Left > 0 {
			left = errKeysMissing
		}
	}
	if asJSON {
		return errors.Join(writeJSON(p.stdout, out), left)
	}
	table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "KIND\tRESEALED\tLEFT")
	for _, r := range out {
		fmt.Fprintf(table, "%s\t%d\t%d\n", r.Kind, r.Resealed, r.Left)
	}
	return errors.Join(table.Flush(), left)
}

func openKeysCommand(ctx context.Context, p *process, name string, args []string) (a *app, asJSON bool, err error) {
	flags := flag.NewFlagSet(name, flag.ContinueOnError)
	flags.BoolVar(&asJSON, "json", false, "")
	if err := parseFlags(flags, args); err != nil {
		return nil, false, err
	}
	a, err = openCommand(ctx, p)
	return a, asJSON, err
}

// sealCheckTime bounds the look at what is sealed when a process starts.
const sealCheckTime = 5 * time.Second

// warnOfKeys logs what is sealed by a secret key that isn't configured. The
// process starts all the same: most of it works without that key.
func (a *app) warnOfKeys(ctx context.Context, logger *slog.Logger) {
	bounded, cancel := context.WithTimeout(ctx, sealCheckTime)
	defer cancel()
	sealed, err := a.service.SealedBy(bounded)
	if err != nil {
		logger.WarnContext(ctx, "can't tell which secret keys are in use: run candor keys check", "error", err)
		return
	}
	for _, s := range sealed {
		if !s.Configured {
			logger.ErrorContext(ctx, "sealed by a secret key that isn't configured: add it to CANDOR_SECRET_KEYS", "kind", s.Kind, "key", s.Key, "values", s.Values)
		}
	}
}
