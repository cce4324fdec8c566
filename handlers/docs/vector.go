package docs

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"maps"
	"time"

	"candor/internal/webhook"
)

// vectorTime is when the webhook of the test vectors was signed.
var vectorTime = time.Unix(1_795_143_365, 0)

// addVector adds a signed webhook, by which people check code in languages that
// we have none for. Candor's own code signs it.
func (f facts) addVector() error {
	const key, body = "candor-test-vector-not-a-secret!", `{"event":"session.completed","data":{"name":"Zoë O'Brien"}}`
	id, secret := "whd_01m7xsggnverxbaf5yh399t1bc", webhook.SecretPrefix+base64.StdEncoding.EncodeToString([]byte(key)) //nolint:gosec // a test vector
	standard, err := webhook.StandardSignature([]string{secret}, id, vectorTime, []byte(body))
	maps.Copy(f, facts{
		"VectorSecret": secret, "VectorKeyInHex": hex.EncodeToString([]byte(key)), "VectorID": id,
		"VectorTime": fmt.Sprint(vectorTime.Unix()),
		"VectorBody": body, "VectorSignature": webhook.Signature(secret, []byte(body)), "VectorStandard": standard,
	})
	return err
}
