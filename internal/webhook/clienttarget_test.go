package webhook

import (
	"net"
	"strings"
	"testing"
)

func TestDoRefusesTargets(t *testing.T) {
	t.Parallel()
	url, accepted := startRaw(t, readRequest)
	port := url[strings.LastIndex(url, ":"):]
	// Only loopback, so that a failing check connects to nothing else. Other
	// addresses are tested on Control itself.
	for name, hook := range map[string]string{
		"http":             url,
		"literal":          "https://127.0.0.1" + port,
		"name of loopback": "https://rebind.example" + port,
	} {
		result := do(t, newTestClient(t, Policy{}, WithResolver(startDNS(t, "127.0.0.1"))), hook)
		wantClass(t, result, ClassRefusedTarget)
		if accepted.Load() != 0 || result.StatusCode != 0 {
			t.Errorf("%s: %d connections, status %d", name, accepted.Load(), result.StatusCode)
		}
	}
}

// Names are refused if they resolve to loopback by IPv6, in the mapped form, or
// after a permitted address. All resolve to loopback only, even if the check fails.
func TestDoRefusesWhatNamesResolveTo(t *testing.T) {
	t.Parallel()
	url, accepted := startRaw(t, readRequest)
	hook := "https://rebind.example" + url[strings.LastIndex(url, ":"):]
	for _, address := range []string{"127.0.0.1", "127.255.255.254", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1"} {
		client := newTestClient(t, Policy{}, WithResolver(startDNS(t, address)))
		for range 2 {
			wantClass(t, do(t, client, hook), ClassRefusedTarget)
		}
	}
	if n := accepted.Load(); n != 0 {
		t.Errorf("%d connections reached loopback", n)
	}
}

// A name that resolves to a public address at the check and to loopback at the call.
func TestDoWithstandsRebinding(t *testing.T) {
	t.Parallel()
	url, accepted := startRaw(t, readRequest)
	resolver := startDNS(t, "93.184.216.34", "127.0.0.1")
	hook := "https://rebind.example" + url[strings.LastIndex(url, ":"):]
	policy := Policy{}
	if err := policy.CheckURL(hook); err != nil {
		t.Fatal(err)
	}
	addresses, err := resolver.LookupNetIP(t.Context(), "ip4", "rebind.example")
	if err != nil || len(addresses) != 1 {
		t.Fatalf("first look-up: %v, %v", addresses, err)
	}
	if err := policy.Control(t.Context(), "tcp4", net.JoinHostPort(addresses[0].String(), "443"), nil); err != nil {
		t.Fatalf("the first answer, %s, is refused: %v", addresses[0], err)
	}
	wantClass(t, do(t, newTestClient(t, policy, WithResolver(resolver)), hook), ClassRefusedTarget)
	if accepted.Load() != 0 {
		t.Errorf("%d connections reached loopback", accepted.Load())
	}
}
