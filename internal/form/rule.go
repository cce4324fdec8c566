package form

import "fmt"

// A RuleCode names a rule for answers.
type RuleCode string

// The rules whose errors carry their code and parameters.
const (
	RuleReadable  RuleCode = "readable"   // no characters that can't be decoded
	RuleOneLine   RuleCode = "one_line"   // no control characters
	RuleMaxLength RuleCode = "max_length" // at most Max characters
	RuleEmail     RuleCode = "email"      // an email address
	RuleRange     RuleCode = "range"      // a whole number from Min to Max
)

// A Rule is what an answer breaks, with its parameters, so that each front end
// can word the error.
type Rule struct {
	Code     RuleCode
	Min, Max int
}

// String returns what the answer must be, to stand after a field's name.
func (r Rule) String() string {
	switch r.Code {
	case RuleReadable:
		return "contains characters that can't be read: type it again"
	case RuleOneLine:
		return "must be one line without control characters"
	case RuleMaxLength:
		return fmt.Sprintf("must be %d characters or fewer", r.Max)
	case RuleEmail:
		return "must be an e-mail address such as name@example.com"
	case RuleRange:
		return fmt.Sprintf("must be a whole number from %d to %d", r.Min, r.Max)
	}
	return ""
}
