package webhook

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
)

func TestCheckURL(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		url                     string
		production, development bool
	}{
		{"https://example.com", true, true},
		{"HTTPS://Example.COM:8443/hooks/a%20b?token=x&y=%23", true, true},
		{"https://my_host.example.co.uk/", true, true},
		{"https://xn--bcher-kva.example/", true, true},
		{"https://8.8.8.8/", true, true},
		{"https://[2606:4700:4700::1111]:443/", true, true},
		{"https://123.example.com/", true, true},
		{"https://0x7f.example.com/", true, true},
		{"https://localhost.example.com/", true, true},
		{"https://lender.com.au/", true, true},
		{"https://lender.github.io/", true, true},
		{"https://metadata.google.internal/", false, true},
		{"https://db.corp/", false, true},
		{"https://api.lan/", false, true},

		{"http://localhost:8080/hook", false, true},
		{"http://LOCALHOST/hook", false, true},
		{"http://127.0.0.1:8080/", false, true},
		{"http://[::1]:8080/", false, true},
		{"https://localhost/", false, true},
		{"https://app.localhost/", false, true},
		{"https://127.0.0.1/", false, true},
		{"https://127.8.9.10/", false, true},
		{"https://[::1]/", false, true},
		{"https://[0:0:0:0:0:0:0:1]/", false, true},
		{"http://127.0.0.2/", false, false},
		{"http://app.localhost/", false, false},
		{"http://example.com/", false, false},
		{"http://10.0.0.1/", false, false},
		{"http://127.0.0.1.example.com/", false, false},
	} {
		checkBoth(t, test.url, test.production, test.development)
	}
}

func TestCheckURLRefusesTheServiceItself(t *testing.T) {
	t.Parallel()
	policy := Policy{OwnHost: "candor.example.com"}
	for url, accepted := range map[string]bool{
		"https://candor.example.com/v1/sessions": false, "https://CANDOR.example.com:8443/": false,
		"https://hooks.candor.example.com/": true,
	} {
		if err := policy.CheckURL(url); (err == nil) != accepted {
			t.Errorf("%s: %v, want accepted: %t", url, err, accepted)
		}
	}
}

func TestCheckURLRefusesForms(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{
		"", "example.com", "//example.com/", "https:", "https:/example.com", "https:example.com", "https://", "https:///path",
		"https://:443/", "ftp://example.com/", "javascript:alert(1)", "file:///etc/passwd", "unix:///run/x.sock",
		"https://user@example.com/", "https://user:secret@example.com/", "https://@example.com/", "https://example.com@127.0.0.1/",
		"https://example.com/#top", "https://example.com/#", "https://example.com#@127.0.0.1/",
		"https://exa mple.com/", " https://example.com/", "https://example.com/ ", "https://example.com/\r\nX: 1",
		"https://example.com/\x00",
		"https://example.com/\x7f", "https://example.com/\ta", "https://example.com\\@127.0.0.1/", "https:\\\\example.com",
		"https://exämple.com/", "https://example.com/ä", "https://127。0。0。1/", "https://\uff11\uff12\uff17.0.0.1/",
		"https://\u2460.example/",
		"https://example.com:0/", "https://example.com:65536/", "https://example.com:/", "https://example.com:-1/",
		"https://example.com:443:443/", "https://example.com:https/", "https://example.com:+443/",
		"https://example.com./", "https://example..com/", "https://.example.com/", "https://-example.com/", "https://example-.com/",
		"https://exa%6dple.com/", "https://exa%E4mple.com/", "https://exam!ple.com/", "https://*.example.com/", "https://a,b.example/",
		"https://" + strings.Repeat("a", 64) + ".com/", "https://" + strings.Repeat("a.", 127) + "com/",
		"https://example.com/" + strings.Repeat("a", maxURLLength),
		"https://intranet/", "https://postgres:5432/", "https://localhost.localdomain/", "https://localhost./", "https://LOCALHOST./",
	} {
		checkBoth(t, raw, false, false)
	}
}

// Literals that are refused in production. Development accepts only the plain forms
// of a loopback address.
func TestCheckURLRefusesLiterals(t *testing.T) {
	t.Parallel()
	for _, host := range []string{
		"2130706433", "017700000001", "0x7f000001", "0X7F000001", "0x7f.1", "127.1", "127.0.1", "0177.0.0.1", "0x7f.0.0.1",
		"127.0.0.0x1",
		"127.0.0.01", "127.00.0.1", "0x7f.0x0.0x0.0x1", "127.0.0.1.", "0", "0.0.0.0", "0x", "4294967295", "99999999999999999999",
		"1.2.3.4.5", "256.1.1.1", "8.8.8.8.", "134744072", "example.0x7f", "example.1",
		"0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.100.100.200", "169.254.0.1", "169.254.169.254", "169.254.170.2",
		"168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.88.99.1", "192.168.1.1", "198.18.0.1",
		"198.19.255.255",
		"198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
		"[::]", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::ffff:10.0.0.1]", "[::ffff:169.254.169.254]", "[::127.0.0.1]",
		"[64:ff9b::7f00:1]", "[64:ff9b::a9fe:a9fe]", "[64:ff9b:1::1]", "[100::1]", "[2001::1]", "[2001:db8::1]", "[2002:7f00:1::]",
		"[2002:a00:1::]",
		"[3fff::1]", "[5f00::1]", "[fc00::1]", "[fd00:ec2::254]", "[fe80::1]", "[fe80::1%25eth0]", "[::1%25lo]", "[::1%25]",
		"[2606:4700::1%25eth0]",
		"[fec0::1]", "[ff02::1]", "[127.0.0.1]", "[localhost]", "[]", "[::1", "::1", "[::1]x",
	} {
		checkBoth(t, "https://"+host+"/", false, false)
		checkBoth(t, "https://"+host+":8443/", false, false)
	}
}

func checkBoth(t *testing.T, raw string, production, development bool) {
	t.Helper()
	for policy, accepted := range map[Policy]bool{{}: production, {Development: true}: development} {
		err := policy.CheckURL(raw)
		if (err == nil) != accepted {
			t.Errorf("%+v CheckURL(%q) = %v, want accepted: %t", policy, raw, err, accepted)
		}
		var refused *TargetError
		if err != nil && (!errors.As(err, &refused) || !strings.HasSuffix(refused.Message, ".")) {
			t.Errorf("CheckURL(%q): %v is not a sentence in a TargetError", raw, err)
		}
	}
}

func TestControl(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		network, address        string
		production, development bool
	}{
		{"tcp4", "8.8.8.8:443", true, true},
		{"tcp4", "172.15.255.255:443", true, true},
		{"tcp4", "172.32.0.1:443", true, true},
		{"tcp4", "100.63.255.255:443", true, true},
		{"tcp4", "100.128.0.1:443", true, true},
		{"tcp6", "[2606:4700:4700::1111]:443", true, true},
		{"tcp6", "[2a00:1450:4001::1]:8443", true, true},

		{"tcp4", "127.0.0.1:443", false, true},
		{"tcp4", "127.255.0.9:80", false, true},
		{"tcp6", "[::1]:443", false, true},
		{"tcp6", "[::ffff:127.0.0.1]:443", false, true},

		{"udp4", "8.8.8.8:443", false, false},
		{"tcp", "8.8.8.8:443", false, false},
		{"unix", "/run/x.sock", false, false},
		{"tcp4", "8.8.8.8", false, false},
		{"tcp4", "", false, false},
		{"tcp6", "[::1%lo]:443", false, false},
		{"tcp6", "[fe80::1%eth0]:443", false, false},
	} {
		for policy, accepted := range map[Policy]bool{{}: test.production, {Development: true}: test.development} {
			if err := policy.Control(t.Context(), test.network, test.address, nil); (err == nil) != accepted {
				t.Errorf("%+v Control(%s, %q) = %v, want accepted: %t", policy, test.network, test.address, err, accepted)
			}
		}
	}
}

func TestControlRefusesReserved(t *testing.T) {
	t.Parallel()
	for _, address := range []string{
		"0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "100.100.100.200", "169.254.0.1",
		"169.254.169.254",
		"168.63.129.16", "172.16.0.1", "172.31.255.255", "192.0.0.192", "192.0.2.1", "192.31.196.1", "192.52.193.1", "192.88.99.1",
		"192.168.255.255",
		"192.175.48.1", "198.18.0.1", "198.19.255.255", "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.1.1.1", "240.0.0.1",
		"255.255.255.255",
		"::", "::127.0.0.1", "::8.8.8.8", "::ffff:10.0.0.1", "::ffff:169.254.169.254", "::ffff:0.0.0.0", "64:ff9b::808:808",
		"64:ff9b:1::1", "100::1", "100:0:0:1::1",
		"2001::1", "2001:20::1", "2001:db8::1", "2002:808:808::1", "2620:4f:8000::1", "3fff::1", "4000::1", "5f00::1", "fc00::1",
		"fd00:ec2::254", "fe80::1",
		"febf::1", "fec0::1", "ff00::1", "ff02::1", "ff0e::1",
	} {
		network := "tcp4"
		if strings.Contains(address, ":") {
			network = "tcp6"
		}
		for _, policy := range []Policy{{}, {Development: true}} {
			var refused *TargetError
			if err := policy.Control(t.Context(), network, net.JoinHostPort(address, "443"), nil); !errors.As(err, &refused) {
				t.Errorf("%+v Control(%s) = %v, want a TargetError", policy, address, err)
			}
		}
	}
}

// Whatever CheckURL accepts in production is https without user info, and if a
// resolver could read its host as an address, Control lets that address pass.
func FuzzCheckURL(f *testing.F) {
	for _, seed := range []string{
		"https://example.com/", "https://2130706433/", "https://0x7f.1/", "https://0177.0.0.1/", "https://127.0.0.1./",
		"https://[::1]/",
		"https://[::ffff:127.0.0.1]/", "https://[fe80::1%25eth0]/", "https://a@b/", "https://localhost./", "https://0X7f000001:443/",
		"https://1.2.3.0xff/",
		"https://example.com\\@127.0.0.1/", "https://127。0.0.1/", "https://8.8.8.8:443/",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		policy := Policy{}
		if policy.CheckURL(raw) != nil {
			return
		}
		u, err := url.Parse(raw)
		if err != nil || u.Scheme != "https" || u.User != nil || u.Fragment != "" || u.Hostname() == "" {
			t.Fatalf("accepted %q: %v, %v", raw, u, err)
		}
		host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
		if host == "localhost" || strings.HasSuffix(host, ".localhost") {
			t.Fatalf("accepted %q: a name of loopback", raw)
		}
		address, isAddress := readAddress(host)
		if !isAddress {
			return
		}
		network := "tcp4"
		if address.Is6() {
			network = "tcp6"
		}
		if err := policy.Control(context.Background(), network, netip.AddrPortFrom(address, 443).String(), nil); err != nil {
			t.Fatalf("accepted %q, read as %s: %v", raw, address, err)
		}
	})
}

// readAddress reads host like the most lenient resolver: inet_aton for IPv4, with
// octal, hexadecimal and one to four parts.
func readAddress(host string) (netip.Addr, bool) {
	if address, err := netip.ParseAddr(host); err == nil {
		return address, true
	}
	parts := strings.Split(host, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var value uint64
	for i, part := range parts {
		number, err := strconv.ParseUint(part, 0, 32)
		if part == "0x" {
			number, err = 0, nil
		}
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			value |= number << (24 - 8*i)
		} else {
			value |= number
		}
	}
	return netip.AddrFrom4([4]byte{byte(value >> 24), byte(value >> 16), byte(value >> 8), byte(value)}), true
}

func TestReadAddressOfFuzzIsLenient(t *testing.T) {
	t.Parallel()
	for _, host := range []string{"2130706433", "0x7f.1", "0177.0.0.1", "017700000001", "127.1", "127.0.0.1"} {
		if address, ok := readAddress(host); !ok || address.String() != "127.0.0.1" {
			t.Errorf("readAddress(%s) = %s, %t", host, address, ok)
		}
	}
}
