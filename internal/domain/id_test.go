package domain_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"

	"candor/internal/domain"
)

// The vectors are the TypeID specification's valid ones.
func TestIDVectors(t *testing.T) {
	t.Parallel()
	tests := []struct{ suffix, uuid string }{
		{"00000000000000000000000000", "00000000-0000-0000-0000-000000000000"},
		{"00000000000000000000000001", "00000000-0000-0000-0000-000000000001"},
		{"0000000000000000000000000a", "00000000-0000-0000-0000-00000000000a"},
		{"0000000000000000000000000g", "00000000-0000-0000-0000-000000000010"},
		{"00000000000000000000000010", "00000000-0000-0000-0000-000000000020"},
		{"7zzzzzzzzzzzzzzzzzzzzzzzzz", "ffffffff-ffff-ffff-ffff-ffffffffffff"},
		{"0123456789abcdefghjkmnpqrs", "0110c853-1d09-52d8-d73e-1194e95b5f19"},
		{"01h455vb4pex5vsknk084sn02q", "01890a5d-ac96-774b-bcce-b302099a8057"},
	}
	for _, tt := range tests {
		id, err := domain.ParseSessionID("sess_" + tt.suffix)
		if err != nil || id.UUID != uuid.MustParse(tt.uuid) {
			t.Errorf("parse %s = %v, %v; want %s", tt.suffix, id.UUID, err, tt.uuid)
		}
		if got := (domain.SessionID{UUID: uuid.MustParse(tt.uuid)}).String(); got != "sess_"+tt.suffix {
			t.Errorf("%s is written %s, want sess_%s", tt.uuid, got, tt.suffix)
		}
	}
}

func TestParseIDRefuses(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "sess", "sess_", "01h455vb4pex5vsknk084sn02q", "doc_01h455vb4pex5vsknk084sn02q",
		"SESS_01h455vb4pex5vsknk084sn02q", "sess_01H455VB4PEX5VSKNK084SN02Q", "sess-01h455vb4pex5vsknk084sn02q",
		"sess_8zzzzzzzzzzzzzzzzzzzzzzzzz", "sess_1h455vb4pex5vsknk084sn02q", "sess_01h455vb4pex5vsknk084sn02qq",
		"sess_01h455vb4pex5vsknk084sn02i", "sess_01h455vb4pex5vsknk084sn02l", "sess_01h455vb4pex5vsknk084sn02o",
		"sess_01h455vb4pex5vsknk084sn02u", "sess_01h455vb4pex5vsknk084sn02-", "sess_01h455vb4pex5vsknk084sn02\x00",
		"sess_01h455vb4pex5vsknk084sn02q\n", "sess__01h455vb4pex5vsknk084sn02q", "sess_01890a5d-ac96-774b-bcce-b302099a8057",
	} {
		if id, err := domain.ParseSessionID(text); err == nil {
			t.Errorf("%q was read as %s", text, id)
		}
	}
}

func TestIDGrowsAndSurvivesJSONAndSQL(t *testing.T) {
	t.Parallel()
	last := domain.NewDocumentID()
	for range 1000 {
		id := domain.NewDocumentID()
		if id.String() <= last.String() {
			t.Fatalf("%s came after %s", id, last)
		}
		last = id
	}
	raw, err := json.Marshal(last)
	var back domain.DocumentID
	if err != nil || json.Unmarshal(raw, &back) != nil || back != last || string(raw) != `"`+last.String()+`"` {
		t.Errorf("JSON %s (%v) came back as %v", raw, err, back)
	}
	var session domain.SessionID
	if err := json.Unmarshal(raw, &session); err == nil {
		t.Error("a document id was read as a session id")
	}
	value, err := last.Value()
	if err != nil {
		t.Fatal(err)
	}
	var stored domain.DocumentID
	if err := stored.Scan(value); err != nil || stored != last {
		t.Errorf("stored %v came back as %v, %v", value, stored, err)
	}
	if err := stored.Scan(17); err == nil {
		t.Error("a number was read as an id")
	}
}

// Every UUID has one text, and a text that is read is that one.
func FuzzID(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), "sess_01h455vb4pex5vsknk084sn02q")
	f.Add([]byte(strings.Repeat("\xff", 16)), "sess_7zzzzzzzzzzzzzzzzzzzzzzzzz")
	f.Fuzz(func(t *testing.T, raw []byte, text string) {
		if u, err := uuid.FromBytes(raw); err == nil {
			id := domain.SessionID{UUID: u}
			if back, err := domain.ParseSessionID(id.String()); err != nil || back != id {
				t.Errorf("%s came back as %v, %v", id, back, err)
			}
		}
		if id, err := domain.ParseSessionID(text); err == nil && id.String() != text {
			t.Errorf("%q was read, though it is spelled %s", text, id)
		}
	})
}

// TestSessionReference reads references back as people type them.
func TestSessionReference(t *testing.T) {
	t.Parallel()
	id, err := domain.ParseSessionID("sess_01h455vb4pex5vsknk084sn02q")
	if err != nil {
		t.Fatal(err)
	}
	const want = "H45-5VB-4PE"
	if got := domain.SessionReference(id); got != want {
		t.Errorf("reference %s, want %s", got, want)
	}
	seen := map[string]bool{}
	for range 1000 {
		id := domain.NewSessionID()
		first, last, ok := domain.SessionsReferred(domain.SessionReference(id))
		if !ok || bytes.Compare(first.UUID[:], id.UUID[:]) > 0 || bytes.Compare(last.UUID[:], id.UUID[:]) < 0 {
			t.Fatalf("%s isn't from %s to %s", id, first, last)
		}
		if domain.SessionReference(first) != domain.SessionReference(id) ||
			domain.SessionReference(last) != domain.SessionReference(id) {
			t.Fatalf("%s to %s have other references than %s", first, last, id)
		}
		seen[domain.SessionReference(id)] = true
	}
	if len(seen) < 5 {
		t.Errorf("1000 sessions have %d references", len(seen))
	}
	for _, text := range []string{"", "H45", "H45-5VB-4PEE", "H45-5VB-4PU", "jo@custom", "日本語日本語日本語"} {
		if _, _, ok := domain.SessionsReferred(text); ok {
			t.Errorf("%q is read as a reference", text)
		}
	}
}
