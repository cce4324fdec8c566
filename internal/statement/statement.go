// Package statement is the financial statement: seven typed sections built on
// form, their totals and their JSON. It does no I/O.
//
// Its words, beside those of package form:
//
//	doubt     an odd answer, which the customer confirms before signing (D79)
//	former    of the session that this one continues; an offer is what is left of it (D101)
//	guess     what a document is, by the name of its file (D84)
//	outdated  completed before an answer changed on which the questions depend (D78)
//	owing     a debt that the assets speak of; if the liabilities lack it, it is missing (D20)
//	prefill   what the partner knows of the answers (D58)
//	suggest   what follows from other sections, with which one begins (D20, D55)
package statement

import (
	"slices"
	"time"

	"candor/internal/form"
)

// Cents is an amount of money in whole cents.
type Cents = form.Cents

// The seven sections, in page order.
const (
	PersonalDetailsSection = "personal_details"
	IncomeSection          = "income"
	AssetsSection          = "assets"
	LiabilitiesSection     = "liabilities"
	ExpensesSection        = "expenses"
	DocumentsSection       = "documents"
	DeclarationSection     = "declaration"
)

// SectionsTotal is how many sections the form has.
const SectionsTotal = 7

// SectionNames lists the sections in page order.
var SectionNames = [SectionsTotal]string{
	PersonalDetailsSection, IncomeSection, AssetsSection, LiabilitiesSection,
	ExpensesSection, DocumentsSection, DeclarationSection,
}

// BeforeDeclaration are the sections that the declaration signs.
var BeforeDeclaration = SectionNames[:SectionsTotal-1]

// A SectionName is one of SectionNames in the API.
type SectionName string

// Enum lists the sections.
func (SectionName) Enum() []string { return SectionNames[:] }

// SectionNumber returns the section's place from 1 to 7, or 0 for an unknown
// name.
func SectionNumber(name string) int { return slices.Index(SectionNames[:], name) + 1 }

// Percentage is the share of completed sections, rounded to the nearest
// integer (D15).
func Percentage(completed int) int { return (completed*100 + SectionsTotal/2) / SectionsTotal }

// A Statement holds one customer's answers.
type Statement struct {
	Personal    PersonalDetails
	Income      Income
	Assets      Assets
	Liabilities Liabilities
	Expenses    Expenses
	Documents   []Document
	Declaration Declaration
	// Entered are the amounts that were given in another period than the
	// contract's, or as several, by section and path in it (D53).
	Entered map[string]map[string]form.Entries
	Prefill Prefill // what the partner gave at creation
	// Offers are what a former session's customer left, by section; nil if this session
	// continues none.
	Offers map[string]Offer
	// ExpensesOutdated is true if they were completed for another household, or before a
	// mortgage was entered: the customer must look at them again (D78).
	ExpensesOutdated bool
	DocumentsAsked   bool // the partner asks for something in the documents (D102)

	zeros map[string][]string // the amounts that were typed as 0, by section
}

// KeepEntered keeps how the amounts of one of the statement's sections were given.
func (s *Statement) KeepEntered(section *form.Section) {
	if s.Entered == nil {
		s.Entered = map[string]map[string]form.Entries{}
	}
	s.Entered[section.Name] = section.Entered()
	if zeros := section.TypedZeros(); len(zeros) > 0 {
		if s.zeros == nil {
			s.zeros = map[string][]string{}
		}
		s.zeros[section.Name] = zeros
	}
}

// Section describes the named section, bound to the statement's answers. It is
// nil for documents, which are files and not fields, and for unknown names.
// Dates are checked against now.
func (s *Statement) Section(name string, now time.Time) *form.Section {
	section := s.describe(name, now)
	if section != nil {
		section.Restore(s.Entered[name])
		section.RestoreZeros(s.zeros[name])
		section.Suggestions = s.Suggestions(name)
		if name == LiabilitiesSection {
			section.Missing = s.missingDebts
		}
	}
	return section
}

func (s *Statement) describe(name string, now time.Time) *form.Section {
	switch name {
	case PersonalDetailsSection:
		return s.Personal.section(now)
	case IncomeSection:
		return s.incomeSection()
	case AssetsSection:
		return s.Assets.section()
	case LiabilitiesSection:
		return s.liabilitiesSection()
	case ExpensesSection:
		return s.expensesSection()
	case DeclarationSection:
		return s.Declaration.section()
	}
	return nil
}

// Sections describes the sections with fields, in order: all except documents.
func (s *Statement) Sections(now time.Time) []*form.Section {
	var out []*form.Section
	for _, name := range SectionNames {
		if section := s.Section(name, now); section != nil {
			out = append(out, section)
		}
	}
	return out
}

// Title returns the named section's title.
func Title(name string) string {
	if name == DocumentsSection {
		return "Documents"
	}
	if section := new(Statement).Section(name, time.Time{}); section != nil {
		return section.Title
	}
	return ""
}
