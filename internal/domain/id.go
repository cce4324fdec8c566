// Package domain holds the service's domain: accounts, API keys, sessions,
// events, subscriptions, their rules and errors. It does no I/O and knows no
// transport.
package domain

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"database/sql/driver"
	"errors"
	"fmt"
	"strings"

	"github.com/google/uuid"
)

// kind distinguishes the types of ids, so that one can't be used as another.
type kind interface{ prefix() string }

// An ID is a public identifier: a UUIDv7, written as a TypeID such as
// sess_01h455vb4pex5vsknk084sn02q (D4).
type ID[K kind] struct{ uuid.UUID }

type (
	accountKind  struct{}
	staffKind    struct{}
	keyKind      struct{}
	sessionKind  struct{}
	documentKind struct{}
	eventKind    struct{}
	deliveryKind struct{}
	endpointKind struct{}

	redeliveryKind struct{}

	staffSessionKind struct{}
	auditKind        struct{}
	staffRequestKind struct{}
	invitationKind   struct{}
	passkeyKind      struct{}
	heldFormKind     struct{}
	subscriptionKind struct{}
	invoiceKind      struct{}
	erasureKind      struct{}
	alertKind        struct{}
	outageKind       struct{}
)

func (accountKind) prefix() string  { return "acct" }
func (staffKind) prefix() string    { return "usr" }
func (keyKind) prefix() string      { return "key" }
func (sessionKind) prefix() string  { return "sess" }
func (documentKind) prefix() string { return "doc" }
func (eventKind) prefix() string    { return "evt" }
func (deliveryKind) prefix() string { return "whd" }
func (endpointKind) prefix() string { return "whe" }

func (redeliveryKind) prefix() string { return "rdl" }

func (staffSessionKind) prefix() string { return "sts" }
func (auditKind) prefix() string        { return "aud" }
func (staffRequestKind) prefix() string { return "srq" }
func (invitationKind) prefix() string   { return "ivt" }
func (passkeyKind) prefix() string      { return "pkey" }
func (heldFormKind) prefix() string     { return "hld" }
func (subscriptionKind) prefix() string { return "sub" }
func (invoiceKind) prefix() string      { return "inv" }
func (erasureKind) prefix() string      { return "ers" }
func (alertKind) prefix() string        { return "alrt" }
func (outageKind) prefix() string       { return "out" }

// The ids of accounts and what they own (D4).
type (
	// AccountID is an account's, acct_….
	AccountID = ID[accountKind]
	// StaffID is a staff user's, usr_….
	StaffID = ID[staffKind]
	// KeyID is an API key's, key_….
	KeyID = ID[keyKind]
	// SessionID is a session's, sess_….
	SessionID = ID[sessionKind]
	// DocumentID is an uploaded document's, doc_….
	DocumentID = ID[documentKind]
	// EventID is an event's, evt_….
	EventID = ID[eventKind]
	// DeliveryID is a webhook delivery's, whd_….
	DeliveryID = ID[deliveryKind]
	// EndpointID is a webhook endpoint's, whe_….
	EndpointID = ID[endpointKind]
	// OutageID is an outage's, out_….
	OutageID = ID[outageKind]
	// RedeliveryID is a redelivery's, rdl_….
	RedeliveryID = ID[redeliveryKind]
	// StaffSessionID is a staff session's, sts_….
	StaffSessionID = ID[staffSessionKind]
	// AuditID is an audit entry's, aud_….
	AuditID = ID[auditKind]
	// StaffRequestID is the id of a request that an emailed link confirms,
	// srq_….
	StaffRequestID = ID[staffRequestKind]
	// InvitationID is an invitation's, ivt_….
	InvitationID = ID[invitationKind]
	// PasskeyID is a passkey's, pkey_….
	PasskeyID = ID[passkeyKind]
	// HeldFormID is the id of a form that waits for the password, hld_….
	HeldFormID = ID[heldFormKind]
	// SubscriptionID is a subscription's, sub_….
	SubscriptionID = ID[subscriptionKind]
	// InvoiceID is an invoice's, inv_….
	InvoiceID = ID[invoiceKind]
	// ErasureID is the id of a receipt for erased data, ers_….
	ErasureID = ID[erasureKind]
	// AlertID identifies an alert.
	AlertID = ID[alertKind]
)

// ErrBadID is returned if a text is not an id of the kind.
var ErrBadID = errors.New("not an id of this kind")

// NewID returns a new id. Ids of one process are in order of time.
func NewID[K kind]() ID[K] { return ID[K]{uuid.Must(uuid.NewV7())} }

// ParseID reads an id of kind K. It accepts one spelling only.
func ParseID[K kind](s string) (ID[K], error) {
	var k K
	suffix, ok := strings.CutPrefix(s, k.prefix()+"_")
	if !ok {
		return ID[K]{}, ErrBadID
	}
	u, ok := decodeSuffix(suffix)
	if !ok {
		return ID[K]{}, ErrBadID
	}
	return ID[K]{u}, nil
}

// String returns the id as a TypeID.
func (id ID[K]) String() string {
	var k K
	return k.prefix() + "_" + encodeSuffix(id.UUID)
}

// MarshalText writes the TypeID.
func (id ID[K]) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads a TypeID.
func (id *ID[K]) UnmarshalText(b []byte) error {
	parsed, err := ParseID[K](string(b))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Next is the next id in their order.
func (id ID[K]) Next() ID[K] {
	for i := len(id.UUID) - 1; i >= 0; i-- {
		if id.UUID[i]++; id.UUID[i] != 0 {
			break
		}
	}
	return id
}

// Compare is negative if the id comes before the other in their order, which is that of
// their times.
func (id ID[K]) Compare(other ID[K]) int { return bytes.Compare(id.UUID[:], other.UUID[:]) }

// Value stores the id as a uuid.
func (id ID[K]) Value() (driver.Value, error) { return id.UUID.String(), nil }

// Scan reads a stored uuid.
func (id *ID[K]) Scan(src any) error {
	if err := id.UUID.Scan(src); err != nil {
		return fmt.Errorf("scan id: %w", err)
	}
	return nil
}

// shortTime is what of an id's time is in a session's reference: its milliseconds
// without the first byte, and 5 bits of what follows, which is 31 µs.
const (
	shortTime = 40 + 5
	firstByte = 0x01 // until 2039
)

// SessionReference is a short text by which a customer and a partner can talk
// about the session, "M82-209-Y5E". It is the id's time; SessionsReferred finds
// the session by it.
func SessionReference(id SessionID) string {
	bits := uint64(id.UUID[6]&0x0f)<<1 | uint64(id.UUID[7]>>7)
	for i, b := range id.UUID[1:6] {
		bits |= uint64(b) << (5 + 8*(4-i))
	}
	var out [shortTime / 5]byte
	for i := range out {
		out[len(out)-1-i] = crockford[bits>>(5*i)&31]
	}
	text := strings.ToUpper(string(out[:]))
	return text[:3] + "-" + text[3:6] + "-" + text[6:]
}

// SessionsReferred returns the first and the last id that have a reference, as a
// person types it.
func SessionsReferred(text string) (first, last SessionID, ok bool) {
	text = strings.NewReplacer("-", "", " ", "", "o", "0", "i", "1", "l", "1").Replace(strings.ToLower(text))
	if len(text) != shortTime/5 {
		return first, last, false
	}
	var bits uint64
	for _, c := range text {
		digit := strings.IndexRune(crockford, c)
		if digit < 0 {
			return first, last, false
		}
		bits = bits<<5 | uint64(digit)
	}
	first.UUID[0] = firstByte
	for i := range 5 {
		first.UUID[1+i] = byte(bits >> (5 + 8*(4-i)))
	}
	first.UUID[6], first.UUID[7] = 0x70|byte(bits>>1&0x0f), byte(bits)<<7
	last = first
	last.UUID[7] |= 0x7f
	for i := range last.UUID[8:] {
		last.UUID[8+i] = 0xff
	}
	return first, last, true
}

// crockford is the TypeID alphabet: base32 without i, l, o and u.
const crockford = "0123456789abcdefghjkmnpqrstvwxyz"

// suffixLen is the length of 128 bits in characters of 5 bits.
const suffixLen = 26

// encodeSuffix writes the 128 bits, most significant first, in 26 characters.
func encodeSuffix(u uuid.UUID) string {
	var out [suffixLen]byte
	bits, pending, next := uint(0), uint(0), len(u)-1
	for i := suffixLen - 1; i >= 0; i-- {
		if pending < 5 && next >= 0 {
			bits |= uint(u[next]) << pending
			pending += 8
			next--
		}
		out[i] = crockford[bits&31]
		bits >>= 5
		pending -= min(5, pending)
	}
	return string(out[:])
}

func decodeSuffix(s string) (uuid.UUID, bool) {
	var u uuid.UUID
	if len(s) != suffixLen || s[0] > '7' {
		return u, false
	}
	bits, pending, next := uint(0), uint(0), len(u)-1
	for i := suffixLen - 1; i >= 0; i-- {
		digit := strings.IndexByte(crockford, s[i])
		if digit < 0 {
			return uuid.UUID{}, false
		}
		bits |= uint(digit) << pending
		pending += 5
		if pending >= 8 && next >= 0 {
			u[next] = byte(bits)
			bits >>= 8
			pending -= 8
			next--
		}
	}
	return u, true
}

// New ids of each kind.
var (
	NewAccountID      = NewID[accountKind]
	NewStaffID        = NewID[staffKind]
	NewSessionID      = NewID[sessionKind]
	NewDeliveryID     = NewID[deliveryKind]
	NewDocumentID     = NewID[documentKind]
	NewEndpointID     = NewID[endpointKind]
	NewOutageID       = NewID[outageKind]
	NewRedeliveryID   = NewID[redeliveryKind]
	NewStaffSessionID = NewID[staffSessionKind]
	NewAuditID        = NewID[auditKind]
	NewStaffRequestID = NewID[staffRequestKind]
	NewInvitationID   = NewID[invitationKind]
	NewPasskeyID      = NewID[passkeyKind]
	NewHeldFormID     = NewID[heldFormKind]
	NewSubscriptionID = NewID[subscriptionKind]
	NewInvoiceID      = NewID[invoiceKind]
	NewErasureID      = NewID[erasureKind]
	NewAlertID        = NewID[alertKind]
)

// Each kind's reading of a text.
var (
	ParseSessionID      = ParseID[sessionKind]
	ParseDocumentID     = ParseID[documentKind]
	ParseAccountID      = ParseID[accountKind]
	ParseDeliveryID     = ParseID[deliveryKind]
	ParseOutageID       = ParseID[outageKind]
	ParseRedeliveryID   = ParseID[redeliveryKind]
	ParseStaffSessionID = ParseID[staffSessionKind]
	ParseInvitationID   = ParseID[invitationKind]
	ParseHeldFormID     = ParseID[heldFormKind]
	ParsePasskeyID      = ParseID[passkeyKind]
	ParseInvoiceID      = ParseID[invoiceKind]
	ParseEventID        = ParseID[eventKind]
	ParseAuditID        = ParseID[auditKind]
	ParseStaffID        = ParseID[staffKind]
	ParseKeyID          = ParseID[keyKind]
	ParseEndpointID     = ParseID[endpointKind]
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
