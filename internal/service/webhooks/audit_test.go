package webhooks_test

import (
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/webhooks"
	"candor/internal/testkit/servicetest"
	"candor/internal/webhook"
)

// audited are the actions in the account's audit log, first one first, each
// with who did it.
func (b *fixture) audited() string {
	b.Helper()
	page, _, err := b.Audit.Page(b.Ctx, b.Account.AccountID, domain.AuditFilter{}, nil, 100)
	b.OK(err)
	var lines []string
	for i := range page {
		line := &page[len(page)-1-i]
		if line.Action != domain.AuditAccountCreated && line.Action != domain.AuditKeyCreated { // the fixture's
			lines = append(lines, string(line.Action)+" by "+line.ActorName)
		}
		if text := string(page[i].Before) + string(page[i].After); strings.Contains(text, webhook.SecretPrefix) {
			b.Errorf("the audit log has a secret: %s", text)
		}
	}
	return strings.Join(lines, ", ")
}

// Each step is in the audit log, and a step that failed isn't.
func TestSecretStepsAreAudited(t *testing.T) {
	t.Parallel()
	b := newStill(t)
	for _, change := range strings.Fields("next next switch restore switch restore abandon abandon") {
		err := b.changeSecrets(change)
		if err != nil {
			b.Code(change, err, domain.CodeValidation)
		}
	}
	shown, err := b.Webhooks.ShowSecrets(b.Ctx, b.Test(), nil, jo)
	b.OK(err)
	if shown.Current != b.Account.TestWebhookSecret || shown.Next != "" {
		t.Error("the shown secret doesn't sign")
	}
	next, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone)
	b.OK(err)
	if shown, err = b.Webhooks.ShowSecrets(b.Ctx, b.Test(), nil, jo); err != nil || shown.Current+" "+shown.Next != b.signing() ||
		shown.Next != next {
		t.Errorf("the shown secrets don't sign: %v", err)
	}
	want := "webhook_secret.next_made by a test, webhook_secret.switched by a test, webhook_secret.restored by a test, webhook_secret.switched by a test, " +
		"webhook_secret.restored by a test, webhook_secret.next_abandoned by a test, webhook_secret.shown by jo@lender.example, " +
		"webhook_secret.next_made by a test, webhook_secret.shown by jo@lender.example"
	if got := b.audited(); got != want {
		t.Errorf("the audit log has\n%s, want\n%s", got, want)
	}
	b.Code("unknown account", second(b.Webhooks.ShowSecrets(b.Ctx, domain.Scope{AccountID: domain.NewAccountID()}, nil, jo)),
		domain.CodeNotFound)
}

func second[T any](_ T, err error) error { return err }

// What can't be written into the audit log isn't done, or shown.
func TestNothingIsDoneWithoutItsAuditLine(t *testing.T) {
	t.Parallel()
	b := newStill(t)
	unknown := domain.Actor{Kind: "unheard of"} // the log refuses it
	since := servicetest.Start.Add(-time.Hour)
	b.failed(b.Test(), hook)
	was := b.signing()
	secret, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, unknown)
	if err == nil || secret != "" || b.signing() != was {
		t.Errorf("a next secret was made: %v", err)
	}
	if shown, err := b.Webhooks.ShowSecrets(b.Ctx, b.Test(), nil, unknown); err == nil || shown != (webhooks.ShownSecrets{}) {
		t.Error("the secret was shown")
	}
	if err := b.Webhooks.SetDefaultURL(b.Ctx, b.Test(), unknown, hook); err == nil {
		t.Error("the default URL was set")
	}
	if url, err := b.Webhooks.DefaultURL(b.Ctx, b.Test()); err != nil || url != "" {
		t.Errorf("the default URL has become %q, %v", url, err)
	}
	filter := webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since}}
	if _, err := b.Webhooks.StartRedelivery(b.Ctx, b.Test(), filter, 1, unknown); err == nil ||
		b.Count("SELECT count(*) FROM redelivery") != 0 {
		t.Errorf("a redelivery was started: %v", err)
	}
	r, err := b.Webhooks.StartRedelivery(b.Ctx, b.Test(), filter, 1, servicetest.Someone)
	b.OK(err)
	if _, err := b.Webhooks.StopRedelivery(b.Ctx, b.Test(), r.ID, unknown); err == nil {
		t.Error("a redelivery was stopped")
	}
	if r, err = b.Webhooks.Redelivery(b.Ctx, b.Test(), r.ID); err != nil || r.State != domain.RedeliveryRunning {
		t.Errorf("the redelivery is %+v, %v", r, err)
	}
	for name, step := range map[string]func() error{
		"switch":  func() error { return b.Webhooks.SwitchSecret(b.Ctx, b.Test(), nil, unknown) },
		"abandon": func() error { return b.Webhooks.AbandonNextSecret(b.Ctx, b.Test(), nil, unknown) },
	} {
		if _, err := b.Webhooks.CreateNextSecret(b.Ctx, b.Test(), nil, servicetest.Someone); err != nil {
			b.Code(name, err, domain.CodeValidation) // there already
		}
		was := b.signing()
		if err := step(); err == nil || b.signing() != was {
			t.Errorf("%s was done: %v", name, err)
		}
	}
	b.OK(b.Webhooks.SwitchSecret(b.Ctx, b.Test(), nil, servicetest.Someone))
	was = b.signing()
	if err := b.Webhooks.RestoreSecret(b.Ctx, b.Test(), nil, unknown); err == nil || b.signing() != was {
		t.Errorf("restore was done: %v", err)
	}
}

// Where webhooks go is in the audit log for good, and receivers' secrets stand
// in paths and queries: it has the origin, and what tells one URL from another.
func TestAuditLogHasNoSecretsOfURLs(t *testing.T) {
	t.Parallel()
	b := newStill(t)
	const hidden = "PATHSECRET"
	var states []string
	for _, url := range []string{
		"https://hooks.example/in?token=" + hidden, "https://hooks.example/" + hidden, "https://HOOKS.example/" + hidden,
		"https://hooks.example/in?token=" + hidden, "",
	} {
		b.OK(b.Webhooks.SetDefaultURL(b.Ctx, b.Test(), jo, url))
		page, _, err := b.Audit.Page(b.Ctx, b.Account.AccountID, domain.AuditFilter{Action: domain.AuditWebhookURL}, nil, 1)
		b.OK(err)
		states = append(states, string(page[0].After))
	}
	for i, state := range states {
		if strings.Contains(state, hidden) || i < 4 && !strings.Contains(state, `"https://hooks.example #`) {
			t.Errorf("the audit log has %s", state)
		}
	}
	if states[0] != states[3] || states[0] == states[1] || states[1] == states[2] || states[4] != `{"url": ""}` {
		t.Errorf("the URLs look like %q", states)
	}
	if err := b.Webhooks.RecordTestEvent(b.Ctx, b.Test(), jo, "https://hooks.example/"+hidden); err != nil ||
		strings.Contains(b.audited(), hidden) {
		t.Errorf("the test event's line: %v", err)
	}
	all, _, err := b.Audit.Page(b.Ctx, b.Account.AccountID, domain.AuditFilter{Action: domain.AuditTestEvent}, nil, 1)
	b.OK(err)
	if text := string(all[0].After); strings.Contains(text, hidden) || !strings.Contains(text, "https://hooks.example #") {
		t.Errorf("the test event's line has %s", text)
	}
}
