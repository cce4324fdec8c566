// Package cli reads command lines and prints results: commands and their help,
// flags, tables and JSON. It knows no command of its own.
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
)

// A Command is one command of the program.
type Command struct {
	Name    string // one word or more
	Usage   string // its arguments, for help
	Summary string
	Run     func(ctx context.Context, args []string) error // args follow the name
}

// New returns a command.
func New(name, usage, summary string, run func(ctx context.Context, args []string) error) Command {
	return Command{name, usage, summary, run}
}

// A UsageError is a command line that can't be read.
type UsageError struct{ message string }

// Usagef returns a UsageError.
func Usagef(format string, args ...any) error {
	return &UsageError{fmt.Sprintf(format, args...)}
}

// Error returns the message.
func (e *UsageError) Error() string { return e.message }

// Dispatch runs the command that args start with. For -h or --help it prints the
// command's usage to w.
func Dispatch(ctx context.Context, w io.Writer, commands []Command, args []string) error {
	for _, c := range commands {
		words := strings.Fields(c.Name)
		if len(args) < len(words) || strings.Join(args[:len(words)], " ") != c.Name {
			continue
		}
		err := c.Run(ctx, args[len(words):])
		if errors.Is(err, flag.ErrHelp) {
			_, err = fmt.Fprintf(w, "Usage: candor %s %s\n\n%s\n", c.Name, c.Usage, c.Summary)
		}
		return err
	}
	for n := min(len(args), 2); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		if next := nextWords(commands, name); len(next) > 1 {
			last := len(next) - 1
			return Usagef("%s needs %s or %s", name, strings.Join(next[:last], ", "), next[last])
		}
	}
	return Usagef("unknown command %q", args[0])
}

// nextWords lists the words that can follow the start of a command's name.
func nextWords(commands []Command, start string) (out []string) {
	for _, c := range commands {
		rest, ok := strings.CutPrefix(c.Name, start+" ")
		if next, _, _ := strings.Cut(rest, " "); ok && !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	return out
}

// Help lists the commands.
func Help(commands []Command) string {
	var b strings.Builder
	for _, c := range commands {
		fmt.Fprintf(&b, "  %-26s %s\n", c.Name, c.Summary)
		if c.Usage != "" {
			fmt.Fprintf(&b, "  %-26s   %s\n", "", c.Usage)
		}
	}
	return b.String()
}
