package form_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"candor/internal/form"
)

func TestCentsText(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		cents          form.Cents
		shown, decimal string
	}{
		{0, "$0.00", "0"},
		{5, "$0.05", "0.05"},
		{50, "$0.50", "0.5"},
		{99_999, "$999.99", "999.99"},
		{123_450, "$1,234.50", "1234.5"},
		{-2_000, "−$20.00", "-20"},
		{-1, "−$0.01", "-0.01"},
		{-123_456_789, "−$1,234,567.89", "-1234567.89"},
		{form.MaxCents, "$999,999,999,999.99", "999999999999.99"},
		{math.MinInt64, "−$92,233,720,368,547,758.08", "-92233720368547758.08"},
	} {
		if got := tt.cents.String(); got != tt.shown {
			t.Errorf("Cents(%d).String() = %q, want %q", int64(tt.cents), got, tt.shown)
		}
		if got := tt.cents.Decimal(); got != tt.decimal {
			t.Errorf("Cents(%d).Decimal() = %q, want %q", int64(tt.cents), got, tt.decimal)
		}
	}
}

func TestCentsUnmarshalJSON(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]form.Cents{
		"0": 0, "-0": 0, "0.07": 7, "1.1": 110, "1250.50": 125_050, "85000": 8_500_000, "-1666.67": -166_667,
	} {
		var got form.Cents
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s read as %d, %v; want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"1.234", "1e3", `"5"`, "true", "99999999999999999999", "{}"} {
		got := form.Cents(42)
		if err := json.Unmarshal([]byte(text), &got); err == nil || got != 42 {
			t.Errorf("%s read as %d, %v; want an error and the amount untouched", text, got, err)
		}
	}
	kept := form.Cents(42)
	if err := json.Unmarshal([]byte("null"), &kept); err != nil || kept != 42 {
		t.Errorf("null made it %d, %v; want 42", kept, err)
	}
}

func FuzzCentsJSON(f *testing.F) {
	for _, seed := range []int64{0, 1, -1, 7, 10, 99, 100, 125_050, -166_667, math.MaxInt64, math.MinInt64} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, n int64) {
		raw, err := json.Marshal(form.Cents(n))
		if err != nil {
			t.Fatal(err)
		}
		exact, ok := new(big.Rat).SetString(string(raw))
		if !ok || exact.Cmp(big.NewRat(n, 100)) != 0 {
			t.Fatalf("%d cents are written as %s", n, raw)
		}
		var back form.Cents
		if err := json.Unmarshal(raw, &back); err != nil || int64(back) != n {
			t.Fatalf("%d cents came back from %s as %d, %v", n, raw, back, err)
		}
	})
}

func TestDivRound(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ n, d, want int64 }{
		{0, 12, 0}, {1, 2, 1}, {-1, 2, -1}, {3, 2, 2}, {-3, 2, -2}, {49, 100, 0}, {50, 100, 1}, {-49, 100, 0},
		{-50, 100, -1}, {-166_666_50, 100, -166_667}, {18, 12, 2}, {17, 12, 1}, {-18, 12, -2}, {149, 100, 1}, {7, 7, 1},
	} {
		if got := form.DivRound(big.NewInt(tt.n), tt.d); int64(got) != tt.want {
			t.Errorf("DivRound(%d, %d) = %d, want %d", tt.n, tt.d, int64(got), tt.want)
		}
	}
	n := big.NewInt(-50)
	form.DivRound(n, 100)
	if n.Int64() != -50 {
		t.Errorf("DivRound changed its argument to %s", n)
	}
}
