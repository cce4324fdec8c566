package webhook

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
)

// specialPurpose are the ranges that are never called: the IANA registries of
// special-purpose addresses, and those of clouds and transition mechanisms. The
// list is independent of the tested one.
var specialPurpose = []string{
	"0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "169.254.169.254/32", "168.63.129.16/32",
	"172.16.0.0/12", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
	"192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32",
	"::/128", "::1/128", "::/96", "::ffff:0:0:0/96", "64:ff9b::/96", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64",
	"2001::/32", "2001:1::1/128", "2001:2::/48", "2001:3::/32", "2001:4:112::/48", "2001:10::/28", "2001:20::/28", "2001:30::/28",
	"2001::/23", "2001:db8::/32", "2002::/16", "2620:4f:8000::/48", "3fff::/20", "5f00::/16",
	"fc00::/7", "fd00:ec2::254/128", "fe80::/10", "fec0::/10", "ff00::/8",
}

// publicNeighbours are the addresses next to those ranges.
var publicNeighbours = []string{
	"1.0.0.0", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0", "168.63.129.15",
	"168.63.129.17", "169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "191.255.255.255", "192.0.1.0", "192.0.3.0",
	"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "198.51.101.0", "203.0.112.255",
	"203.0.114.0",
	"223.255.255.255", "2001:200::", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::",
	"2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
	"2003::", "2620:4f:7fff:ffff:ffff:ffff:ffff:ffff", "2620:4f:8001::", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
}

func TestEdgesOfTheRefusedRanges(t *testing.T) {
	t.Parallel()
	for _, text := range specialPurpose {
		prefix := netip.MustParsePrefix(text)
		for _, address := range []netip.Addr{prefix.Masked().Addr(), lastOf(prefix)} {
			checkLiteral(t, address, false, address.IsLoopback())
		}
	}
	for _, text := range publicNeighbours {
		checkLiteral(t, netip.MustParseAddr(text), true, true)
	}
}

// lastOf is the last address of a range.
func lastOf(prefix netip.Prefix) netip.Addr {
	bytes := prefix.Addr().AsSlice()
	for i := prefix.Bits(); i < 8*len(bytes); i++ {
		bytes[i/8] |= 1 << (7 - i%8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// checkLiteral checks that the dialler and the check of the URL agree, with and
// without a port.
func checkLiteral(t *testing.T, address netip.Addr, production, development bool) {
	t.Helper()
	checkControl(t, address, production, development)
	host := address.String()
	if address.Is6() {
		host = "[" + strings.ReplaceAll(host, "%", "%25") + "]"
	}
	checkBoth(t, "https://"+host+"/", production, development)
	checkBoth(t, "https://"+host+":8443/", production, development)
}

func checkControl(t *testing.T, address netip.Addr, production, development bool) {
	t.Helper()
	network := "tcp4"
	if address.Is6() {
		network = "tcp6"
	}
	for policy, accepted := range map[Policy]bool{{}: production, {Development: true}: development} {
		err := policy.Control(t.Context(), network, netip.AddrPortFrom(address, 443).String(), nil)
		var refused *TargetError
		if (err == nil) != accepted || err != nil && !errors.As(err, &refused) {
			t.Errorf("%+v Control(%s) = %v, want accepted: %t", policy, address, err, accepted)
		}
	}
}

// wanted are IPv4 addresses that an attacker may want to reach, each for another
// reason.
var wanted = []string{
	"0.0.0.0", "10.0.0.1", "100.64.0.1", "100.100.100.200", "127.0.0.1", "127.255.255.254", "168.63.129.16", "169.254.169.254",
	"169.254.170.2",
	"172.16.0.1", "192.0.0.192", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.7", "203.0.113.7", "224.0.0.1", "240.0.0.1",
	"255.255.255.255",
}

// Every way to write an IPv4 address into an IPv6 one is refused.
func TestEmbeddedAddresses(t *testing.T) {
	t.Parallel()
	for _, text := range wanted {
		v4 := netip.MustParseAddr(text)
		for name, address := range embeddings(v4) {
			// A resolver may return the mapped form of an IPv4 address, so development
			// permits that of loopback.
			checkControl(t, address, false, name == "mapped" && v4.IsLoopback())
			host := strings.ReplaceAll(address.String(), "%", "%25")
			checkBoth(t, "https://["+host+"]/", false, false)
			checkBoth(t, "https://["+strings.ToUpper(host)+"]:8443/", false, false)
		}
	}
}

// embeddings are the IPv6 addresses that contain an IPv4 address.
func embeddings(v4 netip.Addr) map[string]netip.Addr {
	b := v4.As4()
	high, low := uint16(b[0])<<8|uint16(b[1]), uint16(b[2])<<8|uint16(b[3])
	out := map[string]netip.Addr{}
	for name, text := range map[string]string{
		"mapped":               fmt.Sprintf("::ffff:%s", v4),
		"mapped with a zone":   fmt.Sprintf("::ffff:%s%%eth0", v4),
		"compatible":           fmt.Sprintf("::%x:%x", high, low),
		"translated":           fmt.Sprintf("::ffff:0:%x:%x", high, low),
		"NAT64":                fmt.Sprintf("64:ff9b::%x:%x", high, low),
		"local NAT64":          fmt.Sprintf("64:ff9b:1::%x:%x", high, low),
		"local NAT64 of 48":    fmt.Sprintf("64:ff9b:1:%x:%x:%x::", high, b[2], uint16(b[3])<<8),
		"6to4":                 fmt.Sprintf("2002:%x:%x::1", high, low),
		"Teredo server":        fmt.Sprintf("2001:0:%x:%x:8000:1:2:3", high, low),
		"Teredo client":        fmt.Sprintf("2001:0:4136:e378:8000:63bf:%x:%x", ^high, ^low),
		"ISATAP":               fmt.Sprintf("fe80::5efe:%x:%x", high, low),
		"ISATAP with a zone":   fmt.Sprintf("fe80::5efe:%x:%x%%eth0", high, low),
		"unique-local":         fmt.Sprintf("fd00::%x:%x", high, low),
		"site-local":           fmt.Sprintf("fec0::%x:%x", high, low),
		"multicast":            fmt.Sprintf("ff0e::%x:%x", high, low),
		"documentation":        fmt.Sprintf("2001:db8::%x:%x", high, low),
		"public with a zone":   fmt.Sprintf("2606:4700::%x:%x%%eth0", high, low),
		"segment routing":      fmt.Sprintf("5f00::%x:%x", high, low),
		"discard":              fmt.Sprintf("100::%x:%x", high, low),
		"newer documentation":  fmt.Sprintf("3fff::%x:%x", high, low),
		"outside the internet": fmt.Sprintf("4000::%x:%x", high, low),
	} {
		out[name] = netip.MustParseAddr(text)
	}
	return out
}

// Every other way to write an IPv4 address is refused, also for a public one:
// resolvers read them, and differ.
func TestOddlyWrittenAddresses(t *testing.T) {
	t.Parallel()
	for _, text := range append([]string{"8.8.8.8", "93.184.216.34"}, wanted...) {
		v4 := netip.MustParseAddr(text)
		spellings := oddSpellings(v4)
		for i, host := range spellings {
			if slices.Contains(spellings[:i], host) {
				continue
			}
			for _, target := range []string{"https://" + host + "/", "https://" + host + ":8443/", "http://" + host + "/",
				"https://" + host} {
				checkBoth(t, target, false, false)
			}
		}
	}
}

func oddSpellings(v4 netip.Addr) []string {
	b := v4.As4()
	number := uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
	plain := v4.String()
	out := []string{
		fmt.Sprintf("%d", number), fmt.Sprintf("0%o", number), fmt.Sprintf("0x%x", number), fmt.Sprintf("0X%X", number),
		fmt.Sprintf("0x%08x", number),
		fmt.Sprintf("%d.%d", b[0], number&0xffffff), fmt.Sprintf("%d.%d.%d", b[0], b[1], number&0xffff),
		fmt.Sprintf("0x%x.%d", b[0], number&0xffffff), fmt.Sprintf("0%o.0x%x", b[0], number&0xffffff),
		fmt.Sprintf("0%o.0%o.0%o.0%o", b[0], b[1], b[2], b[3]), fmt.Sprintf("0x%x.0x%x.0x%x.0x%x", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("%04d.%04d.%04d.%04d", b[0], b[1], b[2], b[3]), fmt.Sprintf("%d.%d.%d.0x%x", b[0], b[1], b[2], b[3]),
		fmt.Sprintf("%d.%d.%d.0%d", b[0], b[1], b[2], b[3]), fmt.Sprintf("%d.%d.%d.%d", int(b[0])+256, b[1], b[2], b[3]),
		plain + ".", plain + "..", "." + plain, plain + "%00", plain + "%20", plain + "%2e", plain + ".0", "0." + plain, "-" + plain,
		"+" + plain,
		"[" + plain + "]", "[::" + plain + "]x", "user@" + plain, "user:pass@" + plain, "example.com@" + plain,
		"example.com:443@" + plain,
		strings.ReplaceAll(plain, ".", "%2E"), strings.ReplaceAll(plain, ".", ".."), strings.ReplaceAll(plain, ".", ","),
		strings.ReplaceAll(plain, ".", "\u3002"), strings.ReplaceAll(plain, ".", "\uff0e"), strings.ReplaceAll(plain, ".", "\uff61"),
		strings.ReplaceAll(plain, ".", "\u00ad."), strings.ReplaceAll(plain, ".", ".\u200b"),
	}
	for _, zero := range []rune{'\uff10', '\u0660', '\u06f0', '\u0966', 0x1d7ce} { // full-width, Arabic, Persian, Hindi, bold digits
		digits := strings.Map(func(r rune) rune {
			if r == '.' {
				return r
			}
			return zero + r - '0'
		}, plain)
		out = append(out, digits, strings.ReplaceAll(digits, ".", "\u3002"), percentEncoded(digits))
	}
	return append(out, percentEncoded(plain))
}

// percentEncoded writes every byte of host as %XX.
func percentEncoded(host string) string {
	var out strings.Builder
	for _, b := range []byte(host) {
		fmt.Fprintf(&out, "%%%02X", b)
	}
	return out.String()
}

func TestOddHosts(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"", ":443", "@", ".", "..", "-", "_", "%", "%00", "*", "[", "]", "[]", "[]:443", "[:]", "[::", "::]", "[::1", "::1", "[::1]]",
		"[[::1]]", "[::1]x",
		"[::1].", "[::1].example.com", "[::1]@example.com", "x[::1]", "[::1]:", "[::1]:0", "[::1]:99999", "[:::1]", "[1::2::3]",
		"[::g]", "[::1%]", "[::1%25]",
		"[::1%2525lo]", "[::1 ]", "[v1.fe80::a]", "[::ffff:127.0.0.1.]", "[::ffff:0177.0.0.1]", "[::ffff:256.0.0.1]",
		"[0:0:0:0:0:0:0:0:1]", "[12345::]",
		"localhost.", "localhost..", "LocalHost.", "sub.localhost.", "localhost%00.example.com", "localhost%2eexample.com",
		"localhost\u3002",
		"\uff4c\uff4f\uff43\uff41\uff4c\uff48\uff4f\uff53\uff54", "\u24db\u24de\u24d2\u24d0\u24db\u24d7\u24de\u24e2\u24e3",
		percentEncoded("localhost"),
		"loc\u00adalhost", "l\u043ecalhost", "\u202elocalhost", "localhost\u200b", "example\u3002com", "ex\u00e4mple.com",
		"example.com\u2024", "example.\u2488com",
		"example.com.", "example.com..", "example.com%2f@127.0.0.1", "example.com\\.127.0.0.1", "example.com;127.0.0.1",
		"example.com,127.0.0.1",
		"example.com&127.0.0.1", "example.com:443:80", "example.com:443@127.0.0.1", "127.0.0.1#@example.com", "127.0.0.1?@example.com",
		"a@b@example.com",
		"intranet", "metadata", "postgres", "printer.localdomain", "0x.example.0x", "example.123", "example.0x1f",
	} {
		if host == "127.0.0.1?@example.com" {
			checkBoth(t, "https://"+host, false, true) // the query begins there: it is loopback
			continue
		}
		checkBoth(t, "https://"+host+"/", false, false)
	}
}

// Any port may be called: partners' receivers use many, and only TLS and HTTP get a
// response.
func TestPorts(t *testing.T) {
	t.Parallel()
	for _, port := range []string{"", ":1", ":22", ":25", ":80", ":443", ":8443", ":65535"} {
		checkBoth(t, "https://example.com"+port+"/", true, true)
		checkBoth(t, "https://[2606:4700::1]"+port+"/", true, true)
		checkBoth(t, "https://127.0.0.1"+port+"/", false, true)
	}
	for _, port := range []string{":", ":0", ":00", ":65536", ":99999999999999999999", ":-1", ":+443", ":0x1bb", ":4 43", ":443.",
		":https", ":%34", ":\uff14\uff14\uff13", ":443:443"} {
		checkBoth(t, "https://example.com"+port+"/", false, false)
		checkBoth(t, "https://[2606:4700::1]"+port+"/", false, false)
		checkBoth(t, "https://127.0.0.1"+port+"/", false, false)
	}
}
