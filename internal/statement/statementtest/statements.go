package statementtest

import (
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"candor/internal/form"
	"candor/internal/statement"
)

// Now returns the time when the examples are signed, UTC.
func Now() time.Time { return time.Date(2026, 11, 20, 3, 4, 5, 0, time.UTC) }

// Full returns a submitted statement with every answer: the answers of Values,
// and two documents.
func Full() *statement.Statement {
	s := new(statement.Statement)
	for _, section := range s.Sections(Now()) {
		decode(section, Values(section.Name))
		s.KeepEntered(section)
	}
	s.Documents = []statement.Document{
		document(1, "identification", "driver licence.jpg", "image/jpeg", 482_113),
		document(2, "income_evidence", "Payslip October 2026.pdf", "application/pdf", 91_204),
	}
	s.Declaration.SignedAt = Now()
	return s
}

// Sparse returns a submitted statement with the fewest valid answers: no
// amounts, no list items, no documents.
func Sparse() *statement.Statement {
	s := new(statement.Statement)
	section, personal := s.Section(statement.PersonalDetailsSection, Now()), Values(statement.PersonalDetailsSection)
	section.Walk(func(path string, f form.Field) {
		if f.Optional {
			personal.Del(path)
		}
	})
	decode(section, personal)
	decode(s.Section(statement.DeclarationSection, Now()), Values(statement.DeclarationSection))
	s.Declaration.SignedAt = Now()
	return s
}

// Long returns the longest possible submitted statement: full lists, the
// longest texts, the largest amounts, all documents.
func Long() *statement.Statement {
	s := new(statement.Statement)
	for _, before := range s.Sections(Now()) {
		section := s.Section(before.Name, Now()) // what it asks depends on the answers since
		for _, g := range section.Groups {
			for g.List != nil && !g.List.Full() {
				g.List.Add()
			}
		}
		var n int
		section.Walk(func(_ string, f form.Field) {
			if n++; f.When != nil && !f.When() {
				return
			}
			f.Value.Parse(func(part string) string { return longest(f, part, n) })
		})
		decode(section, section.Inputs())
		s.KeepEntered(section)
	}
	for i := range statement.MaxDocuments {
		s.Documents = append(s.Documents, document(i+1, "bank_statement", prose(i, 196)+".pdf", "application/pdf",
			statement.MaxDocumentBytes))
	}
	s.Declaration.SignedAt = Now()
	return s
}

func decode(section *form.Section, values url.Values) {
	if errs := section.Decode(values); len(errs) > 0 {
		panic(fmt.Sprintf("statementtest: %s: %v", section.Name, []form.Error(errs)))
	}
}

// longest returns the longest answer to a field; n makes it unique.
func longest(f form.Field, part string, n int) string {
	switch f.Kind {
	case form.KindText:
		return prose(n, f.Value.Schema().MaxLength)
	case form.KindEmail:
		label := strings.Repeat("d", 61)
		return strings.Repeat("a", 64) + "@" + label + "." + label + "." + label + ".au"
	case form.KindPhone:
		return "+61 2 9999 9999"
	case form.KindPostcode:
		return "2204"
	case form.KindMoney:
		if part != "" {
			return "" // another period, or a further amount
		}
		return (form.MaxCents - form.Cents(n)).Decimal()
	case form.KindPercent:
		return strconv.Itoa(100 - n%50)
	case form.KindNumber:
		return "20"
	case form.KindDate:
		return map[string]string{"day": "30", "month": "9", "year": "1999"}[part]
	case form.KindChoice:
		if f.Preset == statement.Australia {
			return f.Preset // which has states
		}
		return f.Options[0].Code // of households a couple, which is asked most
	case form.KindCheckbox:
		return "true"
	}
	return ""
}

// prose returns words of at most length characters, some of them not ASCII.
func prose(n, length int) string {
	text := strconv.Itoa(n) + strings.Repeat(" Café Überwagen – the vehicle beside Nguyễn’s Łódź bakery,", 1+length/20)
	return strings.TrimSpace(string([]rune(text)[:length-1])) + "…"
}

func document(n int, category statement.DocumentCategory, name, contentType string, size int64) statement.Document {
	return statement.Document{
		ID:          fmt.Sprintf("doc_019a9f3c-7d00-7000-8000-%012d", n),
		Category:    category,
		FileName:    name,
		ContentType: contentType,
		SizeBytes:   size,
		SHA256:      fmt.Sprintf("%064x", n),
		UploadedAt:  form.At(Now().Add(-time.Hour)),
	}
}
