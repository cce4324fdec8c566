package fuzz

import (
	"encoding/json"
	"math/rand/v2"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// oddTexts are texts that programs trip over.
var oddTexts = []string{
	"", " ", "\t\n", "0", "-1", "-0", "1e400", "0.005", "1.005", "99999999999999999999", "1,234.56", "$1 234", "１２００", "٣", "1/2",
	"NaN", "null", "true", "undefined",
	"2026-02-30", "0000-00-00", "9999-12-31T23:59:59Z", "2026-11-20T03:04:05.999999999+23:59", "31", "29", "02", "1900",
	"\u0000", "\u001b[31m", "\u202egnp.exe", "\ufeffx", "e\u0301", "\U0001f469\u200d\U0001f4bb", "\u2028", "ﷺ", "İ", "ſ", "ß",
	"\U0010ffff", "\xff\xfe", "\xed\xa0\x80",
	"<script>alert(1)</script>", `"><img src=x onerror=alert(1)>`, "{{7*7}}", "${7*7}", "' OR 1=1 --", "%00", "%s%n",
	"../../etc/passwd", "a\r\nX-Header: b",
	"jo@customer.example", "jo@[127.0.0.1]", "@", "https://lender.example/hook", "http://169.254.169.254/", "javascript:alert(1)",
	"//x", "file:///etc/passwd",
	strings.Repeat("x", 201), strings.Repeat("é", 501), strings.Repeat("9", 400), strings.Repeat("a ", 40_000),
	strings.Repeat("[", 500),
}

// oddJSON are values that a member isn't expected to have.
var oddJSON = []string{
	"null", "true", "false", "0", "-1", "1.5", "30.0", "1e2", "1e-7", "1e400", "-0", "9007199254740993",
	"123456789012345678901234567890.123456789",
	"[]", "{}", "[null]", `{"":""}`, `{"a":{"b":{"c":[[[]]]}}}`, `""`, `"\u0000"`, `"\ud800"`, `"\u202e"`, `[1,"a",{}]`,
}

func pick[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

func chance(rng *rand.Rand, percent int) bool { return rng.IntN(100) < percent }

// value makes JSON that a schema allows.
func (f *fuzzer) value(s *openapi3.Schema, name string) any {
	switch {
	case len(s.Enum) > 0:
		return pick(f.rng, s.Enum)
	case len(s.OneOf) > 0:
		return f.value(pick(f.rng, s.OneOf).Value, name)
	case s.Type.Includes("null") && chance(f.rng, 15):
		return nil
	case s.Type.Includes("string"):
		return f.text(s, name)
	case s.Type.Includes("integer"), s.Type.Includes("number"):
		return f.number(s)
	case s.Type.Includes("boolean"):
		return chance(f.rng, 50)
	case s.Type.Includes("array"):
		out := []any{}
		for range f.rng.IntN(4) {
			out = append(out, f.value(s.Items.Value, name))
		}
		return out
	case s.Type.Includes("object"):
		return f.object(s)
	}
	return nil
}

func (f *fuzzer) object(s *openapi3.Schema) map[string]any {
	out := map[string]any{}
	for _, name := range sorted(s.Properties) {
		required := false
		for _, one := range s.Required {
			required = required || one == name
		}
		if required || chance(f.rng, 40) {
			out[name] = f.value(s.Properties[name].Value, name)
		}
	}
	if more := s.AdditionalProperties.Schema; more != nil {
		for range f.rng.IntN(4) {
			out[pick(f.rng, []string{"colour", "loan", "Größe", "a.b", "x"})] = f.value(more.Value, "")
		}
	}
	return out
}

func (f *fuzzer) text(s *openapi3.Schema, name string) string {
	switch {
	case s.Format == "email":
		return pick(f.rng, []string{"jo@customer.example", "ZOE.o'brien+loan@customer.example"})
	case s.Format == "uri":
		return "https://lender.example/hook"
	case s.Format == "date-time":
		return pick(f.rng, []string{"2026-11-20T03:04:05Z", "2026-11-20T14:04:05.678+11:00", "1970-01-01T00:00:00Z",
			"9999-12-31T23:59:59Z"})
	case s.Format == "date":
		return pick(f.rng, []string{"2026-11-01", "2026-11-20", "2024-02-29"})
	case s.Pattern != "":
		return f.matching(s.Pattern, name)
	}
	return pick(f.rng, []string{"Jo Citizen", "LOAN-417", "Zoë 😀 李", "x"})
}

func (f *fuzzer) number(s *openapi3.Schema) any {
	low, high := 0.0, 1e6
	if s.Min != nil {
		low = *s.Min
	}
	if s.Max != nil {
		high = *s.Max
	}
	n := pick(f.rng, []float64{low, high, low + float64(int64(f.rng.Float64()*(min(high, low+1000)-low)))})
	if s.Type.Includes("integer") {
		return int64(n)
	}
	return n
}

// mutated replaces, adds or leaves out something within JSON.
func (f *fuzzer) mutated(v any) any {
	switch v := v.(type) {
	case map[string]any:
		names := sorted(v)
		switch {
		case len(names) == 0 || chance(f.rng, 15):
			v[pick(f.rng, []string{"colour", "customerName", "", "__proto__", "x y", strings.Repeat("n", 200)})] = json.RawMessage(
				pick(f.rng, oddJSON))
		case chance(f.rng, 15):
			delete(v, pick(f.rng, names))
		default:
			name := pick(f.rng, names)
			v[name] = f.mutated(v[name])
		}
		return v
	case []any:
		if len(v) > 0 && chance(f.rng, 70) {
			i := f.rng.IntN(len(v))
			v[i] = f.mutated(v[i])
			return v
		}
	}
	if chance(f.rng, 50) {
		return strings.ToValidUTF8(pick(f.rng, oddTexts), "?")
	}
	return json.RawMessage(pick(f.rng, oddJSON))
}

// broken is a text with one place cut, doubled or changed.
func (f *fuzzer) broken(text string) string {
	if text == "" {
		return "\x00"
	}
	at := f.rng.IntN(len(text))
	switch f.rng.IntN(3) {
	case 0:
		return text[:at]
	case 1:
		return text[:at] + string(byte(f.rng.IntN(256))) + text[at+1:]
	}
	return text[:at] + text[at:] + text[at:]
}
