package service

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/crypto/argon2"
)

const (
	argonThreads = 1
	argonKeyLen  = 32
	argonSaltLen = 16
)

// PasswordCost is what Argon2id takes to hash a password. The zero value stands
// for what OWASP recommends: t=2, m=19 MiB, p=1.
type PasswordCost struct {
	Time   uint32
	Memory uint32 // KiB
}

var owaspCost = PasswordCost{Time: 2, Memory: 19 * 1024}

// maxPassword is the longest password that is hashed, in bytes: more than any
// sentence, and too little to keep a core busy with.
const maxPassword = 1024

// maxHashes is how many passwords are hashed at once: each takes 19 MiB and a
// core for some 20 ms, and whoever isn't signed in can ask for it.
const maxHashes = 4

// passwords hashes passwords, a few at once.
type passwords struct {
	cost    PasswordCost
	running chan struct{}
	nobody  func() string // a hash that no password made
}

func newPasswords(cost PasswordCost) *passwords {
	if cost == (PasswordCost{}) {
		cost = owaspCost
	}
	p := &passwords{cost: cost, running: make(chan struct{}, maxHashes)}
	p.nobody = sync.OnceValue(func() string { return hashPassword(newPassword(), cost) })
	return p
}

// hash returns the password's Argon2id hash as a PHC string, or the context's
// error.
func (p *passwords) hash(ctx context.Context, password string) (string, error) {
	free, err := p.enter(ctx)
	if err != nil {
		return "", err
	}
	defer free()
	return hashPassword(password, p.cost), nil
}

// verify reports whether the password made the PHC string. Without one it is
// false and takes as long, however long the password is.
func (p *passwords) verify(ctx context.Context, phc, password string) (bool, error) {
	free, err := p.enter(ctx)
	if err != nil {
		return false, err
	}
	defer free()
	known := phc != ""
	if !known {
		phc = p.nobody()
	}
	right := verifyPassword(phc, password[:min(len(password), maxPassword)])
	return right && known && len(password) <= maxPassword, nil
}

func (p *passwords) enter(ctx context.Context) (free func(), err error) {
	select {
	case p.running <- struct{}{}:
		return func() { <-p.running }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// newPassword returns 120 random bits.
func newPassword() string {
	b := make([]byte, 15)
	_, _ = rand.Read(b) // never fails
	return base64.RawURLEncoding.EncodeToString(b)
}

// hashPassword returns the password's Argon2id hash as a PHC string.
func hashPassword(password string, cost PasswordCost) string {
	salt := make([]byte, argonSaltLen)
	_, _ = rand.Read(salt) // never fails
	key := argon2.IDKey([]byte(password), salt, cost.Time, cost.Memory, argonThreads, argonKeyLen)
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, cost.Memory, cost.Time, argonThreads,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(key))
}

// verifyPassword reports whether the password made the PHC string.
func verifyPassword(phc, password string) bool {
	var version, memory, time, threads int
	var rest string
	if n, err := fmt.Sscanf(phc, "$argon2id$v=%d$m=%d,t=%d,p=%d$%s", &version, &memory, &time, &threads, &rest); n != 5 || err != nil {
		return false
	}
	saltText, keyText, _ := strings.Cut(rest, "$")
	salt, saltErr := base64.RawStdEncoding.DecodeString(saltText)
	key, keyErr := base64.RawStdEncoding.DecodeString(keyText)
	if saltErr != nil || keyErr != nil || len(key) == 0 {
		return false
	}
	got := argon2.IDKey([]byte(password), salt, uint32(time), uint32(memory), uint8(threads), uint32(len(key)))
	return subtle.ConstantTimeCompare(got, key) == 1
}
