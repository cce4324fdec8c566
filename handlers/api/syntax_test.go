package api

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"
)

// decodedTwice is memberTwice by the decoder of the standard library.
func decodedTwice(value *json.Decoder) (name string, is bool) {
	token, _ := value.Token()
	opened, _ := token.(json.Delim)
	if opened == 0 {
		return "", false
	}
	names := map[string]bool{}
	for value.More() {
		if opened == '{' {
			token, _ := value.Token()
			name, _ := token.(string)
			if names[name] {
				return name, true
			}
			names[name] = true
		}
		if name, is := decodedTwice(value); is {
			return name, true
		}
	}
	_, _ = value.Token()
	return "", false
}

// randomJSON writes a value with few names, spelled in many ways.
func randomJSON(r *rand.Rand, depth int) string {
	pick := func(from ...string) string { return from[r.IntN(len(from))] }
	space := func() string { return pick("", "", " ", "\n\t", "\r\n") }
	text := func() string {
		return pick(`"a"`, `"b"`, `"c"`, `"d"`, `"e"`, `"f"`, `"g"`, `""`, `"\u0061"`, `"é"`, `"\u00e9"`, `"\\"`, `"\""`, `"{"`, `"}"`,
			`"a\":"`, `"\ud800"`, `"\ufffd"`, `":"`)
	}
	var parts []string
	kind := r.IntN(4)
	if depth == 0 || kind > 1 {
		return pick(text(), "1", "-2.5e3", "true", "null", "{}", "[]")
	}
	for range r.IntN(4) {
		part := randomJSON(r, depth-1)
		if kind == 0 {
			part = text() + space() + ":" + space() + part
		}
		parts = append(parts, space()+part+space())
	}
	inside := strings.Join(parts, ",")
	if kind == 0 {
		return "{" + inside + "}"
	}
	return "[" + inside + "]"
}

func TestMemberTwiceIsWhatTheDecoderFinds(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	var found int
	for range 50_000 {
		value := randomJSON(r, 4)
		want, is := decodedTwice(json.NewDecoder(strings.NewReader(value)))
		if got, also := memberTwice(value); got != want || also != is {
			t.Fatalf("%s: %q, %v; want %q, %v", value, got, also, want, is)
		}
		if is {
			found++
		}
	}
	if found < 1000 || found > 20_000 {
		t.Errorf("%d of the 50,000 values have a member twice", found)
	}
}

func BenchmarkMemberTwice(b *testing.B) {
	body := `{"form_type": "financial_statement", "customer_email": "jo@customer.example", "customer_name": "Jo Citizen",
		"reference_id": "LOAN-2026-00417", "webhook_url": "https://lender.example/hook"}`
	b.ReportAllocs()
	for b.Loop() {
		memberTwice(body)
	}
}
