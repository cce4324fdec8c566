package webhook

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
	"time"
)

const (
	testSecret = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
	testBody   = `{"event":"session.completed","session_id":"abc"}`
)

func TestSignatureKnownAnswer(t *testing.T) {
	t.Parallel()
	// openssl dgst -sha256 -hmac "$secret" body.json
	const want = "12f14425b71e75104b2a974d52084eb64e89e972bb9125ef8994eae406fa4864"
	if got := Signature(testSecret, []byte(testBody)); got != want {
		t.Errorf("Signature = %s, want %s", got, want)
	}
}

func TestStandardSignatureKnownAnswer(t *testing.T) {
	t.Parallel()
	at := time.Unix(1767225600, 999)
	const want = "v1,7d11poFo3y+bKoSEUNxEPjQK0mqQyOYOjemTC3vV1Ng="
	got, err := StandardSignature([]string{testSecret}, "dlv_1", at, []byte(testBody))
	if err != nil || got != want {
		t.Errorf("StandardSignature = %q, %v, want %q", got, err, want)
	}
	both, err := StandardSignature([]string{testSecret, NewSecret()}, "dlv_1", at, []byte(testBody))
	if err != nil || !strings.HasPrefix(both, want+" v1,") || strings.Count(both, " ") != 1 {
		t.Errorf("two secrets: %q, %v, want %q and a second signature", both, err, want)
	}
}

func TestStandardSignatureRefusesMalformedSecrets(t *testing.T) {
	t.Parallel()
	for _, secret := range []string{"", "whsec_", "whsec_not base64!", strings.TrimPrefix(testSecret, SecretPrefix)} {
		got, err := StandardSignature([]string{testSecret, secret}, "dlv_1", time.Unix(1, 0), nil)
		if !errors.Is(err, ErrSecret) || got != "" {
			t.Errorf("secret %q: got %q, %v, want ErrSecret", secret, got, err)
		}
		if err != nil && len(secret) > len(SecretPrefix) && strings.Contains(err.Error(), secret) {
			t.Errorf("error quotes the secret: %v", err)
		}
	}
}

func TestNewSecret(t *testing.T) {
	t.Parallel()
	first, second := NewSecret(), NewSecret()
	if first == second {
		t.Error("two secrets are the same")
	}
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(first, SecretPrefix))
	if err != nil || len(key) != 32 || !strings.HasPrefix(first, SecretPrefix) {
		t.Errorf("NewSecret = %q: key of %d bytes, %v", first, len(key), err)
	}
}
