package admin

import (
	"context"
	"fmt"
	"strings"

	"candor/cmd/candor/cli"
	"candor/internal/form"
)

// shownSecrets is the state of a webhook secret's rotation (D36).
type shownSecrets struct {
	shownScope
	State         string          `json:"state"`                 // current; rotating if there is a next secret
	NextSecret    string          `json:"next_secret,omitempty"` // only when it was just created
	NextSince     *form.Timestamp `json:"next_since"`
	PreviousUntil *form.Timestamp `json:"previous_until"` // until when the previous secret can be restored
	done          string          // what the command did
}

// secretChange is a step of the rotation. It returns a new secret, if it created
// one, and what it did.
type secretChange func(ctx context.Context, app *scopedApp) (secret, done string, err error)

// lateAttempts follows a change of the signing secret.
const lateAttempts = "An attempt that started before this can still arrive within 15 seconds: let the receiver accept both secrets for a few minutes."

func (c commands) secretShowState(ctx context.Context, args []string) error {
	return c.secret(ctx, "show-state", args, func(context.Context, *scopedApp) (string, string, error) { return "", "", nil })
}

func (c commands) secretNext(ctx context.Context, args []string) error {
	return c.secret(ctx, "next", args, func(ctx context.Context, app *scopedApp) (string, string, error) {
		secret, err := app.Webhooks.CreateNextSecret(ctx, app.scope, nil, operator)
		return secret, "", err
	})
}

func (c commands) secretSwitch(ctx context.Context, args []string) error {
	return c.secret(ctx, "switch", args, func(ctx context.Context, app *scopedApp) (string, string, error) {
		return "", "Switched. Webhooks are now signed with the new secret only.\n" + lateAttempts, app.Webhooks.SwitchSecret(ctx,
			app.scope, nil, operator)
	})
}

func (c commands) secretRestore(ctx context.Context, args []string) error {
	return c.secret(ctx, "restore", args, func(ctx context.Context, app *scopedApp) (string, string, error) {
		return "", "Restored. The previous secret is current again; the secret that it replaces is the next one.\n" +
			lateAttempts, app.Webhooks.RestoreSecret(ctx, app.scope, nil, operator)
	})
}

func (c commands) secretAbandon(ctx context.Context, args []string) error {
	return c.secret(ctx, "abandon", args, func(ctx context.Context, app *scopedApp) (string, string, error) {
		return "", "Abandoned. The next secret is erased and no longer signs anything.", app.Webhooks.AbandonNextSecret(ctx, app.scope,
			nil, operator)
	})
}

// secret makes one step and shows the state after it.
func (c commands) secret(ctx context.Context, step string, args []string, change secretChange) error {
	flags := cli.NewJSONFlags("webhooks secret " + step)
	app, err := c.openScope(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	// An interrupt doesn't stop a change, because its outcome would be unknown.
	ctx = context.WithoutCancel(ctx)
	secret, done, err := change(ctx, app)
	if err != nil {
		return err
	}
	state, err := app.Webhooks.Secrets(ctx, app.scope, nil)
	if err != nil {
		// The error has the secret, because it can't be shown again.
		return fmt.Errorf("%s was done, but the new state can't be read: %w", strings.TrimSpace(step+" "+secret), err)
	}
	out := &shownSecrets{
		shownScope: app.shown, State: "current", NextSecret: secret, NextSince: form.AtOptional(state.NextSince),
		PreviousUntil: form.AtOptional(state.PreviousUntil), done: done,
	}
	if out.NextSince != nil {
		out.State = "rotating"
	}
	return flags.Print(c.Out, out)
}

// Text says what was done and which command is next.
func (s *shownSecrets) Text() string {
	var b strings.Builder
	fmt.Fprintln(&b, s.shownScope)
	if s.done != "" {
		fmt.Fprintln(&b, s.done)
	}
	switch {
	case s.NextSecret != "":
		fmt.Fprintf(&b, "The next webhook secret, shown once:\n\n    %s\n\n", s.NextSecret)
		fmt.Fprintln(&b,
			"1. Let the receiver accept both secrets. X-Webhook-Signature is signed with the current one until the switch, webhook-signature with both.")
		if !s.Livemode {
			fmt.Fprintf(&b, "   To try it:                  candor webhooks test --account %s\n", s.AccountID)
		}
		fmt.Fprintf(&b, "2. Sign with the next secret:  %s\n", s.command("switch"))
		fmt.Fprintf(&b, "   Or erase it:                %s\n", s.command("abandon"))
	case s.NextSince != nil:
		fmt.Fprintf(&b,
			"There is a next secret since %s. X-Webhook-Signature is signed with the current one, webhook-signature with both.\n",
			cli.Time(*s.NextSince))
		fmt.Fprintf(&b, "When the receiver accepts it:  %s\n", s.command("switch"))
		fmt.Fprintf(&b, "To erase it:                   %s\n", s.command("abandon"))
	default:
		fmt.Fprintln(&b, "Deliveries are signed with one secret. There is no next secret.")
		if s.PreviousUntil == nil {
			fmt.Fprintf(&b, "To rotate it:                  %s\n", s.command("next"))
		}
	}
	if s.PreviousUntil != nil {
		fmt.Fprintf(&b, "The previous secret can be restored until %s. Then it is erased.\n", cli.Time(*s.PreviousUntil))
		fmt.Fprintf(&b, "To sign with it again:         %s\n", s.command("restore"))
	}
	return b.String()
}

func (s *shownSecrets) command(step string) string {
	return "candor webhooks secret " + step + " --account " + s.AccountID + s.liveFlag()
}
