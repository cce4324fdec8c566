// Package keyring turns the operator's named secret keys into what needs a
// secret: links, cookies and data at rest (D5, D7). Each use has a key of its
// own, derived by HKDF-SHA256. The newest key makes; every key opens, so that
// keys can be rotated. It knows nothing of what it protects.
package keyring

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
)

// minKeyBytes is the least a secret key may have.
const minKeyBytes = 32

// A Keyring holds the keys, newest first. It prints as its keys' names.
type Keyring struct{ keys []key }

type key struct {
	name    string
	mac     []byte
	box     cipher.AEAD
	signing []byte
	cipher  []byte
}

var keyName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

// Parse reads "name:base64,name:base64", newest first. Each key is at least
// 32 random bytes, as `openssl rand -base64 32` prints them.
func Parse(text string) (*Keyring, error) {
	var ring Keyring
	seen := map[string]bool{}
	for item := range strings.SplitSeq(text, ",") {
		name, encoded, ok := strings.Cut(strings.TrimSpace(item), ":")
		if !ok || !keyName.MatchString(name) || seen[name] {
			return nil, errors.New("each key must be NAME:BASE64 with a name of its own of up to 32 letters, digits, - or _")
		}
		seen[name] = true
		secret, err := base64.StdEncoding.DecodeString(encoded)
		if err != nil || len(secret) < minKeyBytes {
			return nil, fmt.Errorf("key %s must be base64 of at least %d random bytes (openssl rand -base64 32)", name, minKeyBytes)
		}
		k, err := derive(name, secret)
		if err != nil {
			return nil, err
		}
		ring.keys = append(ring.keys, k)
	}
	return &ring, nil
}

// Generate returns the text of one new key of that name, fit for Parse.
func Generate(name string) string {
	secret := make([]byte, minKeyBytes)
	_, _ = rand.Read(secret) // never fails
	return name + ":" + base64.StdEncoding.EncodeToString(secret)
}

func derive(name string, secret []byte) (key, error) {
	k := key{name: name}
	var atRest []byte
	for use, out := range map[string]*[]byte{
		"candor link": &k.mac, "candor at rest": &atRest,
		"candor cookie signing": &k.signing, "candor cookie encryption": &k.cipher,
	} {
		derived, err := hkdf.Key(sha256.New, secret, nil, use, 32)
		if err != nil {
			return key{}, fmt.Errorf("derive %s: %w", use, err)
		}
		*out = derived
	}
	block, err := aes.NewCipher(atRest)
	if err != nil {
		return key{}, err
	}
	k.box, err = cipher.NewGCM(block)
	return k, err
}

// String names the keys and shows nothing of them.
func (r Keyring) String() string {
	names := make([]string, len(r.keys))
	for i, k := range r.keys {
		names[i] = k.name
	}
	return strings.Join(names, ",")
}

// Format writes String whatever the verb, so that %#v or %d show nothing
// either.
func (r Keyring) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, r.String()) }

// Newest returns the name of the key that seals.
func (r *Keyring) Newest() string { return r.keys[0].name }

// Has reports whether there is a key of that name.
func (r *Keyring) Has(name string) bool {
	return slices.ContainsFunc(r.keys, func(k key) bool { return k.name == name })
}

// tokenBytes is 192 bits of the MAC.
const tokenBytes = 24

// Token returns the base64url MAC that opens subject (D5).
func (r *Keyring) Token(subject string) string {
	return r.keys[0].token(subject)
}

// Tokens returns the MACs of subject by all keys, the newest key's first.
func (r *Keyring) Tokens(subject string) []string {
	out := make([]string, len(r.keys))
	for i, k := range r.keys {
		out[i] = k.token(subject)
	}
	return out
}

// CheckToken reports whether token opens subject, in constant time for each
// key.
func (r *Keyring) CheckToken(subject, token string) bool {
	valid := false
	for _, k := range r.keys {
		valid = hmac.Equal([]byte(token), []byte(k.token(subject))) || valid
	}
	return valid
}

func (k key) token(subject string) string {
	mac := hmac.New(sha256.New, k.mac)
	mac.Write([]byte(subject))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil)[:tokenBytes])
}

// Seal encrypts plain by AES-256-GCM for owner, which Open must name too, so
// that a sealed value can't be moved to another row. The key's name and the
// nonce stand before the ciphertext.
func (r *Keyring) Seal(owner string, plain []byte) []byte {
	k := r.keys[0]
	nonce := make([]byte, k.box.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	out := append([]byte{byte(len(k.name))}, k.name...)
	out = append(out, nonce...)
	return k.box.Seal(out, nonce, plain, []byte(owner))
}

// ErrSealed says that a sealed value can't be opened: its key is gone, it was
// changed, or it belongs to another owner.
var ErrSealed = errors.New("sealed value can't be opened")

// Open decrypts what Seal returned for the same owner.
func (r *Keyring) Open(owner string, sealed []byte) ([]byte, error) {
	if len(sealed) == 0 || len(sealed) < 1+int(sealed[0]) {
		return nil, ErrSealed
	}
	name, rest := string(sealed[1:1+int(sealed[0])]), sealed[1+int(sealed[0]):]
	for _, k := range r.keys {
		if k.name != name || len(rest) < k.box.NonceSize() {
			continue
		}
		n := k.box.NonceSize()
		plain, err := k.box.Open(nil, rest[:n], rest[n:], []byte(owner))
		if err != nil {
			return nil, ErrSealed
		}
		return plain, nil
	}
	return nil, fmt.Errorf("%w: no key named %q", ErrSealed, name)
}

// CookieKeys returns pairs of signing and encryption keys, newest first, as
// gorilla/securecookie takes them.
func (r *Keyring) CookieKeys() [][]byte {
	var pairs [][]byte
	for _, k := range r.keys {
		pairs = append(pairs, k.signing, k.cipher)
	}
	return pairs
}
