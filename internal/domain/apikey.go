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

// An APIKey is a stored key, without its text (D6).
type APIKey struct {
	ID          KeyID
	AccountID   AccountID
	Livemode    bool
	Name        string
	Hash        [sha256.Size]byte
	Last4       string
	Permissions Permissions
	Networks    []netip.Prefix // from which it can be used; nil: from anywhere
	CreatedBy   string         // the actor's name at that time
	CreatedAt   time.Time
	ExpiresAt   *time.Time // nil: never

	ReplacedAt  *time.Time // when the key was last rotated; nil: never
	MeantExpiry *time.Time // ExpiresAt before a rotation with an overlap shortened it (D29)

	LastUsedAt   *time.Time // to the minute; nil: never
	LastUsedFrom *string

	DeletedAt *time.Time // nil unless it was deleted
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

	WebhookEndpointsRead  Permission = "webhook_endpoints:read"
	WebhookEndpointsWrite Permission = "webhook_endpoints:write"
)

// A PermissionInfo is what is known about a permission.
type PermissionInfo struct {
	Permission Permission
	Words      string     // what a key with it may do, in the dashboard: "May …"
	Needs      Capability // of the staff user who gives it to a key (D93)
}

// PermissionTable describes every permission, in the order in which the
// dashboard shows them.
var PermissionTable = []PermissionInfo{
	{SessionsRead, "read sessions", UseSessions},
	{SessionsWrite, "create and cancel sessions", UseSessions},
	{DataRead, "read customers’ data, PDFs and documents (events, too, if it may read sessions)", DownloadData},
	{BillingRead, "read billing", UseBilling},
	{WebhookEndpointsRead, "read webhook endpoints", ManageWebhooks},
	{WebhookEndpointsWrite, "add, change and delete webhook endpoints", ManageWebhooks},
}

// AllPermissions lists the permissions.
var AllPermissions = keys(PermissionTable, func(info PermissionInfo) Permission { return info.Permission })

var permissions = byKey(PermissionTable, func(info PermissionInfo) Permission { return info.Permission })

// Words says what a key with the permission may do.
func (p Permission) Words() string { return permissions[p].Words }

// Allow reports whether the key has the permission.
func (ps Permissions) Allow(p Permission) bool { return ps == nil || slices.Contains(ps, p) }

// Cover reports whether all of other's are among the permissions.
func (ps Permissions) Cover(other Permissions) bool {
	return ps == nil || other != nil && !slices.ContainsFunc(other, func(p Permission) bool { return !ps.Allow(p) })
}

const (
	testKeyPrefix = "candor_test_"
	liveKeyPrefix = "candor_live_"
	base62        = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	keyRandomLen  = 32 // characters, 190 bits
	checksumLen   = 6
)

// NewAPIKey creates a key with full access. It also returns the key's text,
// which is shown once and not stored: prefix, 32 random base62 characters, and
// the CRC32 of these in base62 (D6).
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

// HashAPIKey returns the hash by which a key is stored and found.
func HashAPIKey(text string) [sha256.Size]byte { return sha256.Sum256([]byte(text)) }

// WellFormedAPIKey reports whether text has the prefix, alphabet and checksum
// of a key. It refuses a mistyped key without a query.
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
