package webhook

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SecretPrefix starts every webhook secret (D1).
const SecretPrefix = "whsec_"

// How a receiver verifies a webhook, in the words of the API's description and of the guide.
const (
	AboutVerifying         = "Verify `webhook-signature` or `X-Webhook-Signature` over the raw bytes of the body; take the first if you can, because it covers the time, too. Compare in constant time."
	AboutStandardSignature = "Signs `webhook-id`, a dot, `webhook-timestamp`, a dot, and the body. Its key is the secret with `whsec_` stripped and the rest base64-decoded. It is `v1,` and base64; there can be several, separated by spaces."
	AboutSignature         = "Signs the body alone. Its key is the secret as it is, `whsec_` kept, nothing decoded. It is hex."
)

// secretBytes is the length of a new key; Standard Webhooks asks for 24 to 64.
const secretBytes = 32

// ErrSecret says that a secret is not SecretPrefix followed by standard base64.
var ErrSecret = errors.New("webhook: malformed secret")

// NewSecret returns a new random secret: SecretPrefix and 32 bytes in standard
// base64, the form which the Standard Webhooks libraries take.
func NewSecret() string {
	key := make([]byte, secretBytes)
	rand.Read(key) // never fails: the runtime stops the program instead
	return SecretPrefix + base64.StdEncoding.EncodeToString(key)
}

// Signature returns the value of X-Webhook-Signature: the lower-case hex
// HMAC-SHA256 of body, keyed with the whole secret, prefix included (D7).
func Signature(secret string, body []byte) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}

// StandardSignature returns the value of webhook-signature (D35): for each
// secret "v1," and the base64 HMAC-SHA256 of "id.timestamp.body", separated by
// spaces. The key is the decoded text after the prefix. It returns ErrSecret if a
// secret can't be decoded.
func StandardSignature(secrets []string, id string, timestamp time.Time, body []byte) (string, error) {
	signatures := make([]string, 0, len(secrets))
	for _, secret := range secrets {
		key, err := standardKey(secret)
		if err != nil {
			return "", err
		}
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(id + "." + strconv.FormatInt(timestamp.Unix(), 10) + "."))
		mac.Write(body)
		signatures = append(signatures, "v1,"+base64.StdEncoding.EncodeToString(mac.Sum(nil)))
	}
	return strings.Join(signatures, " "), nil
}

func standardKey(secret string) ([]byte, error) {
	encoded, found := strings.CutPrefix(secret, SecretPrefix)
	if !found {
		return nil, fmt.Errorf("%w: no %s prefix", ErrSecret, SecretPrefix)
	}
	key, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil || len(key) == 0 {
		return nil, fmt.Errorf("%w: not base64", ErrSecret) // the cause could quote the secret
	}
	return key, nil
}
