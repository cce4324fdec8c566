package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"strings"

	"candor/internal/domain"
	"candor/internal/form"
)

// shownSecrets is how far an account's webhook secrets are in their rotation
// (D36).
type shownSecrets struct {
	shownScope
	State         string          `json:"state"`                 // current, or rotating: with a next one
	NextSecret    string          `json:"next_secret,omitempty"` // where it was just made, this once
	NextSince     *form.Timestamp `json:"next_since"`
	PreviousUntil *form.Timestamp `json:"previous_until"` // until when the former one can be restored
	done          string          // what the command has done, in a sentence or more
}

// secretChange is a step of the rotation; it returns a new secret, if it made
// one, and what was done.
type secretChange func(ctx context.Context, a *app, scope domain.Scope) (secret, done string, err error)

func runSecretShowState(ctx context.Context, p *process, args []string) error {
	return runSecret(ctx, p, "show-state", args, func(context.Context, *app, domain.Scope) (string, string, error) {
		return "", "", nil
	})
}

func runSecretNext(ctx context.Context, p *process, args []string) error {
	return runSecret(ctx, p, "next", args, func(ctx context.Context, a *app, scope domain.Scope) (string, string, error) {
		secret, err := a.service.NextWebhookSecret(ctx, scope, operator)
		return secret, "", err
	})
}

func runSecretSwitch(ctx context.Context, p *process, args []string) error {
	return runSecret(ctx, p, "switch", args, func(ctx context.Context, a *app, scope domain.Scope) (string, string, error) {
		return "", "Switched: what is sent from now on is signed with the new secret alone.\n" + underWay, a.service.SwitchWebhookSecret(ctx, scope, operator)
	})
}

func runSecretRestore(ctx context.Context, p *process, args []string) error {
	return runSecret(ctx, p, "restore", args, func(ctx context.Context, a *app, scope domain.Scope) (string, string, error) {
		return "", "Restored: the former secret is the current one again, and the one it replaces is the next one.\n" + underWay, a.service.RestoreWebhookSecret(ctx, scope, operator)
	})
}

func runSecretAbandon(ctx context.Context, p *process, args []string) error {
	return runSecret(ctx, p, "abandon", args, func(ctx context.Context, a *app, scope domain.Scope) (string, string, error) {
		return "", "Abandoned: the next secret is erased and signs nothing any more.", a.service.AbandonNextWebhookSecret(ctx, scope, operator)
	})
}

// underWay is what a change can't call back.
const underWay = "An attempt that had begun before may still arrive within 15 seconds: let the receiver accept both secrets for some minutes yet."

func runSecret(ctx context.Context, p *process, step string, args []string, change secretChange) error {
	flags := flag.NewFlagSet("webhooks secret "+step, flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	a, scope, shown, err := openScoped(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer a.close()
	// Seen through when interrupted, or nobody would know what came of it.
	ctx = context.WithoutCancel(ctx)
	secret, done, err := change(ctx, a, scope)
	if err != nil {
		return err
	}
	state, err := a.service.WebhookSecrets(ctx, scope)
	if err != nil {
		// The secret can't be shown again.
		return fmt.Errorf("the change was made, %s, but its outcome can't be shown: %w", strings.Join([]string{step, secret}, " "), err)
	}
	out := &shownSecrets{
		shownScope: shown, State: "current", NextSecret: secret, NextSince: form.AtOptional(state.NextSince), PreviousUntil: form.AtOptional(state.PreviousUntil), done: done,
	}
	if out.NextSince != nil {
		out.State = "rotating"
	}
	if *asJSON {
		return writeJSON(p.stdout, out)
	}
	_, err = io.WriteString(p.stdout, out.text())
	return err
}

func (s *shownSecrets) text() string {
	var b strings.Builder
	fmt.Fprintln(&b, s.shownScope)
	if s.done != "" {
		fmt.Fprintln(&b, s.done)
	}
	switch {
	case s.NextSecret != "":
		fmt.Fprintf(&b, "The next webhook secret, shown this once:\n\n    %s\n\n", s.NextSecret)
		fmt.Fprintln(&b, "1. Let the receiver accept either secret: X-Webhook-Signature is of the current one until the switch, webhook-signature has one of each.")
		if !s.Livemode {
			fmt.Fprintf(&b, "   Try it:                     candor webhooks test --account %s\n", s.AccountID)
		}
		fmt.Fprintf(&b, "2. Then sign with the next:    %s\n", s.command("switch"))
		fmt.Fprintf(&b, "   Or give it up:              %s\n", s.command("abandon"))
	case s.NextSince != nil:
		fmt.Fprintf(&b, "There is a next secret since %s. X-Webhook-Signature is of the current one, webhook-signature has one of each.\n", stamp(s.NextSince))
		fmt.Fprintf(&b, "Once the receiver accepts it:  %s\n", s.command("switch"))
		fmt.Fprintf(&b, "To give it up:                 %s\n", s.command("abandon"))
	default:
		fmt.Fprintln(&b, "Deliveries are signed with one secret; there is no next one.")
		if s.PreviousUntil == nil {
			fmt.Fprintf(&b, "To replace it:                 %s\n", s.command("next"))
		}
	}
	if s.PreviousUntil != nil {
		fmt.Fprintf(&b, "The former secret can be restored until %s, then it is erased.\n", stamp(s.PreviousUntil))
		fmt.Fprintf(&b, "To sign with it again:         %s\n", s.command("restore"))
	}
	return b.String()
}

func (s *shownSecrets) command(step string) string {
	command := "candor webhooks secret " + step + " --account " + s.AccountID
	if s.Livemode {
		command += " --live"
	}
	return command
}
