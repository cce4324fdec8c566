package admin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/webhooks"
)

// sentTest is a test event and its attempt.
type sentTest struct {
	shownScope
	shownAttempt
	Delivered bool   `json:"delivered"`
	ID        string `json:"id"` // X-Webhook-ID
	URL       string `json:"url"`
	Body      string `json:"body"` // the bytes that are signed
}

// Text shows the request and the response.
func (t *sentTest) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s to %s\n", t.shownScope, t.ID, cli.Printable(t.URL))
	t.write(&b)
	writeBody(&b, t.Body)
	if t.Delivered {
		fmt.Fprintln(&b, "\nDelivered. Check that the receiver verified the signature, with the test webhook secret.")
	}
	return b.String()
}

func (c commands) webhooksTest(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("webhooks test")
	url, event := flags.Text("url"), flags.Text("type")
	app, err := c.openScope(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	if app.scope.Livemode {
		return cli.Usagef("webhooks test: test events are always in test mode; leave out --live")
	}
	sent, err := app.Webhooks.SendTestEvent(ctx, app.scope.AccountID, operator, nil, *url,
		cmp.Or(domain.EventType(*event), domain.SessionCompleted))
	if err != nil {
		return err
	}
	test := showTest(app.shown, sent)
	if err = flags.Print(c.Out, test); err == nil && !test.Delivered {
		return errors.New("the test event was not delivered: " + sent.Result.Error)
	}
	return err
}

func showTest(scope shownScope, sent *webhooks.TestEvent) *sentTest {
	r := &sent.Result
	out := &sentTest{
		shownScope: scope, Delivered: r.Delivered(), ID: sent.DeliveryID.String(), URL: sent.URL, Body: string(sent.Body),
		shownAttempt: shownAttempt{Number: 1, StartedAt: form.At(r.StartedAt), DurationMS: r.Duration.Milliseconds(),
			RequestHeaders: r.RequestHeader},
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
