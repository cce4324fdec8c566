package domain

import (
	"crypto/rand"
	"crypto/sha256"
)

// NewToken returns a random token of 260 bits, for a cookie or a link, and its
// SHA-256, which is stored.
func NewToken() (token string, hash []byte) {
	token = rand.Text() + rand.Text()
	return token, HashToken(token)
}

// HashToken returns a token's SHA-256, by which it is found.
func HashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
