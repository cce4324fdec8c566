package service_test

import (
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/webhooks"
	"candor/internal/webhook"
)

// audited are the actions in the account's audit log, first one first, each
// with who did it.
func (b *bench) audited() string {
	b.Helper()
	page, _, err := b.Audit.Page(b.ctx, b.account.AccountID, domain.AuditFilter{}, nil, 100)
	b.ok(err)
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

// Each step is in the audit log, and one that wasn't made isn't.
func TestSecretStepsAreAudited(t *testing.T) {
	t.Parallel()
	b := newStill(t)
	for _, change := range strings.Fields("next next switch restore switch restore abandon abandon") {
		err := b.changeSecrets(change)
		if err != nil {
			b.code(change, err, domain.CodeValidation)
		}
	}
	shown, err := b.Webhooks.ShowSecrets(b.ctx, b.test(), jo)
	b.ok(err)
	if shown.Current != b.account.TestWebhookSecret || shown.Next != "" {
		t.Error("the secret that is shown isn't the one that signs")
	}
	next, err := b.Webhooks.CreateNextSecret(b.ctx, b.test(), someone)
	b.ok(err)
	if shown, err = b.Webhooks.ShowSecrets(b.ctx, b.test(), jo); err != nil || shown.Current+" "+shown.Next != b.signing() || shown.Next != next {
		t.Errorf("the secrets that are shown aren't those that sign: %v", err)
	}
	want := "webhook_secret.next_made by a test, webhook_secret.switched by a test, webhook_secret.restored by a test, webhook_secret.switched by a test, " +
		"webhook_secret.restored by a test, webhook_secret.next_abandoned by a test, webhook_secret.shown by jo@lender.example, " +
		"webhook_secret.next_made by a test, webhook_secret.shown by jo@lender.example"
	if got := b.audited(); got != want {
		t.Errorf("the audit log has\n%s, want\n%s", got, want)
	}
	b.code("unknown account", second(b.Webhooks.ShowSecrets(b.ctx, domain.Scope{AccountID: domain.NewAccountID()}, jo)), domain.CodeNotFound)
}

func second[T any](_ T, err error) error { return err }

// What can't be written into the audit log isn't done, or shown.
func TestNothingIsDoneWithoutItsAuditLine(t *testing.T) {
	t.Parallel()
	b := newStill(t)
	nobody := domain.Actor{Kind: "unheard of"} // whom the log refuses
	since := start.Add(-time.Hour)
	b.failed(b.test(), hook)
	was := b.signing()
	secret, err := b.Webhooks.CreateNextSecret(b.ctx, b.test(), nobody)
	if err == nil || secret != "" || b.signing() != was {
		t.Errorf("a next secret was made: %v", err)
	}
	if shown, err := b.Webhooks.ShowSecrets(b.ctx, b.test(), nobody); err == nil || shown != (webhooks.ShownSecrets{}) {
		t.Error("the secret was shown")
	}
	if err := b.Webhooks.SetDefaultURL(b.ctx, b.test(), nobody, hook); err == nil {
		t.Error("the default URL was set")
	}
	if url, err := b.Webhooks.DefaultURL(b.ctx, b.test()); err != nil || url != "" {
		t.Errorf("the default URL has become %q, %v", url, err)
	}
	filter := webhooks.DeliveryFilter{DeliveryFilter: domain.DeliveryFilter{Since: &since}}
	if _, err := b.Webhooks.StartRedelivery(b.ctx, b.test(), filter, 1, nobody); err == nil || b.count("SELECT count(*) FROM redelivery") != 0 {
		t.Errorf("a redelivery was started: %v", err)
	}
	r, err := b.Webhooks.StartRedelivery(b.ctx, b.test(), filter, 1, someone)
	b.ok(err)
	if _, err := b.Webhooks.StopRedelivery(b.ctx, b.test(), r.ID, nobody); err == nil {
		t.Error("a redelivery was stopped")
	}
	if r, err = b.Webhooks.Redelivery(b.ctx, b.test(), r.ID); err != nil || r.State != domain.RedeliveryRunning {
		t.Errorf("the redelivery is %+v, %v", r, err)
	}
	for name, step := range map[string]func() error{
		"switch":  func() error { return b.Webhooks.SwitchSecret(b.ctx, b.test(), nobody) },
		"abandon": func() error { return b.Webhooks.AbandonNextSecret(b.ctx, b.test(), nobody) },
	} {
		if _, err := b.Webhooks.CreateNextSecret(b.ctx, b.test(), someone); err != nil {
			b.code(name, err, domain.CodeValidation) // there already
		}
		was := b.signing()
		if err := step(); err == nil || b.signing() != was {
			t.Errorf("%s was done: %v", name, err)
		}
	}
	b.ok(b.Webhooks.SwitchSecret(b.ctx, b.test(), someone))
	was = b.signing()
	if err := b.Webhooks.RestoreSecret(b.ctx, b.test(), nobody); err == nil || b.signing() != was {
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
		"https://hooks.example/in?token=" + hidden, "https://hooks.example/" + hidden, "https://HOOKS.example/" + hidden, "https://hooks.example/in?token=" + hidden, "",
	} {
		b.ok(b.Webhooks.SetDefaultURL(b.ctx, b.test(), jo, url))
		page, _, err := b.Audit.Page(b.ctx, b.account.AccountID, domain.AuditFilter{Action: domain.AuditWebhookURL}, nil, 1)
		b.ok(err)
		states = append(states, string(page[0].After))
	}
	for i, state := range states {
		if strings.Contains(state, hidden) || i < 4 && !strings.Contains(state, `"https://hooks.example #`) {
			t.Errorf("the audit log has %s", state)
		}
	}
	if states[0] != states[3] || states[0] == states[1] || states[1] == states[2] || states[4] != `{"url": ""}` {
		t.Errorf("the URLs are told apart as %q", states)
	}
	if err := b.Webhooks.RecordTestEvent(b.ctx, b.test(), jo, "https://hooks.example/"+hidden); err != nil || strings.Contains(b.audited(), hidden) {
		t.Errorf("the test event's line: %v", err)
	}
	all, _, err := b.Audit.Page(b.ctx, b.account.AccountID, domain.AuditFilter{Action: domain.AuditTestEvent}, nil, 1)
	b.ok(err)
	if text := string(all[0].After); strings.Contains(text, hidden) || !strings.Contains(text, "https://hooks.example #") {
		t.Errorf("the test event's line has %s", text)
	}
}
