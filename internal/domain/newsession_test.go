package domain_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/form"
)

var anyURL = func(string) error { return nil }

func params(change func(*domain.NewSession)) domain.NewSession {
	w := domain.NewSession{FormType: domain.FinancialStatement, CustomerEmail: "jo@customer.example"}
	if change != nil {
		change(&w)
	}
	return w
}

func TestNewSession(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 2, 27, 23, 59, 59, 123e6, time.UTC)
	scope := domain.Scope{AccountID: domain.NewAccountID(), Livemode: true}
	days := 90
	s, err := params(func(w *domain.NewSession) {
		w.CustomerEmail = " Jo@Customer.example "
		w.CustomerName = "  Zoe\u0308 " // decomposed
		w.ReferenceID = "REF-1"
		w.WebhookURL = "https://example.com/hook"
		w.ExpiresInDays = &days
	}).Session(scope, now, anyURL, domain.Languages[:])
	if err != nil {
		t.Fatal(err)
	}
	if s.CustomerEmail != "Jo@Customer.example" || *s.CustomerName != "Zo\u00eb" || *s.ReferenceID != "REF-1" ||
		*s.WebhookURL != "https://example.com/hook" {
		t.Errorf("texts are %q, %q, %q, %q", s.CustomerEmail, *s.CustomerName, *s.ReferenceID, *s.WebhookURL)
	}
	if s.Status != domain.Pending || s.Scope() != scope || !s.CreatedAt.Equal(now) || s.ExpiresAt.Sub(now) != 90*24*time.Hour ||
		s.AccessedAt != nil || s.CompletedAt != nil {
		t.Errorf("session is %+v", s)
	}
	plain, err := params(nil).Session(scope, now, anyURL, domain.Languages[:])
	if err != nil || !plain.ExpiresAt.IsZero() || plain.CustomerName != nil || plain.ReferenceID != nil || plain.WebhookURL != nil ||
		plain.Metadata == nil {
		t.Errorf("session of the fewest params: %+v, %v", plain, err)
	}
}

func TestNewSessionRefuses(t *testing.T) {
	t.Parallel()
	in := func(days int) func(*domain.NewSession) {
		return func(w *domain.NewSession) { w.ExpiresInDays = &days }
	}
	tests := []struct {
		name   string
		change func(*domain.NewSession)
		code   domain.Code
		field  string
	}{
		{"form type", func(w *domain.NewSession) { w.FormType = "loan" }, domain.CodeInvalidFormType, "form_type"},
		{"no email", func(w *domain.NewSession) { w.CustomerEmail = "" }, domain.CodeInvalidEmail, "customer_email"},
		{"no domain", func(w *domain.NewSession) { w.CustomerEmail = "jo" }, domain.CodeInvalidEmail, "customer_email"},
		{"named email", func(w *domain.NewSession) {
			w.CustomerEmail = "Jo <jo@customer.example>"
		}, domain.CodeInvalidEmail, "customer_email"},
		{"control in email", func(w *domain.NewSession) {
			w.CustomerEmail = "j\u0085o@customer.example"
		}, domain.CodeInvalidEmail, "customer_email"},
		{"NUL in email", func(w *domain.NewSession) {
			w.CustomerEmail = "j\x00o@customer.example"
		}, domain.CodeInvalidEmail, "customer_email"},
		{"half a character in email", func(w *domain.NewSession) {
			w.CustomerEmail = "j\ufffdo@customer.example"
		}, domain.CodeInvalidEmail, "customer_email"},
		{"long email", func(w *domain.NewSession) {
			w.CustomerEmail = "jo@" + strings.Repeat("a.", 130) + "example"
		}, domain.CodeInvalidEmail, "customer_email"},
		{"long name", func(w *domain.NewSession) { w.CustomerName = strings.Repeat("é", 201) }, domain.CodeValidation, "customer_name"},
		{"two lines", func(w *domain.NewSession) { w.CustomerName = "a\nb" }, domain.CodeValidation, "customer_name"},
		{"NUL", func(w *domain.NewSession) { w.ReferenceID = "a\x00b" }, domain.CodeValidation, "reference_id"},
		{"invalid UTF-8", func(w *domain.NewSession) { w.ReferenceID = "a\xffb" }, domain.CodeValidation, "reference_id"},
		{"long reference", func(w *domain.NewSession) {
			w.ReferenceID = strings.Repeat("r", 201)
		}, domain.CodeValidation, "reference_id"},
		{"0 days", in(0), domain.CodeValidation, "expires_in_days"},
		{"91 days", in(91), domain.CodeValidation, "expires_in_days"},
		{"negative days", in(-1), domain.CodeValidation, "expires_in_days"},
		{"immense days", in(1 << 40), domain.CodeValidation, "expires_in_days"},
		{"language not offered", func(w *domain.NewSession) { w.Language = domain.Vietnamese }, domain.CodeValidation, "language"},
		{"unknown language", func(w *domain.NewSession) { w.Language = "fr" }, domain.CodeValidation, "language"},
		{"webhook URL", func(w *domain.NewSession) { w.WebhookURL = "bad" }, domain.CodeValidation, "webhook_url"},
	}
	badURL := func(string) error { return errors.New("The URL is not valid.") }
	for _, tt := range tests {
		_, err := params(tt.change).Session(domain.Scope{}, time.Now(), badURL, domain.Languages[:1])
		expectError(t, tt.name, err, tt.code, tt.field)
	}
	// All offending fields are reported at once, with the code of the first one.
	_, err := params(func(w *domain.NewSession) {
		w.CustomerEmail, w.WebhookURL, w.CustomerName = "", "bad", "a\nb"
	}).Session(domain.Scope{}, time.Now(), badURL, domain.Languages[:1])
	var e *domain.Error
	if !errors.As(err, &e) || e.Code != domain.CodeInvalidEmail || len(e.Fields) != 3 || e.Message != e.Fields[0].Message {
		t.Errorf("three offending fields gave %v", err)
	}
	if _, err := params(func(w *domain.NewSession) {
		w.CustomerName, w.ReferenceID = strings.Repeat("é", 200), strings.Repeat("r", 200)
	}).Session(domain.Scope{}, time.Now(), anyURL, domain.Languages[:]); err != nil {
		t.Errorf("texts of 200 characters: %v", err)
	}
}

func expectError(t *testing.T, name string, err error, code domain.Code, field string) {
	t.Helper()
	var e *domain.Error
	if !errors.As(err, &e) {
		t.Errorf("%s: error %v, want %s on %s", name, err, code, field)
		return
	}
	if e.Code != code || len(e.Fields) == 0 || e.Fields[0].Field != field || e.Fields[0].Rule == (form.Rule{}) {
		t.Errorf("%s: %s on %v, want %s on %s", name, e.Code, e.Fields, code, field)
	}
}

func metadata(t *testing.T, raw string) domain.Metadata {
	t.Helper()
	var m domain.Metadata
	if err := json.Unmarshal([]byte(raw), &m); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	return m
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	keys := func(n int) string {
		pairs := make([]string, n)
		for i := range pairs {
			pairs[i] = fmt.Sprintf(`"k%d":%d`, i, i)
		}
		return "{" + strings.Join(pairs, ",") + "}"
	}
	long := func(n int) string { return strings.Repeat("é", n) }
	tests := []struct{ name, in, want, field string }{
		{"kinds", `{"s":"x","n":-1.50,"t":true,"f":false}`, `{"f":false,"n":-1.50,"s":"x","t":true}`, ""},
		{"empty", `{}`, `{}`, ""},
		{"null", `null`, `{}`, ""},
		{"numbers stay as written", `{"a":1e400000,"b":12345678901234567890,"c":1E+2,"d":0.10}`,
			`{"a":1e400000,"b":12345678901234567890,"c":1E+2,"d":0.10}`, ""},
		{"lone surrogate", `{"a":"x\ud800y"}`, "", "metadata.a"},
		{"NUL", `{"a":"x\u0000y"}`, `{"a":"x\u0000y"}`, ""},
		{"invalid UTF-8", "{\"a\":\"x\xffy\"}", `{"a":"x` + "\ufffd" + `y"}`, ""},
		{"10 keys", keys(10), keys(10), ""},
		{"11 keys", keys(11), "", "metadata"},
		{"500 characters", `{"a":"` + long(500) + `"}`, `{"a":"` + long(500) + `"}`, ""},
		{"501 characters", `{"a":"` + long(501) + `"}`, "", "metadata.a"},
		{"500 digits", `{"a":` + strings.Repeat("1", 500) + `}`, `{"a":` + strings.Repeat("1", 500) + `}`, ""},
		{"501 digits", `{"a":` + strings.Repeat("1", 501) + `}`, "", "metadata.a"},
		{"key of 100", `{"` + long(100) + `":1}`, `{"` + long(100) + `":1}`, ""},
		{"key of 101", `{"` + long(101) + `":1}`, "", "metadata." + long(100) + "…"},
		{"empty key", `{"":1}`, "", "metadata"},
		{"object", `{"colour":{"a":1}}`, "", "metadata.colour"},
		{"array", `{"colour":[1]}`, "", "metadata.colour"},
		{"null value", `{"colour":null}`, "", "metadata.colour"},
	}
	for _, tt := range tests {
		s, err := params(func(w *domain.NewSession) {
			w.Metadata = metadata(t, tt.in)
		}).Session(domain.Scope{}, time.Now(), anyURL, domain.Languages[:])
		if tt.field != "" {
			expectError(t, tt.name, err, domain.CodeValidation, tt.field)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		got, err := json.Marshal(s.Metadata)
		if err != nil || string(got) != tt.want {
			t.Errorf("%s: stored as %s, %v; want %s", tt.name, got, err, tt.want)
		}
	}
	broken := params(func(w *domain.NewSession) { w.Metadata = domain.Metadata{"a": json.RawMessage(`tru`)} })
	_, err := broken.Session(domain.Scope{}, time.Now(), anyURL, domain.Languages[:])
	expectError(t, "no JSON", err, domain.CodeValidation, "metadata.a")
}
