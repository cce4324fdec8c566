package cli

import (
	"errors"
	"flag"
	"io"
	"strconv"
	"strings"
	"time"
)

// Flags are a command's flags.
type Flags struct {
	*flag.FlagSet
	JSON bool // --json was given
}

// NewFlags returns flags for the named command.
func NewFlags(command string) *Flags {
	f := &Flags{FlagSet: flag.NewFlagSet(command, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // Parse returns the error
	return f
}

// NewJSONFlags returns flags for a command that can print JSON.
func NewJSONFlags(command string) *Flags {
	f := NewFlags(command)
	f.BoolVar(&f.JSON, "json", false, "")
	return f
}

// Text adds a flag with a text, empty by default.
func (f *Flags) Text(name string) *string { return f.String(name, "", "") }

// Parse reads a command line without other arguments.
func (f *Flags) Parse(args []string) error {
	if err := f.parse(args); err != nil {
		return err
	}
	if f.NArg() > 0 {
		return Usagef("%s: unexpected argument %q", f.Name(), f.Arg(0))
	}
	return nil
}

// ParseWithArgument reads a command line with one argument, before or after the
// flags; what describes it, such as "an id".
func (f *Flags) ParseWithArgument(args []string, what string) (string, error) {
	if err := f.parse(args); err != nil {
		return "", err
	}
	if f.NArg() == 0 {
		return "", Usagef("%s needs %s", f.Name(), what)
	}
	argument := f.Arg(0)
	return argument, f.Parse(f.Args()[1:])
}

func (f *Flags) parse(args []string) error {
	err := f.FlagSet.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return Usagef("%s: %v", f.Name(), err)
	}
	return err
}

// Time adds a flag for a point in time, UTC. *at stays nil without it.
func (f *Flags) Time(name string, at **time.Time) {
	f.Func(name, "", func(text string) error {
		t, err := parseTime(text, time.Now().UTC().Truncate(time.Millisecond))
		*at = &t
		return err
	})
}

// parseTime reads a time, a day, or a duration before now.
func parseTime(text string, now time.Time) (time.Time, error) {
	for _, layout := range []string{time.RFC3339, time.DateOnly} {
		if t, err := time.Parse(layout, text); err == nil {
			return t.UTC(), nil
		}
	}
	if days, ok := strings.CutSuffix(text, "d"); ok {
		if n, err := strconv.ParseUint(days, 10, 12); err == nil {
			return now.AddDate(0, 0, -int(n)), nil
		}
	}
	ago, err := time.ParseDuration(text)
	if err != nil || ago < 0 {
		return time.Time{}, errors.New(
			"give a time such as 2026-11-20T03:00:00Z, a day such as 2026-11-20 (UTC), or a duration before now such as 90m, 24h or 7d")
	}
	return now.Add(-ago), nil
}
