package form

import (
	"encoding/json"
	"strings"
)

// Schema is a JSON Schema (2020-12) for OpenAPI 3.1, with the keywords that
// Candor needs.
type Schema struct {
	Ref         string             `json:"$ref,omitempty"`
	Type        any                `json:"type,omitempty"` // a name, or a list of names
	Title       string             `json:"title,omitempty"`
	Description string             `json:"description,omitempty"`
	Format      string             `json:"format,omitempty"`
	Pattern     string             `json:"pattern,omitempty"`
	Enum        []string           `json:"enum,omitempty"`
	Const       any                `json:"const,omitempty"`
	Minimum     json.Number        `json:"minimum,omitempty"`
	Maximum     json.Number        `json:"maximum,omitempty"`
	MaxLength   int                `json:"maxLength,omitempty"`
	MinLength   int                `json:"minLength,omitempty"`
	MaxItems    int                `json:"maxItems,omitempty"`
	MinProps    int                `json:"minProperties,omitempty"`
	MaxProps    int                `json:"maxProperties,omitempty"`
	Items       *Schema            `json:"items,omitempty"`
	Properties  map[string]*Schema `json:"properties,omitempty"`
	Required    []string           `json:"required,omitempty"`
	Additional  *Schema            `json:"additionalProperties,omitempty"`
	PropNames   *Schema            `json:"propertyNames,omitempty"`
	OneOf       []*Schema          `json:"oneOf,omitempty"` // each value fits exactly one
	By          *Discriminator     `json:"discriminator,omitempty"`
	Default     any                `json:"default,omitempty"`
	Example     any                `json:"example,omitempty"`
	Order       []string           `json:"-"` // of Properties, as they were described; nil: as Required
	Sample      bool               `json:"-"` // samples have the field even if it is optional
	Money       bool               `json:"-"` // a number of dollars with whole cents
	Common      *Schema            `json:"-"` // of OneOf: one object with the fields of all
}

// A Discriminator says by which field the objects of OneOf are told apart, and which has
// which value.
type Discriminator struct {
	Field string            `json:"propertyName"`
	Refs  map[string]string `json:"mapping"`
}

// DollarSchema describes an amount of money in JSON. Without a format some
// generators read it as a 32-bit number, which has no exact cents.
func DollarSchema() *Schema {
	return &Schema{Type: "number", Format: "double", Money: true}
}

// Schema describes the section's JSON as MarshalJSON writes it.
func (s *Section) Schema() *Schema {
	root := &Schema{Type: "object", Title: s.Title, Description: s.Intro}
	for _, g := range s.Groups {
		root.addFields(g.Fields)
		if g.List != nil {
			item := &Schema{Type: "object"}
			item.addFields(g.List.ItemFields())
			root.add(g.List.Name, &Schema{Type: "array", Title: g.List.Title, MaxItems: MaxListItems, Items: item})
		}
	}
	return root
}

func (s *Schema) addFields(fields []Field) {
	for _, f := range fields {
		leaf := f.Value.Schema()
		about := leaf.Description
		if (f.Optional || f.AskedOnPage || f.When != nil) && leaf.Type == "string" && (leaf.Enum != nil || leaf.Format != "" ||
			leaf.Pattern != "") {
			if leaf.Enum != nil {
				leaf.Enum = append(leaf.Enum, "")
			} else {
				leaf.MinLength = 1
				leaf = &Schema{OneOf: []*Schema{leaf, {Const: ""}}}
			}
		}
		leaf.Description = strings.TrimSpace(describe(f) + " " + about)
		s.add(f.Name, leaf)
	}
}

func describe(f Field) string {
	text := f.Label
	if f.Kind == KindMoney || f.Kind == KindOutput && leafIsNumber(f) {
		text += ", dollars"
		if f.Period != Once {
			text += " " + f.Period.Per()
		}
		text += " with at most two decimals"
	}
	return text + "."
}

func leafIsNumber(f Field) bool { return f.Value.Schema().Type == "number" }

func (s *Schema) add(path string, leaf *Schema) {
	key, rest, nested := strings.Cut(path, ".")
	if s.Properties == nil {
		s.Properties = map[string]*Schema{}
	}
	if _, ok := s.Properties[key]; !ok {
		s.Required, s.Order = append(s.Required, key), append(s.Order, key)
	}
	if !nested {
		s.Properties[key] = leaf
		return
	}
	if s.Properties[key] == nil {
		s.Properties[key] = &Schema{Type: "object"}
	}
	s.Properties[key].add(rest, leaf)
}
