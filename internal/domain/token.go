package domain

import (
	"crypto/rand"
	"crypto/sha256"
)

// NewToken returns a new random token of 260 bits, for a cookie or a link, and
// the SHA-256 that is stored of it.
func NewToken() (token string, hash []byte) {
	token = rand.Text() + rand.Text()
	return token, HashToken(token)
}

// HashToken returns a token's SHA-256, by which its owner is found.
func HashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}
