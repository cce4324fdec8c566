package form

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
)

// A RuleCode names a rule for answers.
type RuleCode string

// The rules of any line of text or number. Use cases add codes of their own, which
// the front ends that can meet them word.
const (
	RuleReadable  RuleCode = "readable"   // no characters that can't be decoded
	RuleOneLine   RuleCode = "one_line"   // no control characters
	RuleMaxLength RuleCode = "max_length" // at most Max characters
	RuleNoLink    RuleCode = "no_link"    // nothing that a mail program makes a link of
	RuleEmail     RuleCode = "email"      // an email address
	RuleRange     RuleCode = "range"      // a whole number from Min to Max
	RuleGiven     RuleCode = "given"      // Value, for what is given for the customer
)

// A Rule is what an answer breaks, with its parameters, so that each front end
// can word the error.
type Rule struct {
	Code     RuleCode
	Min, Max int
	Value    string // what was typed, or what could be
	Of       string // what is named by the field; "" if its name says so
}

// String returns what the answer must be, to stand after a field's name.
func (r Rule) String() string {
	switch r.Code {
	case RuleReadable:
		return "contains characters that can’t be read: type it again"
	case RuleOneLine:
		return "must be one line without control characters"
	case RuleMaxLength:
		return fmt.Sprintf("must be %d characters or fewer", r.Max)
	case RuleNoLink:
		return "must not contain a web address: leave it out, or put a space after a full stop"
	case RuleEmail:
		return "must be an email address such as name@example.com"
	case RuleRange:
		return fmt.Sprintf("must be a whole number from %d to %d", r.Min, r.Max)
	case RuleGiven:
		return r.Value
	}
	return ""
}

// Words are a front end's sentences for broken rules.
type Words struct {
	Rules    map[RuleCode]string // {min}, {max} and {value} are the rule's, {rule} is its String
	Subjects map[string]string   // {subject} by what a rule is of, or by field; else the field's name
}

// Say returns the error's message, or words its rule.
func (w Words) Say(e Error) string {
	if e.Message != "" {
		return e.Message
	}
	subject := cmp.Or(w.Subjects[cmp.Or(e.Rule.Of, e.Field)], e.Field)
	return strings.NewReplacer(
		"{subject}", subject, "{rule}", e.Rule.String(), "{value}", e.Rule.Value, "{min}", strconv.Itoa(e.Rule.Min), "{max}",
		strconv.Itoa(e.Rule.Max),
	).Replace(w.Rules[e.Rule.Code])
}
