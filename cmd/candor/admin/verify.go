package admin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/verify"
)

// verified is the outcome of candor verify.
type verified struct {
	Checks []verify.Check `json:"checks"`
	Failed int            `json:"failed"` // checks that found something wrong
}

// Text is the last line; the checks were printed when they were done.
func (v verified) Text() string {
	if v.Failed > 0 {
		return ""
	}
	return fmt.Sprintf("All %d checks passed.\n", len(v.Checks))
}

// verify checks that what is stored belongs together.
func (c commands) verify(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("verify")
	app, err := c.open(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	stored := &verify.Stored{DB: app.DB, Vault: app.Vault, Now: domain.SystemClock.Now()}
	out := verified{Checks: []verify.Check{}}
	var printing error
	add := func(check verify.Check) {
		out.Checks = append(out.Checks, check)
		if check.Wrong > 0 {
			out.Failed++
		}
		if !flags.JSON {
			_, err := io.WriteString(c.Out, verifiedLine(check))
			printing = errors.Join(printing, err)
		}
	}
	if err := errors.Join(stored.Run(ctx, add), printing); err != nil {
		return err
	}
	keys, err := app.Sealing.Counts(ctx)
	if err != nil {
		return err
	}
	check := verify.Check{Name: "secret keys", Unit: "sealed values"}
	for _, k := range keys {
		check.Examined += int64(k.Values)
		if !k.Configured {
			check.Wrong += int64(k.Values)
			check.Remedy = "Add the keys that candor keys check lists to CANDOR_SECRET_KEYS. Without them these values can't be read."
		}
	}
	add(check)
	failed := error(nil)
	if out.Failed > 0 {
		failed = fmt.Errorf("%d of %d checks found something wrong", out.Failed, len(out.Checks))
	}
	return errors.Join(printing, flags.Print(c.Out, out), failed)
}

// verifiedLine is a check's line, with a second one for the remedy.
func verifiedLine(check verify.Check) string {
	state, found := "ok", ""
	if check.Wrong > 0 {
		state, found = "WRONG", fmt.Sprintf(", %d wrong", check.Wrong)
		if check.Detail != "" {
			found += " (" + check.Detail + ")"
		}
		if check.Example != "" {
			found += ", such as " + check.Example
		}
	}
	line := fmt.Sprintf("%-5s  %s: %d %s%s\n", state, check.Name, check.Examined, check.Unit, found)
	if check.Remedy != "" {
		line += strings.Repeat(" ", 7) + check.Remedy + "\n"
	}
	return line
}
