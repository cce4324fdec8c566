package domain

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"strings"
)

// A Buyer is whom an invoice is issued to, as the account sets it. It is stored
// with each invoice (D67). Fields that aren't set are empty.
type Buyer struct {
	Name          string   `json:"name,omitempty"`           // "" is the account's
	ABN           string   `json:"abn,omitempty"`            // as ParseABN writes it
	Address       []string `json:"address,omitempty"`        // lines
	PurchaseOrder string   `json:"purchase_order,omitempty"` // a number or text of the buyer's own
}

// Value encodes the buyer for the database.
func (b Buyer) Value() (driver.Value, error) {
	out, err := json.Marshal(b)
	return string(out), err
}

// Scan decodes a stored buyer.
func (b *Buyer) Scan(value any) error {
	stored, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("domain: buyer: %T", value)
	}
	*b = Buyer{}
	return json.Unmarshal(stored, b)
}

// Lines are the buyer's ABN, address and purchase order, as invoices show them
// below the name.
func (b Buyer) Lines() []string {
	var out []string
	if b.ABN != "" {
		out = append(out, "ABN "+b.ABN)
	}
	out = append(out, b.Address...)
	if b.PurchaseOrder != "" {
		out = append(out, "Purchase order "+b.PurchaseOrder)
	}
	return out
}

// abnWeights are the weights of an ABN's digits, the first one less 1: their sum
// is divisible by 89 (Australian Business Register, format of the ABN).
var abnWeights = [11]int{10, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19}

// ParseABN reads an Australian Business Number, with or without spaces, and
// returns it as people write it, "51 824 753 556"; ok is whether it has 11 digits
// that check.
func ParseABN(text string) (abn string, ok bool) {
	digits := strings.Join(strings.Fields(text), "")
	if len(digits) != len(abnWeights) || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	sum := -abnWeights[0]
	for i, weight := range abnWeights {
		sum += weight * int(digits[i]-'0')
	}
	if digits[0] == '0' || sum%89 != 0 {
		return "", false
	}
	return digits[:2] + " " + digits[2:5] + " " + digits[5:8] + " " + digits[8:], true
}
