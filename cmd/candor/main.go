// Candor collects financial statements: a JSON API for partners, a form for
// their customers, signed webhooks. This command wires everything together and
// is the only reader of the environment; see `candor help`.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"candor/internal/domain"
)

// command is a subcommand. Its run gets what stands behind its name.
type command struct {
	name    string
	usage   string // the arguments, for help
	summary string
	run     func(ctx context.Context, p *process, args []string) error
}

// process is what a command has of the operating system.
type process struct {
	env    func(name string) (string, bool)
	stdout io.Writer
	stderr io.Writer
}

func commands() []command {
	return []command{
		{"serve", "", "web server and workers in one process (the default)", runServe},
		{"web", "", "web server alone", runWeb},
		{"worker", "", "workers alone: webhooks, PDFs, expiry, retention", runWorker},
		{"migrate", "[--json]", "bring the database's schema up to date", runMigrate},
		{"account create", "--name N --email E --plan P [--webhook-url U] [--json]", "make a partner's account and show its secrets once", runAccountCreate},
		{"account approve", "--account A", "open live mode to an account that signed up", runAccountApprove},
		{"account list", "[--json]", "list the accounts", runAccountList},
		{"staff reset-factors", "--email E", "let a staff user who lost every second factor sign in with the password alone", runStaffResetFactors},
		{"webhooks list", "--account A [--live] [--state S] [--endpoint URL] [--type T] [--status 5xx|timeout|…] [--session ID] [--since T] [--until T] [--before N] [--limit N] [--json]", "list webhook deliveries, newest event first", runWebhooksList},
		{"webhooks show", "ID [--account A] [--live] [--json]", "show a delivery with its attempts and body", runWebhooksShow},
		{"webhooks retry", "ID [--account A] [--live] [--json]", "make one delivery again, now", runWebhooksRetry},
		{"webhooks cancel", "ID [--account A] [--live] [--json]", "end a pending delivery", runWebhooksCancel},
		{"webhooks endpoints", "--account A [--live] [--json]", "list webhook endpoints with their health", runWebhooksEndpoints},
		{"webhooks redeliver", "--account A [--live] --since T [--until T] [--endpoint URL] [--type T] [--status 5xx|timeout|…] [--rate N] [--yes] [--json]", "make failed deliveries again; without --yes only count them", runWebhooksRedeliver},
		{"webhooks redeliveries", "--account A [--live] [--json]", "list what webhooks redeliver has started", runWebhooksRedeliveries},
		{"webhooks stop", "ID [--account A] [--live] [--json]", "stop what webhooks redeliver has started", runWebhooksStop},
		{"webhooks test", "--account A [--url U] [--json]", "send a test event and show request and response", runWebhooksTest},
		{"webhooks secret show-state", "--account A [--live] [--json]", "tell how far the rotation of a webhook secret is", runSecretShowState},
		{"webhooks secret next", "--account A [--live] [--json]", "make the next webhook secret and show it once", runSecretNext},
		{"webhooks secret switch", "--account A [--live] [--json]", "sign with the next webhook secret", runSecretSwitch},
		{"webhooks secret restore", "--account A [--live] [--json]", "take a switch back, within 24 hours", runSecretRestore},
		{"webhooks secret abandon", "--account A [--live] [--json]", "erase the next webhook secret", runSecretAbandon},
		{"billing show", "--account A [--json]", "show an account's plan, period and usage", runBillingShow},
		{"billing plan", "--account A --plan P [--terms-changed] [--json]", "change the plan: up at once, down at the period's end", runBillingPlan},
		{"billing cancel", "--account A --reason R [--now] [--terms-changed] [--json]", "cancel the subscription, at the period's end or now; --terms-changed: GST, due days and seller are meant to differ from the newest invoice's", runBillingCancel},
		{"billing reactivate", "--account A [--json]", "take a cancellation back before it takes effect", runBillingReactivate},
		{"billing subscribe", "--account A --plan P [--json]", "start a new subscription where there is none", runBillingSubscribe},
		{"billing invoices", "[--account A] [--json]", "list what is owed, or all invoices of an account", runBillingInvoices},
		{"billing paid", "NUMBER --note REFERENCE [--json]", "note that an invoice was paid", runBillingPaid},
		{"billing failed", "NUMBER --note REASON [--json]", "note that a payment failed; the partner is told why", runBillingFailed},
		{"billing void", "NUMBER --note REASON [--json]", "take an invoice back", runBillingVoid},
		{"billing recount", "[--json]", "count used sessions anew and show what is counted wrongly", runBillingRecount},
		{"keys check", "[--json]", "list what is sealed by which secret key; fails if one isn't configured", runKeysCheck},
		{"keys reseal", "[--json]", "seal by the first secret key what another one sealed", runKeysReseal},
		{"demo seed", "[--sessions N]", "in development: make up a partner with three months of work", runDemoSeed},
		{"version", "[--json]", "tell what was built", runVersion},
		{"help", "", "show this", runHelp},
	}
}

func main() {
	os.Exit(run(os.Args[1:], &process{env: os.LookupEnv, stdout: os.Stdout, stderr: os.Stderr}))
}

// untilSignal returns a context that the first signal ends, which asks for a
// drain. The second one ends the process at once. Both come through one
// channel: with the first one's handler taken down after it, a second that came
// quickly would be lost.
func untilSignal() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		<-signals
		os.Exit(exitInterrupted)
	}()
	return ctx, cancel
}

// exitInterrupted is what shells give a process that was interrupted.
const exitInterrupted = 130

// run is the whole program and returns its exit code: 1 for a failure, 2 for
// a command line that can't be read.
func run(args []string, p *process) int {
	ctx, stop := untilSignal()
	defer stop()

	err := dispatch(ctx, p, args)
	var wrong *usageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &wrong):
		fmt.Fprintf(p.stderr, "candor: %s; see candor help\n", wrong.message)
		return 2
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return 1 // interrupted while starting: whoever did it knows
	}
	fmt.Fprintf(p.stderr, "candor: %s\n", publicText(err))
	return 1
}

func dispatch(ctx context.Context, p *process, args []string) error {
	if len(args) == 0 {
		args = []string{"serve"}
	}
	switch args[0] {
	case "-h", "-help", "--help":
		return runHelp(ctx, p, nil)
	case "-version", "--version":
		return runVersion(ctx, p, args[1:])
	}
	for _, c := range commands() {
		words := strings.Fields(c.name)
		if len(args) < len(words) || strings.Join(args[:len(words)], " ") != c.name {
			continue
		}
		err := c.run(ctx, p, args[len(words):])
		if errors.Is(err, flag.ErrHelp) {
			_, err = fmt.Fprintf(p.stdout, "Usage: candor %s %s\n\n%s\n", c.name, c.usage, c.summary)
		}
		return err
	}
	for n := min(len(args), 2); n > 0; n-- {
		name := strings.Join(args[:n], " ")
		if next := nextWords(name); len(next) > 1 {
			last := len(next) - 1
			return &usageError{name + " needs " + strings.Join(next[:last], ", ") + " or " + next[last]}
		}
	}
	return &usageError{fmt.Sprintf("there is no command %q", args[0])}
}

// nextWords are those that make commands of what stands before them.
func nextWords(before string) (out []string) {
	for _, c := range commands() {
		rest, ok := strings.CutPrefix(c.name, before+" ")
		if next, _, _ := strings.Cut(rest, " "); ok && !slices.Contains(out, next) {
			out = append(out, next)
		}
	}
	return out
}

// usageError is a command line that can't be read.
type usageError struct{ message string }

// Error returns the message.
func (e *usageError) Error() string { return e.message }

// parseFlags reads a command's flags; there are no other arguments.
func parseFlags(flags *flag.FlagSet, args []string) error {
	if err := parseSome(flags, args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return &usageError{fmt.Sprintf("%s: unexpected argument %q", flags.Name(), flags.Arg(0))}
	}
	return nil
}

// parseSome reads a command's flags up to the first other argument.
func parseSome(flags *flag.FlagSet, args []string) error {
	flags.SetOutput(io.Discard)
	err := flags.Parse(args)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		return &usageError{flags.Name() + ": " + err.Error()}
	}
	return err
}

// publicText is an error for the operator's eyes: without the API's code.
func publicText(err error) string {
	var known *domain.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return err.Error()
}

func runHelp(_ context.Context, p *process, _ []string) error {
	var b strings.Builder
	b.WriteString("Candor collects financial statements.\n\nUsage: candor [command] [flags]\n\n")
	for _, c := range commands() {
		fmt.Fprintf(&b, "  %-26s %s\n", c.name, c.summary)
		if c.usage != "" {
			fmt.Fprintf(&b, "  %-26s   %s\n", "", c.usage)
		}
	}
	b.WriteString("\nIt is configured by the environment:\n\n")
	for _, v := range new(Config).variables() {
		fmt.Fprintf(&b, "  %-24s %s\n", v.name, v.summary)
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}
