package domain

import (
	"crypto/rand"
	"crypto/sha256"
	"fmt"
	"hash/crc32"
	"math/big"
	"net/netip"
	"slices"
	"strings"
	"time"
)

// An APIKey is what is kept of a key: never its text (D6).
type APIKey struct {
	ID          KeyID
	AccountID   AccountID
	Livemode    bool
	Name        string
	Hash        [sha256.Size]byte
	Last4       string
	Permissions Permissions
	Networks    []netip.Prefix // that it may be used from; nil: from anywhere
	CreatedBy   string         // as the actor was called then
	CreatedAt   time.Time
	ExpiresAt   *time.Time // nil: never

	ReplacedAt  *time.Time // when a key was last made to take its place; nil: never
	MeantExpiry *time.Time // ExpiresAt as it was meant: without the end of an overlap (D29)

	LastUsedAt   *time.Time // to the minute; nil: never
	LastUsedFrom *string

	DeletedAt *time.Time // nil unless it was
}

// Permissions are what a restricted key may do; nil is full access (D29).
type Permissions []Permission

// A Permission opens one part of the API.
type Permission string

// The permissions (D29).
const (
	SessionsRead  Permission = "sessions:read"
	SessionsWrite Permission = "sessions:write"
	DataRead      Permission = "data:read"
	BillingRead   Permission = "billing:read"
)

// AllPermissions lists the permissions.
var AllPermissions = []Permission{SessionsRead, SessionsWrite, DataRead, BillingRead}

// Allow reports whether the key may do what p stands for.
func (ps Permissions) Allow(p Permission) bool { return ps == nil || slices.Contains(ps, p) }

const (
	testKeyPrefix = "candor_test_"
	liveKeyPrefix = "candor_live_"
	base62        = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	keyRandomLen  = 32 // characters, 190 bits
	checksumLen   = 6
)

// NewAPIKey makes a key with full access and returns it with its text, which
// is shown once and kept nowhere: prefix, 32 random base62 characters and a
// CRC32 of all that in base62 (D6).
func NewAPIKey(scope Scope, name string, now time.Time) (APIKey, string) {
	prefix := testKeyPrefix
	if scope.Livemode {
		prefix = liveKeyPrefix
	}
	text := prefix + randomBase62(keyRandomLen)
	text += checksum(text)
	return APIKey{
		ID: NewID[keyKind](), AccountID: scope.AccountID, Livemode: scope.Livemode, Name: name,
		Hash: HashAPIKey(text), Last4: text[len(text)-4:], CreatedAt: now,
	}, text
}

// HashAPIKey returns what a key is stored and found by.
func HashAPIKey(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// WellFormedAPIKey reports whether text can be a key at all: its prefix,
// alphabet and checksum. A mistyped key is refused by it without a look into
// the database.
func WellFormedAPIKey(text string) bool {
	if !strings.HasPrefix(text, testKeyPrefix) && !strings.HasPrefix(text, liveKeyPrefix) {
		return false
	}
	body := len(text) - checksumLen
	if body < len(testKeyPrefix)+keyRandomLen || len(text) > 255 {
		return false
	}
	for _, c := range text[len(testKeyPrefix):] {
		if !strings.ContainsRune(base62, c) {
			return false
		}
	}
	return text[body:] == checksum(text[:body])
}

func checksum(text string) string {
	n := crc32.ChecksumIEEE([]byte(text))
	var out [checksumLen]byte
	for i := checksumLen - 1; i >= 0; i-- {
		out[i] = base62[n%62]
		n /= 62
	}
	return string(out[:])
}

func randomBase62(n int) string {
	out := make([]byte, n)
	for i := range out {
		digit, err := rand.Int(rand.Reader, big.NewInt(62))
		if err != nil {
			panic(fmt.Sprintf("no randomness: %v", err)) // crypto/rand never fails on supported systems
		}
		out[i] = base62[digit.Int64()]
	}
	return string(out)
}
