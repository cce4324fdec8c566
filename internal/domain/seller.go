package domain

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
)

// A Seller issues invoices. It is stored with each invoice. Unknown fields are
// empty.
type Seller struct {
	Name     string   `json:"name"`
	ABN      string   `json:"abn"`      // Australian Business Number, as shown
	Address  []string `json:"address"`  // lines
	Transfer []string `json:"transfer"` // how to pay by bank transfer, line by line
	Cards    bool     `json:"cards"`    // collected from the account's card
}

// ChargesGST reports whether the seller can charge GST on an invoice: a tax
// invoice must name the seller and its ABN (GST Act 1999, s 29-70).
func (s *Seller) ChargesGST() bool { return s.Name != "" && s.ABN != "" }

// Lines are the seller's ABN and address, as invoices show them below the name.
func (s *Seller) Lines() []string {
	if s.ABN == "" {
		return s.Address
	}
	return append([]string{"ABN " + s.ABN}, s.Address...)
}

// Value encodes the seller for the database.
func (s Seller) Value() (driver.Value, error) {
	b, err := json.Marshal(s)
	return string(b), err
}

// Scan decodes a stored seller.
func (s *Seller) Scan(value any) error {
	b, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("domain: seller: %T", value)
	}
	*s = Seller{}
	return json.Unmarshal(b, s)
}
