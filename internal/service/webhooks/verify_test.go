package webhooks_test

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"candor/internal/testkit/hooktest"
)

// signedBy says which of the secrets verify a webhook's signatures.
type signedBy struct {
	Contract []bool // X-Webhook-Signature
	Standard []bool // webhook-signature
}

// verify verifies webhooks with published libraries: that of Go here, and in
// Node.js that of npm, with X-Webhook-Signature by the contract alone.
func verify(t testing.TB, calls []hooktest.Request, secrets ...string) []signedBy {
	t.Helper()
	type nodeCall struct {
		Headers map[string]string `json:"headers"`
		Body    string            `json:"body"`
		Secrets []string          `json:"secrets"`
	}
	input := make([]nodeCall, len(calls))
	for i, c := range calls {
		input[i] = nodeCall{map[string]string{}, string(c.Body), secrets}
		for name, values := range c.Header {
			input[i].Headers[strings.ToLower(name)] = values[0]
		}
	}
	stdin, err := json.Marshal(input)
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	node := exec.CommandContext(t.Context(), "node", "testdata/verify.mjs")
	node.Stdin, node.Stderr = bytes.NewReader(stdin), &stderr
	stdout, err := node.Output()
	if err != nil {
		t.Fatalf("node: %v; where standardwebhooks is missing, run `npm ci --ignore-scripts`\n%s", err, &stderr)
	}
	var out []signedBy
	if err := json.Unmarshal(stdout, &out); err != nil || len(out) != len(calls) {
		t.Fatalf("node verified %d of %d webhooks: %v", len(out), len(calls), err)
	}
	for i, c := range calls {
		for j, secret := range secrets {
			if got := verifiedInGo(t, c, secret); got != out[i].Standard[j] {
				t.Errorf("webhook %d, secret %d: Go's library says %t, npm's %t", i, j, got, out[i].Standard[j])
			}
		}
	}
	return out
}

func verifiedInGo(t testing.TB, c hooktest.Request, secret string) bool {
	t.Helper()
	library, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return library.Verify(c.Body, c.Header) == nil
}
