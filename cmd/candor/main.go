// Candor collects financial statements: a JSON API for partners, a form for
// their customers, signed webhooks. This command wires everything together and
// is the only reader of the environment; see `candor help`.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"candor/cmd/candor/admin"
	"candor/cmd/candor/cli"
	"candor/cmd/candor/config"
	"candor/handlers/api"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/platform/pdfsign"
	"candor/internal/service"
	"candor/internal/vault"
	"candor/views/dashboard"
)

func main() {
	os.Exit(run(os.Args[1:], &process{env: os.LookupEnv, environ: os.Environ, stdout: os.Stdout, stderr: os.Stderr}))
}

// process is what the commands use of the operating system.
type process struct {
	env     func(name string) (string, bool)
	environ func() []string // every variable, as NAME=value
	stdout  io.Writer
	stderr  io.Writer
}

func (p *process) commands() []cli.Command {
	operators := admin.Commands(admin.Config{Out: p.stdout, Err: p.stderr, Open: p.openAdmin})
	return append(append([]cli.Command{
		cli.New("serve", "", "web server and workers in one process (the default)", p.serve("serve", roles{web: true, worker: true})),
		cli.New("web", "", "web server alone", p.serve("web", roles{web: true})),
		cli.New("worker", "", "workers alone: webhooks, PDFs, expiry, retention", p.serve("worker", roles{worker: true})),
		cli.New("migrate", "[--json]", "migrate the database's schema", p.migrate),
		cli.New("config check", "", "check the settings and list every error with its remedy", p.configCheck),
		cli.New("doctor", "[--url U] [--json]",
			"examine what the service needs, with a remedy for what is wrong; --url tries the way that webhooks take", p.doctor),
		cli.New("health", "", "ask the process that runs with these settings whether it is alive", p.health),
	}, operators...),
		cli.New("version", "[--json]", "show the version of this program", p.version),
		cli.New("help", "", "show this help", p.help),
	)
}

// exitInterrupted is the exit code that shells give an interrupted process.
const exitInterrupted = 130

// run runs a command and returns the exit code: 1 for a failure, 2 for a command
// line that can't be read.
func run(args []string, p *process) int {
	ctx, stop := untilSignal()
	defer stop()

	err := p.dispatch(ctx, args)
	var usage *cli.UsageError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &usage):
		fmt.Fprintf(p.stderr, "candor: %s; see candor help\n", usage)
		return 2
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		return 1 // interrupted while starting: no message needed
	}
	fmt.Fprintf(p.stderr, "candor: %s\n", publicText(err))
	return 1
}

// untilSignal returns a context that ends at the first signal, which starts the
// shutdown. The second signal ends the process at once. Both use one channel: if
// the first one's handler were removed, a second signal soon after it could be
// lost.
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

func (p *process) dispatch(ctx context.Context, args []string) error {
	args, err := p.readEnvFile(args)
	if err != nil {
		return err
	}
	if len(args) == 0 {
		args = []string{"serve"}
	}
	switch args[0] {
	case "-h", "-help", "--help":
		return p.help(ctx, nil)
	case "-version", "--version":
		return p.version(ctx, args[1:])
	}
	return cli.Dispatch(ctx, p.stdout, p.commands(), args)
}

// publicText is an error for operators: without the API's code. Fields that a
// command names are worded as the API's, others as the dashboard's.
func publicText(err error) string {
	if known, ok := errors.AsType[*domain.Error](err); ok {
		return known.Text(func(e form.Error) string {
			if _, ok := api.Words.Rules[e.Rule.Code]; ok && e.Rule.Of == "" {
				return api.Words.Say(e)
			}
			return dashboard.Words.Say(e)
		})
	}
	return err.Error()
}

// openAdmin opens the App for an operators' command. The command's output is on
// standard output, so the log goes to standard error.
func (p *process) openAdmin(ctx context.Context) (*admin.App, error) {
	c, err := config.Read(p.env)
	if err != nil {
		return nil, err
	}
	a, err := openApp(ctx, "command", c, newLogger(c, p.stderr, p.stderr))
	if err != nil {
		return nil, err
	}
	return &admin.App{
		DB: a.db, Vault: vault.New(a.ring, a.blobs), Moving: a.moving, Terms: a.made.Terms, Policy: a.made.Policy,
		BaseURL:  a.made.BaseURL,
		Accounts: a.services.Accounts, Auth: a.services.StaffAuth, SSO: a.services.SSO,
		Billing: a.services.Billing, Sealing: a.services.Sealing,
		Webhooks: a.services.Webhooks,
		Demo: func(clock domain.Clock) *admin.Demo {
			config := a.made
			config.Clock = clock
			s := service.New(config)
			return &admin.Demo{
				DB: a.db, Ring: a.ring, Vault: vault.New(a.ring, a.blobs), BaseURL: a.made.BaseURL, Terms: a.made.Terms,
				Accounts: s.Accounts, Auth: s.StaffAuth, Keys: s.Keys, Sessions: s.Sessions, Team: s.Team, Webhooks: s.Webhooks,
			}
		},
		PDFFont: c.PDFFont, OpenSigner: func() (*pdfsign.Signer, error) { return openSigner(c) }, Close: a.close,
	}, nil
}

func (p *process) help(context.Context, []string) error {
	var b strings.Builder
	b.WriteString("Candor collects financial statements.\n\nUsage: candor [--env-file FILE] [command] [flags]\n\n")
	b.WriteString(cli.Help(p.commands()))
	b.WriteString("\nEnvironment variables:\n\n")
	for _, v := range new(config.Config).Variables() {
		fmt.Fprintf(&b, "  %-24s %s\n", v.Name, v.Summary)
		if v.File() != "" {
			fmt.Fprintf(&b, "  %-24s or in the file of %s\n", "", v.File())
		}
	}
	_, err := io.WriteString(p.stdout, b.String())
	return err
}
