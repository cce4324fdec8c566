package domain

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"candor/internal/form"
	"candor/internal/statement"
)

// Limits of a new session (interface.md Limits, D8, D24).
const (
	DefaultExpiresInDays = 30
	MaxExpiresInDays     = 90
	MaxMetadataKeys      = 10
	MaxMetadataKey       = 100 // characters
	MaxMetadataValue     = 500 // characters
	maxText              = 200 // characters
	maxEmail             = 254 // characters
	MaxNote              = 500 // characters of what is asked for (D102)
	MaxNoteLines         = 5
)

// NewSession is a partner's request for a session.
type NewSession struct {
	FormType      string
	CustomerEmail string
	CustomerName  string
	ReferenceID   string
	WebhookURL    string
	ReturnURL     string // where the customer goes back to (D96); "": nowhere
	ExpiresInDays *int   // nil: the account's default
	Metadata      Metadata
	Language      Language        // in which the form opens; "": the browser's
	Prefill       json.RawMessage // nil: none
	PrefillFrom   string          // the session whose answers are offered (D101); "": none
	Ask           []Ask           // what the customer is to do again
	Deliver       *Deliver        // nil: the partner passes the link on
	By            Actor           // who creates it
}

// An Ask is what a partner asks for in a section, in its own words (D102).
type Ask struct{ Section, Note string }

// Metadata is the partner's own data. Values are JSON strings, numbers or
// booleans, stored as they were written (D8).
type Metadata map[string]json.RawMessage

// Scan reads stored metadata.
func (m *Metadata) Scan(src any) error {
	b, ok := src.([]byte)
	if !ok {
		return fmt.Errorf("scan metadata: %T", src)
	}
	return json.Unmarshal(b, m)
}

// Session validates the request and returns its session. The error has all
// invalid fields (D25). checkURL checks the URLs, whose rules are the
// caller's. offered are the languages of the account's forms (D57).
func (n NewSession) Session(scope Scope, now time.Time, checkURL func(string) error, offered []Language) (*Session, error) {
	s := &Session{
		ID: NewSessionID(), AccountID: scope.AccountID, Livemode: scope.Livemode,
		Status: Pending, FormType: n.FormType, CreatedAt: now,
	}
	var c checker
	email, broken := form.CleanLine(n.CustomerEmail, maxEmail)
	s.CustomerEmail = email
	if n.FormType != FinancialStatement {
		c.breaks(CodeInvalidFormType, "form_type", form.Rule{Code: "form_type"})
	}
	if broken != (form.Rule{}) || !form.ValidEmail(email) {
		c.breaks(CodeInvalidEmail, "customer_email", form.Rule{Code: form.RuleEmail})
	}
	s.CustomerName = c.text("customer_name", n.CustomerName)
	s.ReferenceID = c.text("reference_id", n.ReferenceID)
	s.WebhookURL = c.url("webhook_url", n.WebhookURL, checkURL)
	s.ReturnURL = c.url("return_url", n.ReturnURL, checkURL)
	if n.ExpiresInDays != nil {
		days := *n.ExpiresInDays
		if days < 1 || days > MaxExpiresInDays {
			c.breaks(CodeValidation, "expires_in_days", form.Rule{Code: form.RuleRange, Min: 1, Max: MaxExpiresInDays})
		}
		s.ExpiresAt = now.Add(time.Duration(days) * 24 * time.Hour)
	}
	s.Metadata = c.metadata(n.Metadata)
	if n.Language != "" {
		s.Language = &n.Language
		if !slices.Contains(offered, n.Language) {
			c.breaks(CodeValidation, "language", form.Rule{Code: "language", Value: strings.Join(texts(offered), " or ")})
		}
	}
	if n.Prefill != nil {
		s.Prefill = c.prefill(n.Prefill, now)
		s.Prefilled = len(s.Prefill) > 0
	}
	if n.PrefillFrom != "" {
		s.PreviousSessionID, s.Prefilled = c.previous(n), true
	}
	s.Asks = c.asks(n.Ask)
	if n.Deliver != nil {
		s.Emailed = true
		s.Delivery = &LinkDelivery{SessionID: s.ID, Remind: n.Deliver.Remind, OneBrowser: n.Deliver.OneBrowser,
			Emails: []LinkEmail{{Kind: LinkItself, State: LinkQueued}}}
	}
	if n.By.Kind != "" {
		s.CreatedByKind, s.CreatedBy = &n.By.Kind, &n.By.Name
	}
	return s, c.err()
}

// checker collects the invalid fields of a request body.
type checker struct {
	code Code // of the first error
	errs form.Errors
}

// breaks adds the error of a field that breaks the rule.
func (c *checker) breaks(code Code, field string, rule form.Rule) {
	if c.code == "" {
		c.code = code
	}
	c.errs = append(c.errs, form.Error{Field: field, Rule: rule})
}

func (c *checker) err() error {
	if c.code == "" {
		return nil
	}
	return &Error{Code: c.code, Fields: c.errs}
}

// text cleans an optional line of text; nil if it is empty.
func (c *checker) text(field, s string) *string {
	clean, broken := form.CleanLine(s, maxText)
	if broken != (form.Rule{}) {
		c.breaks(CodeValidation, field, broken)
	}
	if clean == "" {
		return nil
	}
	return &clean
}

// url checks an optional URL; nil if it is empty.
func (c *checker) url(field, url string, check func(string) error) *string {
	if url == "" {
		return nil
	}
	if err := check(url); err != nil {
		c.breaks(CodeValidation, field, form.Rule{Code: "target", Value: err.Error()})
	}
	return &url
}

// prefill reads the customer's answers that the partner knows.
func (c *checker) prefill(raw json.RawMessage, now time.Time) statement.Prefill {
	out, errs := statement.ReadPrefill(raw, now)
	for _, e := range errs {
		c.breaks(CodeValidation, strings.TrimSuffix("prefill."+e.Field, "."), e.Rule)
	}
	return out
}

// previous reads the id of the session whose answers are offered.
func (c *checker) previous(n NewSession) *SessionID {
	id, err := ParseSessionID(n.PrefillFrom)
	if err != nil {
		c.breaks(CodeValidation, "prefill_from", form.Rule{Code: "previous_missing"})
	}
	if n.Prefill != nil {
		c.breaks(CodeValidation, "prefill", form.Rule{
			Code: form.RuleGiven, Value: "can’t be given with prefill_from, whose answers are offered",
		})
	}
	return &id
}

// asks checks what the partner asks for, and returns it by section.
func (c *checker) asks(asks []Ask) map[string]string {
	if most := len(statement.BeforeDeclaration); len(asks) > most {
		c.breaks(CodeValidation, "ask", form.Rule{
			Code: form.RuleGiven, Value: fmt.Sprintf("must have at most %d items, one for a section", most),
		})
		return nil
	}
	if len(asks) == 0 {
		return nil
	}
	out := map[string]string{}
	for i, a := range asks {
		field := fmt.Sprintf("ask.%d.", i)
		if !slices.Contains(statement.BeforeDeclaration, a.Section) {
			c.breaks(CodeValidation, field+"section", form.Rule{
				Code: form.RuleGiven, Value: "must be one of " + strings.Join(statement.BeforeDeclaration, ", "),
			})
			continue
		}
		if _, twice := out[a.Section]; twice {
			c.breaks(CodeValidation, field+"section", form.Rule{
				Code: form.RuleGiven, Value: "must not be a section that was asked for before: give it one note",
			})
		}
		note, broken := cleanNote(a.Note)
		if broken != (form.Rule{}) {
			c.breaks(CodeValidation, field+"note", broken)
		}
		out[a.Section] = note
	}
	return out
}

// cleanNote returns the partner's words as they are kept, and the first rule that they
// break. They must hold no link: a customer would follow it as the partner's.
func cleanNote(text string) (note string, broken form.Rule) {
	var lines []string
	for line := range strings.Lines(text) {
		clean, rule := CleanWords(line, MaxNote)
		if broken == (form.Rule{}) {
			broken = rule
		}
		if clean != "" {
			lines = append(lines, clean)
		}
	}
	note = strings.Join(lines, "\n")
	switch {
	case broken.Code == form.RuleOneLine:
		broken = form.Rule{Code: "note_controls"}
	case broken != (form.Rule{}):
	case note == "":
		broken = form.Rule{Code: form.RuleGiven, Value: "must say what the customer is asked to do"}
	case utf8.RuneCountInString(note) > MaxNote:
		broken = form.Rule{Code: form.RuleMaxLength, Max: MaxNote}
	case len(lines) > MaxNoteLines:
		broken = form.Rule{Code: "note_lines", Max: MaxNoteLines}
	}
	return note, broken
}

// metadata checks the partner's data and returns it as it can be stored.
func (c *checker) metadata(m Metadata) Metadata {
	if len(m) > MaxMetadataKeys {
		c.breaks(CodeValidation, "metadata", form.Rule{Code: "metadata_count", Max: MaxMetadataKeys})
		return nil
	}
	clean := make(Metadata, len(m))
	for _, key := range slices.Sorted(maps.Keys(m)) {
		value, broken := metadataValue(m[key])
		// U+FFFD is what is decoded of half of a character.
		if n := utf8.RuneCountInString(key); n < 1 || n > MaxMetadataKey || strings.ContainsRune(key, utf8.RuneError) {
			broken = form.Rule{Code: "metadata_key", Max: MaxMetadataKey}
		}
		if broken != (form.Rule{}) {
			c.breaks(CodeValidation, strings.TrimSuffix("metadata."+form.Shortened(key), "."), broken)
		}
		clean[key] = value
	}
	return clean
}

// whole are the escapes of a JSON string that are no half of a character, as \ud800 is. Of those
// that stand for a character above U+FFFF two make it.
var whole = regexp.MustCompile(`\\\\|\\u[dD][89abAB]..\\u[dD][c-fC-F]`)

var half = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// metadataValue returns a value as it can be stored, or the rule that it breaks. Strings are
// encoded again. Half of a character would become another one, so it is refused; U+0000 and
// numbers of any size are returned as they came.
func metadataValue(raw json.RawMessage) (json.RawMessage, form.Rule) {
	raw = bytes.TrimSpace(raw)
	text := string(raw)
	switch {
	case !json.Valid(raw) || raw[0] == '{' || raw[0] == '[' || raw[0] == 'n':
		return nil, form.Rule{Code: "metadata_value"}
	case raw[0] == '"' && half.Match(whole.ReplaceAll(raw, nil)):
		return nil, form.Rule{Code: form.RuleGiven, Value: `has half of a character, \ud800 to \udfff alone: send the whole character`}
	case raw[0] == '"':
		_ = json.Unmarshal(raw, &text) // it is valid
		raw, _ = json.Marshal(text)    // a string always marshals
	}
	if utf8.RuneCountInString(text) > MaxMetadataValue {
		return nil, form.Rule{Code: form.RuleMaxLength, Max: MaxMetadataValue}
	}
	return raw, form.Rule{}
}
