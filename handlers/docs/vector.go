package docs

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"time"

	"candor/internal/webhook"
)

// vectorTime is when the webhook of the test vectors was signed.
var vectorTime = time.Unix(1_795_143_365, 0)

// addVector adds a signed webhook, by which people check code in languages that
// we have none for. Candor's own code signs it.
func (f *facts) addVector() error {
	f.VectorSecret = webhook.SecretPrefix + base64.StdEncoding.EncodeToString([]byte("candor-test-vector-not-a-secret!"))
	f.VectorID, f.VectorTime = "whd_01m7xsggnverxbaf5yh399t1bc", fmt.Sprint(vectorTime.Unix())
	f.VectorBody = `{"event":"session.completed","data":{"name":"Zoë O'Brien"}}`
	f.VectorSignature = webhook.Signature(f.VectorSecret, []byte(f.VectorBody))
	f.VectorKeyInHex = hex.EncodeToString([]byte("candor-test-vector-not-a-secret!"))
	var err error
	f.VectorStandard, err = webhook.StandardSignature([]string{f.VectorSecret}, f.VectorID, vectorTime, []byte(f.VectorBody))
	return err
}
