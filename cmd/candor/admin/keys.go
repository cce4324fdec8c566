package admin

import (
	"context"
	"errors"

	"candor/cmd/candor/cli"
)

var errKeysMissing = errors.New(
	"some values are sealed by a secret key that isn't configured: add that key to CANDOR_SECRET_KEYS, after the first one")

// sealedValues counts the values of a kind that one secret key sealed.
type sealedValues struct {
	Kind       string `json:"kind"`
	Key        string `json:"key"`
	Values     int    `json:"values"`
	Configured bool   `json:"configured"`
}

type sealedList []sealedValues

// Text lists the kinds and keys.
func (l sealedList) Text() string {
	table := cli.NewTable("KIND", "KEY", "VALUES", "CONFIGURED")
	for _, s := range l {
		table.Row(s.Kind, s.Key, s.Values, s.Configured)
	}
	return table.String()
}

// keysCheck lists what each key has sealed. It fails if one of the keys isn't
// configured.
func (c commands) keysCheck(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("keys check")
	app, err := c.open(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	sealed, err := app.Sealing.Counts(ctx)
	if err != nil {
		return err
	}
	list, missing := sealedList{}, error(nil)
	for _, s := range sealed {
		list = append(list, sealedValues(s))
		if !s.Configured {
			missing = errKeysMissing
		}
	}
	return errors.Join(flags.Print(c.Out, list), missing)
}

// resealedValues counts what keys reseal did for one kind.
type resealedValues struct {
	Kind     string `json:"kind"`
	Resealed int    `json:"resealed"`
	Left     int    `json:"left"` // that no configured key opens
}

type resealedList []resealedValues

// Text lists the kinds.
func (l resealedList) Text() string {
	table := cli.NewTable("KIND", "RESEALED", "LEFT")
	for _, r := range l {
		table.Row(r.Kind, r.Resealed, r.Left)
	}
	return table.String()
}

// keysReseal seals with the newest key what an older one sealed.
func (c commands) keysReseal(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("keys reseal")
	app, err := c.open(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	list, missing := resealedList{}, error(nil)
	resealed, err := app.Sealing.Reseal(ctx)
	if err != nil {
		return err
	}
	for _, r := range resealed {
		list = append(list, resealedValues(r))
		if r.Left > 0 {
			missing = errKeysMissing
		}
	}
	return errors.Join(flags.Print(c.Out, list), missing)
}
