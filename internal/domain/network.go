package domain

import (
	"net/netip"
	"time"
)

// networkBits is the length of an IPv6 network prefix.
const networkBits = 64

// Network returns a client's network, by which requests are counted. An IPv6
// client has a whole /64 of addresses, so the /64 is counted.
func Network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is6() {
		network, _ := ip.Prefix(networkBits) // 64 fits every IPv6 address
		return network.String()
	}
	return ip.String()
}

// A KeyNetwork is a network that an API key was used from.
type KeyNetwork struct {
	KeyID    KeyID     `db:"key_id"`
	Network  string    `db:"network"` // as KeyNetworkOf has it
	Address  string    `db:"address"` // the last one there
	FirstAt  time.Time `db:"first_at"`
	LastAt   time.Time `db:"last_at"`
	Requests int64     `db:"requests"`
	New      bool      `db:"new"` // the key was used from others before
}

// KeyNetworkRetention is how long a network is kept after its last use. The last one of
// a key stays.
const KeyNetworkRetention = 90 * 24 * time.Hour

// NewNetworkShown is how long the dashboard shows that a key was used from a new
// network.
const NewNetworkShown = 7 * 24 * time.Hour

// The parts of an address that tell networks apart: what one provider's customer
// usually has.
const (
	keyNetworkBits4 = 24
	keyNetworkBits6 = 48
)

// KeyNetworkOf is the network of an address, by which the use of keys is told
// apart.
func KeyNetworkOf(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return "unknown"
	}
	ip = ip.Unmap().WithZone("")
	bits := keyNetworkBits4
	if ip.Is6() {
		bits = keyNetworkBits6
	}
	network, _ := ip.Prefix(bits) // fits
	return network.String()
}

// A KeyUse sums up the requests of a key to one address of the API.
type KeyUse struct {
	Method   string    `db:"method"`
	Route    string    `db:"route"`
	Requests int       `db:"requests"`
	Sessions int       `db:"sessions"` // different ones
	First    RequestID `db:"first"`
	Last     RequestID `db:"last"`
}
