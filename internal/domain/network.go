package domain

import "net/netip"

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
