package statement_test

import (
	"encoding/json"
	"testing"
	"time"

	"candor/internal/statement"
)

// Each state has its own clock, and an unknown one has Sydney's.
func TestZone(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 20, 3, 4, 5, 0, time.UTC) // summer
	for state, want := range map[string]string{
		"ACT": "14:04 +1100", "NSW": "14:04 +1100", "VIC": "14:04 +1100", "TAS": "14:04 +1100",
		"QLD": "13:04 +1000", "SA": "13:34 +1030", "NT": "12:34 +0930", "WA": "11:04 +0800", "": "14:04 +1100", "XX": "14:04 +1100",
	} {
		zone, known := (&statement.Address{State: state}).Zone()
		if got := at.In(zone).Format("15:04 -0700"); got != want || known != (len(state) > 1 && state != "XX") {
			t.Errorf("%q: %s, known %t, want %s", state, got, known, want)
		}
	}
}

// TestHomeZone: what the customer saved goes before what others said, and abroad has no zone.
func TestHomeZone(t *testing.T) {
	t.Parallel()
	given := func(address string) statement.Prefill {
		t.Helper()
		out, errs := statement.ReadPrefill(json.RawMessage(`{"personal_details": {"address": `+address+`}}`), time.Now())
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		return out
	}
	perth, abroad := statement.Address{State: "WA"}, statement.Address{Country: "NZ"}
	for name, tt := range map[string]struct {
		saved   statement.Address
		prefill statement.Prefill
		former  string
		want    string // "" if it isn't known
	}{
		"nothing":                 {},
		"saved":                   {saved: perth, prefill: given(`{"state": "NSW"}`), want: "Australia/Perth"},
		"moved abroad":            {saved: abroad, prefill: given(`{"state": "NSW"}`)},
		"of the partner":          {prefill: given(`{"state": "SA"}`), want: "Australia/Adelaide"},
		"of the partner, abroad":  {prefill: given(`{"country": "NZ"}`)},
		"of a former session":     {former: `{"address": {"state": "WA"}}`, want: "Australia/Perth"},
		"of an earlier statement": {former: `[]`},
	} {
		s := &statement.Statement{Prefill: tt.prefill}
		s.Personal.Address = tt.saved
		if tt.former != "" {
			offer, err := json.Marshal(statement.Offer{Answers: json.RawMessage(tt.former)})
			if err != nil || s.SetOffer(statement.PersonalDetailsSection, offer) != nil {
				t.Fatal(err)
			}
		}
		zone, known := s.HomeZone()
		if known != (tt.want != "") || known && zone.String() != tt.want {
			t.Errorf("%s: %s, %t, want %q", name, zone, known, tt.want)
		}
	}
}
