package keyring_test

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"candor/internal/platform/keyring"
)

func ring(t testing.TB, keys ...string) *keyring.Keyring {
	t.Helper()
	r, err := keyring.Parse(strings.Join(keys, ","))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("s"), 32))
	short := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("s"), 31))
	for _, text := range []string{"", "a", ":" + secret, "a:", "a:" + short, "a:%%%" + secret, "a:" + secret + ",",
		"a:" + secret + ",a:" + secret,
		"a b:" + secret, strings.Repeat("a", 33) + ":" + secret} {
		_, err := keyring.Parse(text)
		if err == nil || strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), short) {
			t.Errorf("Parse(%q) = %v; want an error that shows no key", text, err)
		}
	}
	if r := ring(t, " new:"+secret+" ", "old:"+base64.StdEncoding.EncodeToString(bytes.Repeat([]byte("t"),
		64))); r.String() != "new,old" {
		t.Errorf("keys are %s", r)
	}
}

func TestSealAndOpen(t *testing.T) {
	t.Parallel()
	a, b := keyring.Generate("a"), keyring.Generate("b")
	r := ring(t, a)
	for _, plain := range [][]byte{nil, []byte("whsec_secret"), bytes.Repeat([]byte("x"), 1<<16)} {
		sealed := r.Seal("owner", plain)
		if len(plain) > 0 && bytes.Contains(sealed, plain) {
			t.Error("the plain text is in the sealed one")
		}
		if got, err := r.Open("owner", sealed); err != nil || !bytes.Equal(got, plain) {
			t.Errorf("Open = %.20q, %v", got, err)
		}
		if bytes.Equal(sealed, r.Seal("owner", plain)) {
			t.Error("sealed twice to the same bytes")
		}
	}
	sealed := r.Seal("owner", []byte("secret"))
	if rotated := ring(t, b, a); !opens(rotated, "owner", sealed) || !opens(ring(t, b), "owner",
		rotated.Seal("owner", []byte("secret"))) {
		t.Error("after rotation the old key doesn't open, or the new one doesn't seal")
	}
	_, foreign, _ := strings.Cut(keyring.Generate("x"), ":")
	for name, other := range map[string]*keyring.Keyring{"key gone": ring(t, b), "another key of that name": ring(t, "a:"+foreign)} {
		if _, err := other.Open("owner", sealed); !errors.Is(err, keyring.ErrSealed) {
			t.Errorf("%s: %v, want ErrSealed", name, err)
		}
	}
	if _, err := r.Open("other", sealed); !errors.Is(err, keyring.ErrSealed) {
		t.Errorf("another owner: %v, want ErrSealed", err)
	}
	for i := range sealed {
		changed := bytes.Clone(sealed)
		changed[i] ^= 1
		if _, err := r.Open("owner", changed); !errors.Is(err, keyring.ErrSealed) {
			t.Errorf("byte %d changed: %v, want ErrSealed", i, err)
		}
		if _, err := r.Open("owner", sealed[:i]); !errors.Is(err, keyring.ErrSealed) {
			t.Errorf("cut to %d bytes: %v, want ErrSealed", i, err)
		}
	}
}

func opens(r *keyring.Keyring, owner string, sealed []byte) bool {
	_, err := r.Open(owner, sealed)
	return err == nil
}

func TestToken(t *testing.T) {
	t.Parallel()
	a, b := keyring.Generate("a"), keyring.Generate("b")
	r := ring(t, a)
	token := r.Token("sess_1")
	if len(token)*6 < 128 || strings.Trim(token, "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz-_") != "" {
		t.Errorf("token %q: want at least 128 bits of base64url", token)
	}
	if !r.CheckToken("sess_1", token) || token != r.Token("sess_1") || !ring(t, b, a).CheckToken("sess_1", token) {
		t.Error("a token doesn't open its subject")
	}
	if r.CheckToken("sess_2", token) || ring(t, b).CheckToken("sess_1", token) || ring(t, b, a).Token("sess_1") == token {
		t.Error("a token opens what it shouldn't")
	}
	for i := range token {
		for _, wrong := range []string{token[:i], token[:i] + "~" + token[i+1:], token[:i] + "\n" + token[i:]} {
			if r.CheckToken("sess_1", wrong) {
				t.Errorf("%q is taken for %q", wrong, token)
			}
		}
	}
	if r.CheckToken("sess_1", token+"=") || r.CheckToken("sess_1", token+"A") || r.CheckToken("sess_1", "") {
		t.Error("a longer or empty token is taken")
	}
}

func TestUsesHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	pairs := ring(t, keyring.Generate("a"), keyring.Generate("b")).CookieKeys()
	if len(pairs) != 4 {
		t.Fatalf("%d cookie keys, want 2 for each key", len(pairs))
	}
	seen := map[string]bool{}
	for _, k := range pairs {
		if len(k) != 32 || seen[string(k)] {
			t.Errorf("cookie key of %d bytes, seen %v; want 32 new ones", len(k), seen[string(k)])
		}
		seen[string(k)] = true
	}
}

func TestPrintsRedacted(t *testing.T) {
	t.Parallel()
	text := keyring.Generate("main")
	r := ring(t, text)
	_, encoded, _ := strings.Cut(text, ":")
	secret, err := base64.StdEncoding.DecodeString(encoded)
	if err != nil {
		t.Fatal(err)
	}
	secrets := append(r.CookieKeys(), secret)
	config := struct{ Ring *keyring.Keyring }{r}
	for _, printed := range []any{r, *r, config} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			out := fmt.Sprintf(verb, printed)
			for _, s := range secrets {
				if strings.Contains(out, encoded) || strings.Contains(out, fmt.Sprint(s)[1:20]) ||
					strings.Contains(out, fmt.Sprintf("%x", s)) ||
					strings.Contains(out, fmt.Sprintf("%#v", s)[8:40]) || strings.Contains(out, string(s)) {
					t.Errorf("%s of %T shows a key: %s", verb, printed, out)
				}
			}
		}
	}
}
