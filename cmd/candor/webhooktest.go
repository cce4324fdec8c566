package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"candor/internal/form"
	"candor/internal/service"
)

// shownTest is a test event with what became of it.
type shownTest struct {
	shownScope
	shownAttempt
	Delivered bool   `json:"delivered"`
	ID        string `json:"id"` // X-Webhook-ID
	URL       string `json:"url"`
	Body      string `json:"body"` // the very bytes that are signed
}

func runWebhooksTest(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("webhooks test", flag.ContinueOnError)
	url := flags.String("url", "", "")
	asJSON := flags.Bool("json", false, "")
	a, scope, shown, err := openScoped(ctx, p, flags, args)
	if err != nil {
		return err
	}
	defer a.close()
	if scope.Livemode {
		return &usageError{"webhooks test: a test event is always one of test mode; leave --live out"}
	}
	sent, err := a.service.SendTestEvent(ctx, scope.AccountID, operator, *url)
	if err != nil {
		return err
	}
	test := showTest(shown, sent)
	if *asJSON {
		err = writeJSON(p.stdout, test)
	} else {
		_, err = io.WriteString(p.stdout, test.text())
	}
	if err == nil && !test.Delivered {
		return errors.New("the test event did not arrive: " + sent.Result.Error)
	}
	return err
}

func showTest(scope shownScope, sent *service.TestEvent) *shownTest {
	r := &sent.Result
	out := &shownTest{
		shownScope: scope, Delivered: r.Delivered(), ID: sent.DeliveryID.String(), URL: sent.URL, Body: string(sent.Body),
		shownAttempt: shownAttempt{Number: 1, StartedAt: form.At(r.StartedAt), DurationMS: r.Duration.Milliseconds(), RequestHeaders: r.RequestHeader},
	}
	if r.StatusCode != 0 {
		response := string(r.Response)
		out.StatusCode, out.Response = &r.StatusCode, &response
	}
	if r.ErrorClass != "" {
		out.ErrorClass, out.Error = &r.ErrorClass, &r.Error
	}
	return out
}

func (t *shownTest) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s to %s\n", t.shownScope, t.ID, printable(t.URL))
	t.write(&b)
	fmt.Fprintf(&b, "\nBody (%d bytes)\n%s\n", len(t.Body), indented(t.Body))
	if t.Delivered {
		fmt.Fprintln(&b, "\nIt arrived. See that the receiver has checked the signature, with the test webhook secret.")
	}
	return b.String()
}
