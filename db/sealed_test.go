package db_test

import (
	"maps"
	"slices"
	"testing"

	"candor/db"
)

// notSealed are the columns of bytes that the keyring doesn't seal: hashes,
// public data, and what a session's data key seals.
var notSealed = map[string]string{
	"account.logo":                 "the account's logo",
	"api_key.hash":                 "a hash",
	"attempt_count.subject":        "a hash",
	"document.file_name":           "sealed by the session's data key",
	"document.sha256":              "a hash",
	"session.pdf_sha256":           "a hash",
	"event.body":                   "signed and sent as it is",
	"held_form.sealed":             "left to expire with the prompt, within an hour",
	"idempotency_key.fingerprint":  "a hash",
	"idempotency_key.meaning":      "a hash",
	"invitation.token_hash":        "a hash",
	"staff_passkey.credential_id":  "public",
	"passkey_challenge.token_hash": "a hash",
	"sso_used.hash":                "a hash",
	"staff_recovery_code.hash":     "a hash",
	"section.answers":              "sealed by the session's data key",
	"section.draft":                "sealed by the session's data key",
	"section.prefill":              "sealed by the session's data key",
	"section.offered":              "sealed by the session's data key",
	"section.ask":                  "sealed by the session's data key",
	"staff_request.subject":        "a hash",
	"staff_request.token_hash":     "a hash",
	"staff_session.token_hash":     "a hash",
	"statement_pdf.content":        "sealed by the session's data key",
}

// A new column of bytes is listed: the keyring seals it or not. A sealed
// column that reseal doesn't know would be lost with its key.
func TestEverySealedColumnIsKnown(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	var found []string
	s.ok(s.Raw().SelectContext(s.ctx, &found, `
		SELECT table_name || '.' || column_name FROM information_schema.columns
		WHERE table_schema = 'public' AND data_type = 'bytea' AND table_name NOT LIKE 'river%' ORDER BY 1`))
	var known []string
	for _, c := range db.SealedColumns {
		if c.Column() == "" || slices.Contains(known, c.Column()) || notSealed[c.Column()] != "" {
			t.Errorf("%s is listed twice or not at all", c.Column())
		}
		known = append(known, c.Column())
	}
	known = slices.Sorted(slices.Values(slices.AppendSeq(known, maps.Keys(notSealed))))
	if !slices.Equal(found, known) {
		t.Errorf("columns of bytes are\n%q\nknown are\n%q", found, known)
	}
}
