// Package admin holds the operators' commands: accounts, webhook deliveries,
// billing, issued PDFs, secret keys, documents and demo data. It works on the use cases that
// cmd/candor opens, and reads no environment.
package admin

import (
	"context"
	"io"

	"candor/cmd/candor/cli"
	"candor/db"
	ledger "candor/internal/billing"
	"candor/internal/demo"
	"candor/internal/domain"
	"candor/internal/platform/blob"
	"candor/internal/platform/pdfsign"
	"candor/internal/service/accounts"
	"candor/internal/service/billing"
	"candor/internal/service/sealing"
	"candor/internal/service/staff/auth"
	"candor/internal/service/staff/sso"
	"candor/internal/service/webhooks"
	"candor/internal/vault"
	"candor/internal/webhook"
)

// Config is what the commands need of the process.
type Config struct {
	Out io.Writer
	Err io.Writer // for what a command says while it runs
	// Open opens the use cases. The commands call it after they have read their
	// command line, and close the App at their end.
	Open func(ctx context.Context) (*App, error)
}

// Demo are the use cases that create the demo partner.
type Demo = demo.Services

// App is what the commands work on.
type App struct {
	DB      *db.DB
	Vault   *vault.Vault
	Moving  *blob.Moving // nil if documents have one place
	Terms   ledger.Terms
	Policy  webhook.Policy
	BaseURL string

	Accounts *accounts.Service
	Auth     *auth.Service
	SSO      *sso.Service
	Billing  *billing.Service
	Sealing  *sealing.Service
	Webhooks *webhooks.Service

	// Demo opens the use cases with the clock of the demo partner.
	Demo func(domain.Clock) *Demo

	PDFFont    string                          // CANDOR_PDF_FONT, "" for none
	OpenSigner func() (*pdfsign.Signer, error) // of PDFs; it returns nil if they aren't signed
	Close      func()
}

// operator is who runs the commands, for the audit log.
var operator = domain.Actor{Kind: domain.ActorOperator, ID: "command", Name: "operator"}

// commands are the operators' commands; each is a method.
type commands struct{ Config }

// Commands returns the operators' commands in the order of the help.
func Commands(config Config) []cli.Command {
	c := commands{config}
	return []cli.Command{
		cli.New("account create", "--name N --email E --plan P [--webhook-url U] [--json]",
			"create a partner's account and show its secrets once", c.accountCreate),
		cli.New("account approve", "--account A", "open live mode for an account that signed up", c.accountApprove),
		cli.New("account list", "[--json]", "list accounts", c.accountList),
		cli.New("staff reset-factors", "--email E", "let a staff user who lost every second factor sign in with the password alone",
			c.staffResetFactors),
		cli.New("sso verify-domain", "--account A --domain D", "verify a domain of an account's company sign-in without its DNS record",
			c.ssoVerifyDomain),
		cli.New("sso allow-passwords", "--account A", "let passwords and passkeys in again where only the company's sign-in did",
			c.ssoAllowPasswords),
		cli.New("sso remove", "--account A", "remove an account's company sign-in: everyone can choose a password", c.ssoRemove),
		cli.New("webhooks list",
			"--account A [--live] [--state S] [--endpoint URL] [--type T] [--status 5xx|timeout|…] [--session ID] [--since T] [--until T] [--before N] [--limit N] [--json]", "list webhook deliveries, newest event first", c.webhooksList),
		cli.New("webhooks show", "ID [--account A] [--live] [--json]", "show a delivery with its attempts and body", c.webhooksShow),
		cli.New("webhooks retry", "ID [--account A] [--live] [--json]", "retry a delivery now", c.webhooksRetry),
		cli.New("webhooks cancel", "ID [--account A] [--live] [--json]", "cancel a pending delivery", c.webhooksCancel),
		cli.New("webhooks endpoints", "--account A [--live] [--json]", "list webhook endpoints with their health", c.webhooksEndpoints),
		cli.New("webhooks redeliver",
			"--account A [--live] --since T [--until T] [--endpoint URL] [--type T] [--status 5xx|timeout|…] [--rate N] [--yes] [--json]",
			"redeliver failed deliveries; without --yes only count them", c.webhooksRedeliver),
		cli.New("webhooks redeliveries", "--account A [--live] [--json]", "list what webhooks redeliver has started",
			c.webhooksRedeliveries),
		cli.New("webhooks stop", "ID [--account A] [--live] [--json]", "stop what webhooks redeliver has started", c.webhooksStop),
		cli.New("webhooks test", "--account A [--type T] [--url U] [--json]", "send a test event and show request and response",
			c.webhooksTest),
		cli.New("webhooks secret show-state", "--account A [--live] [--json]", "show the state of a webhook secret's rotation",
			c.secretShowState),
		cli.New("webhooks secret next", "--account A [--live] [--json]", "create the next webhook secret and show it once",
			c.secretNext),
		cli.New("webhooks secret switch", "--account A [--live] [--json]", "sign with the next webhook secret", c.secretSwitch),
		cli.New("webhooks secret restore", "--account A [--live] [--json]", "undo a switch within 24 hours", c.secretRestore),
		cli.New("webhooks secret abandon", "--account A [--live] [--json]", "erase the next webhook secret", c.secretAbandon),
		cli.New("billing show", "--account A [--json]", "show an account's plan, period and usage", c.billingShow),
		cli.New("billing plan", "--account A --plan P [--terms-changed] [--json]",
			"change the plan: up at once, down at the end of the period", c.billingPlan),
		cli.New("billing cancel", "--account A --reason R [--now] [--terms-changed] [--json]",
			"cancel the subscription at the end of the period, or now; --terms-changed accepts GST, due days or a seller that differ from the newest invoice's", c.billingCancel),
		cli.New("billing reactivate", "--account A [--json]", "undo a cancellation before it takes effect", c.billingReactivate),
		cli.New("billing subscribe", "--account A --plan P [--json]", "start a new subscription for an account without one",
			c.billingSubscribe),
		cli.New("billing invoices", "[--account A] [--json]", "list unpaid invoices, or all invoices of an account", c.billingInvoices),
		cli.New("billing paid", "NUMBER --note REFERENCE [--json]", "record that an invoice was paid", c.billingPaid),
		cli.New("billing failed", "NUMBER --note REASON [--json]", "record that a payment failed; the partner sees the reason",
			c.billingFailed),
		cli.New("billing void", "NUMBER --note REASON [--json]", "void an invoice", c.billingVoid),
		cli.New("billing recount", "[--json]", "count used sessions again and list wrong counts", c.billingRecount),
		cli.New("pdf verify", "FILE|- [--json]", "say whether a statement's PDF has the bytes that were issued", c.pdfVerify),
		cli.New("keys check", "[--json]", "list what each secret key has sealed; fails if one isn't configured", c.keysCheck),
		cli.New("keys reseal", "[--json]", "seal with the first secret key what another one has sealed", c.keysReseal),
		cli.New("blobs move", "[--dry-run] [--json]", "move documents to the place that CANDOR_BLOBS names, while the service runs",
			c.blobsMove),
		cli.New("verify", "[--json]",
			"check that counters, events, deliveries, invoices, documents and PDFs belong together; fails if something is wrong",
			c.verify),
		cli.New("demo seed", "[--sessions N]", "in development: create a demo partner with three months of work", c.demoSeed),
	}
}
