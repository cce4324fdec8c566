package statement

import (
	"bytes"
	"encoding/json"
	"net/url"
	"slices"
	"time"

	"candor/internal/form"
)

// An Offer is what the customer of a former session left in a section. The session that
// continues it offers that (D101).
type Offer struct {
	From      string          `json:"from"`                // the former session, sess_…
	Answers   json.RawMessage `json:"answers,omitempty"`   // the last valid ones as stored, nil for none
	Draft     url.Values      `json:"draft,omitempty"`     // typed since and not valid, nil for none
	Documents []FormerFile    `json:"documents,omitempty"` // in upload order
}

// SetOffer takes the stored JSON of a section's Offer.
func (s *Statement) SetOffer(section string, stored []byte) error {
	var offer Offer
	if err := json.Unmarshal(stored, &offer); err != nil {
		return err
	}
	if s.Offers == nil {
		s.Offers = map[string]Offer{}
	}
	s.Offers[section] = offer
	return nil
}

// Filled reports whether the offer has answers to show.
func (o Offer) Filled() bool { return o.Answers != nil || o.Draft != nil }

// A FormerFile is a document of the former session. Its content isn't copied.
type FormerFile struct {
	Name   string `json:"name"`
	SHA256 string `json:"sha256"` // lower-case hex
}

// PreviousSession is the session that this one continues, "" if it continues none.
func (s *Statement) PreviousSession() string { return s.Offers[DocumentsSection].From }

// ChangedSections lists the sections that differ from the former session's: those whose
// part of the data object isn't that of its last valid answers, and the documents if there
// is a file that it didn't have (D101). The declaration is always new.
func (s *Statement) ChangedSections() []string {
	out := []string{}
	former, has := s.former()
	for _, name := range BeforeDeclaration {
		offer := s.Offers[name]
		switch name {
		case DocumentsSection:
			if !slices.ContainsFunc(s.Documents, func(d Document) bool { return !offer.has(d) }) {
				continue
			}
		default:
			if has[name] && same(former, s, name) {
				continue
			}
		}
		out = append(out, name)
	}
	return out
}

// FormerSections are the sections with the former session's last valid answers, by name; those
// without any are left out.
func (s *Statement) FormerSections() map[string]*form.Section {
	former, has := s.former()
	out := map[string]*form.Section{}
	for _, name := range BeforeDeclaration {
		if has[name] {
			out[name] = former.Section(name, time.Time{})
		}
	}
	return out
}

// FormerRepayments are the expenses that the form offered in the former session (D55).
func (s *Statement) FormerRepayments() Expenses {
	former, _ := s.former()
	return former.SuggestExpenses()
}

// former has the former session's last valid answers of all sections, which depend on each
// other, and says of which there are any.
func (s *Statement) former() (former *Statement, has map[string]bool) {
	former, has = &Statement{}, map[string]bool{}
	for _, name := range BeforeDeclaration {
		if answers := s.Offers[name].Answers; answers != nil {
			has[name] = former.Read(name, answers) == nil
		}
	}
	return former, has
}

func (o Offer) has(d Document) bool {
	return slices.ContainsFunc(o.Documents, func(f FormerFile) bool { return f.SHA256 == d.SHA256 })
}

// same reports whether two statements have the same section of the data object.
func same(a, b *Statement, name string) bool {
	one, err := json.Marshal(a.Section(name, time.Time{}))
	other, otherErr := json.Marshal(b.Section(name, time.Time{}))
	return err == nil && otherErr == nil && bytes.Equal(one, other)
}
