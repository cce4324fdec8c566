package client

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
)

// Signed reports whether the secret, and no other, made both signatures of a webhook.
func Signed(secret string, header http.Header, body []byte) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	standard := header.Get("X-Webhook-ID") + "." + header.Get("Webhook-Timestamp") + "." + string(body)
	return err == nil && header.Get("Webhook-Id") == header.Get("X-Webhook-ID") &&
		header.Get("X-Webhook-Signature") == hex.EncodeToString(sign([]byte(secret), string(body))) &&
		header.Get("Webhook-Signature") == "v1,"+base64.StdEncoding.EncodeToString(sign(key, standard))
}

func sign(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}
