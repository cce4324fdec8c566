package webhook

import (
	"context"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/net/publicsuffix"
)

const (
	maxURLLength  = 2048
	maxHostLength = 253
	maxLabel      = 63
)

// Policy decides which targets may be called (D38): over https and on the
// public internet only.
type Policy struct {
	// Development also permits loopback addresses, and plain http to
	// localhost, 127.0.0.1 and [::1].
	Development bool
	// OwnHost is the service's own name, which is no target. "" refuses none.
	OwnHost string
}

// TargetError says why a target is refused.
type TargetError struct {
	// Message is a sentence for the partner: what is wrong and how to fix it. It
	// quotes neither the URL nor an address.
	Message string
}

// Error returns the message.
func (e *TargetError) Error() string { return e.Message }

func refuse(message string) error { return &TargetError{Message: message} }

// CheckURL checks the URL's scheme, user info, fragment, port and host, and returns
// a *TargetError if one is refused. It looks up no names: Control checks the
// addresses that they resolve to.
func (p Policy) CheckURL(raw string) error {
	if err := checkCharacters(raw); err != nil {
		return err
	}
	if !strings.Contains(raw, "://") {
		return refuse("The URL doesn’t start with https://. Give all of it, as in https://example.com/candor.")
	}
	u, err := url.Parse(raw)
	if err != nil || u.Opaque != "" || (u.Scheme != "" && u.Hostname() == "") {
		return refuse("The URL is not valid. Give a full address such as https://example.com/candor.")
	}
	if err := p.checkScheme(u); err != nil {
		return err
	}
	if u.User != nil {
		return refuse("The URL must not contain a user name or password. Remove the part before the @.")
	}
	if err := checkPort(u); err != nil {
		return err
	}
	return p.checkHost(u)
}

func checkCharacters(raw string) error {
	if raw == "" {
		return refuse("The URL is empty. Give a full address such as https://example.com/candor.")
	}
	if len(raw) > maxURLLength {
		return refuse("The URL is longer than 2048 characters. Shorten it.")
	}
	for _, c := range []byte(raw) {
		switch {
		case c <= ' ' || c == 0x7f:
			return refuse("The URL contains a space or a control character. Remove it, or percent-encode it in the path or query.")
		case c == '\\':
			return refuse("The URL contains a backslash. Use / instead.")
		case c == '#':
			return refuse("The URL must not contain a fragment. Remove the # and what follows it.")
		case c > 0x7f:
			return refuse(
				"The URL contains a character that is not ASCII. Give an international host name in its xn-- form and percent-encode the rest.")
		}
	}
	return nil
}

func (p Policy) checkScheme(u *url.URL) error {
	if u.Scheme == "https" {
		return nil
	}
	if !p.Development {
		return refuse("The URL must use https. Start it with https://.")
	}
	local := []string{"localhost", "127.0.0.1", "::1"}
	if u.Scheme == "http" && slices.Contains(local, strings.ToLower(u.Hostname())) {
		return nil
	}
	return refuse("The URL must use https. Plain http is possible only for localhost, 127.0.0.1 and [::1] in development.")
}

func checkPort(u *url.URL) error {
	port := u.Port()
	if port == "" && !strings.HasSuffix(u.Host, ":") {
		return nil
	}
	number, err := strconv.ParseUint(port, 10, 16)
	if err != nil || number == 0 {
		return refuse("The port in the URL is not valid. Use a number from 1 to 65535, or leave it out.")
	}
	return nil
}

func (p Policy) checkHost(u *url.URL) error {
	host := strings.ToLower(u.Hostname())
	if strings.HasPrefix(u.Host, "[") {
		return p.checkIPv6(host)
	}
	if !validName(host) {
		return refuse("The host in the URL is not valid. Use a domain name such as example.com, without a dot at its end.")
	}
	labels := strings.Split(host, ".")
	if looksNumeric(labels[len(labels)-1]) {
		return p.checkIPv4(host)
	}
	return p.checkName(host, labels)
}

func (p Policy) checkIPv6(host string) error {
	address, err := netip.ParseAddr(host)
	switch {
	case err != nil || !address.Is6():
		return refuse("The IPv6 address in the URL is not valid. Use a domain name instead.")
	case address.Zone() != "":
		return refuse("The address in the URL must not have a zone. Use a domain name or a public address.")
	case address.Is4In6():
		return refuse("The address in the URL is an IPv4 address in IPv6 form. Use a domain name or the plain IPv4 address.")
	}
	return p.checkAddress(address)
}

// checkIPv4 accepts only the dotted decimal form. C resolvers also read octal,
// hexadecimal and shortened forms, and differ in how.
func (p Policy) checkIPv4(host string) error {
	address, err := netip.ParseAddr(host)
	if err != nil || !address.Is4() {
		return refuse(
			"The address in the URL is not in the usual form. Use a domain name, or four decimal numbers without leading zeros.")
	}
	return p.checkAddress(address)
}

func (p Policy) checkAddress(address netip.Addr) error {
	if !p.permits(address) {
		return refuse("The address in the URL is private or reserved. Use a host that can be reached from the public internet.")
	}
	return nil
}

func (p Policy) checkName(host string, labels []string) error {
	switch local := labels[len(labels)-1]; {
	case local == "localhost":
		if p.Development {
			return nil
		}
		return refuse("The URL points to localhost. Use a host that can be reached from the public internet.")
	case len(labels) == 1 || local == "localdomain":
		return refuse("The host in the URL is a local name. Use a full domain name such as example.com.")
	case host == p.OwnHost:
		return refuse("The URL points to Candor itself. Use the address of your own server.")
	case !p.Development && local != "example" && !hasPublicSuffix(host):
		return refuse(
			"The host in the URL ends in a name that doesn’t exist on the public internet. Use a domain name such as example.com.")
	}
	return nil
}

// hasPublicSuffix reports whether a name ends as names on the public internet do: the
// list knows each top-level domain.
func hasPublicSuffix(host string) bool {
	suffix, icann := publicsuffix.PublicSuffix(host)
	return icann || strings.Contains(suffix, ".")
}

// validName reports whether host has the form of a domain name (RFC 1123, and the
// underscore that is used in practice). It refuses a trailing dot, so that a target
// has one spelling.
func validName(host string) bool {
	if len(host) > maxHostLength {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > maxLabel || label[0] == '-' || label[len(label)-1] == '-' {
			return false
		}
		for _, c := range []byte(label) {
			if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_' {
				return false
			}
		}
	}
	return true
}

// looksNumeric reports whether a host ending in label is read as an IPv4 address
// (WHATWG URL, "ends in a number").
func looksNumeric(label string) bool {
	digits, alphabet := label, "0123456789"
	if rest, isHex := strings.CutPrefix(label, "0x"); isHex {
		digits, alphabet = rest, "0123456789abcdef"
	}
	return strings.Trim(digits, alphabet) == ""
}

// Control is for net.Dialer.ControlContext. It returns a *TargetError for an address
// that Policy doesn't permit. It runs after the look-up and gets the address of the
// connection, so a name that changes its address (DNS rebinding) is refused, too.
func (p Policy) Control(_ context.Context, network, address string, _ syscall.RawConn) error {
	if network != "tcp4" && network != "tcp6" {
		return refuse("Deliveries are made over TCP only.")
	}
	target, err := netip.ParseAddrPort(address)
	if err != nil || !p.permits(target.Addr()) {
		return refuse(
			"The host of the URL resolves to a private or reserved address. Let it resolve to an address on the public internet.")
	}
	return nil
}

func (p Policy) permits(address netip.Addr) bool {
	if address.Zone() != "" {
		return false
	}
	address = address.Unmap()
	if p.Development && address.IsLoopback() {
		return true
	}
	if !address.IsGlobalUnicast() || (address.Is6() && !globalIPv6.Contains(address)) {
		return false
	}
	return !slices.ContainsFunc(reserved, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}

// globalIPv6 is the range that IANA has assigned to the public internet.
var globalIPv6 = netip.MustParsePrefix("2000::/3")

// reserved follows the IANA special-purpose registries. Its IPv6 ranges are those
// within globalIPv6, including the prefixes that carry an IPv4 address (Teredo,
// 6to4).
var reserved = prefixes(
	// private, loopback, link-local, metadata
	"0.0.0.0/8", "10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.168.0.0/16",
	"100.64.0.0/10",    // carrier-grade NAT
	"168.63.129.16/32", // Azure's host agent, on a public address
	"192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.175.48.0/24",
	"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", // benchmarks, documentation
	"224.0.0.0/4", "240.0.0.0/4", // multicast, reserved, broadcast
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20",
)

func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}
