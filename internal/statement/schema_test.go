package statement_test

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
)

func dataSchema() *form.Schema {
	amounts := &form.Schema{Type: "object", Properties: map[string]*form.Schema{}}
	for _, name := range []string{"total_assets", "total_liabilities", "net_worth", "total_monthly_income", "total_monthly_expenses",
		"monthly_surplus", "total_monthly_repayments", "repayments_not_in_expenses"} {
		amounts.Properties[name] = &form.Schema{Type: "number"}
		amounts.Required = append(amounts.Required, name)
	}
	return statement.DataSchema(amounts, &form.Schema{Type: "array", MaxItems: statement.MaxDocuments}, &form.Schema{Type: "array"})
}

// ofContinued are the members that only a session that continues another one has (D101).
var ofContinued = []string{"previous_session_id", "changed_sections"}

// TestSchema compares the schema with the JSON: both have the same members,
// and the values have the schema's types.
func TestSchema(t *testing.T) {
	t.Parallel()
	raw, err := json.Marshal(dataSchema())
	if err != nil {
		t.Fatal(err)
	}
	var schema openapi3.Schema
	if err := json.Unmarshal(raw, &schema); err != nil {
		t.Fatal(err)
	}
	full := statementtest.Full()
	full.Offers = map[string]statement.Offer{statement.DocumentsSection: {From: "sess_01m7xsggnverxbaf5yh399t1b6"}}
	for name, s := range map[string]*statement.Statement{
		"full": full, "sparse": statementtest.Sparse(), "long": statementtest.Long(), "abroad": abroad(),
	} {
		data := decoded(t, s)
		if err := schema.VisitJSON(data, openapi3.MultiErrors(), openapi3.EnableFormatValidation()); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		compare(t, name, dataSchema(), data)
	}
	for name, spoil := range map[string]func(*statement.Statement){
		"negative amount":   func(s *statement.Statement) { s.Income.Other.Interest = -1 },
		"amount too large":  func(s *statement.Statement) { s.Income.Other.Interest = form.MaxCents + 1 },
		"unknown state":     func(s *statement.Statement) { s.Personal.Address.State = "XX" },
		"long postcode":     func(s *statement.Statement) { s.Personal.Address.Postcode = strings.Repeat("2", 21) },
		"unknown country":   func(s *statement.Statement) { s.Personal.Address.Country = "Austria" },
		"percentage of 101": func(s *statement.Statement) { s.Assets.RealProperty[0].OwnershipPercentage = 101 },
		"51 vehicles":       func(s *statement.Statement) { s.Assets.Vehicles = slices.Repeat(s.Assets.Vehicles, 26) },
	} {
		s := statementtest.Full()
		spoil(s)
		if schema.VisitJSON(decoded(t, s), openapi3.EnableFormatValidation()) == nil {
			t.Errorf("the schema accepts a statement with %s", name)
		}
	}
}

func decoded(t *testing.T, s *statement.Statement) any {
	t.Helper()
	raw, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var data any
	if err := decoder.Decode(&data); err != nil {
		t.Fatal(err)
	}
	return data
}

// compare reports members that only the schema or only the JSON has.
func compare(t *testing.T, path string, schema *form.Schema, data any) {
	t.Helper()
	switch data := data.(type) {
	case map[string]any:
		if schema.Additional != nil { // any keys; the validator has checked the values
			return
		}
		properties, required := len(schema.Properties), len(schema.Required)
		for _, key := range ofContinued {
			switch _, there := data[key]; {
			case schema.Properties[key] == nil:
			case there:
				required++
			default:
				properties--
			}
		}
		for key, value := range data {
			if schema.Properties[key] == nil || !slices.Contains(append(schema.Required, ofContinued...), key) {
				t.Errorf("%s.%s isn't in the schema, or not as required", path, key)
				continue
			}
			compare(t, path+"."+key, schema.Properties[key], value)
		}
		if properties != len(data) || required != len(data) {
			t.Errorf("%s has %d members, %d in the schema, %d of them required", path, len(data), properties, required)
		}
	case []any:
		if schema.Type != "array" {
			t.Errorf("%s is an array, in the schema %v", path, schema.Type)
		}
		for i := range data {
			if schema.Items != nil {
				compare(t, path+"[]", schema.Items, data[i])
			}
		}
	}
}
