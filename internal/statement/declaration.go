package statement

import (
	"time"

	"candor/internal/form"
)

// DeclarationText is what the customer declares by signing.
const DeclarationText = "I declare that the information in this statement is true, complete and correct to the best of my knowledge, and that I have not left out anything I owe or own."

// Declaration is the customer's signature (D16, D23).
type Declaration struct {
	Accepted bool
	FullName string
	SignedAt time.Time // UTC, set at submission
	// Confirmations are the odd answers that the customer confirmed.
	Confirmations []Confirmation
}

func (d *Declaration) section() *form.Section {
	name := form.Text(&d.FullName, "full_name", "Your full name").Fills("name").
		Asks("Enter your full name to sign").Hints("Typing your name here signs the statement.")
	return &form.Section{
		Name:  DeclarationSection,
		Title: "Declaration",
		Intro: "Check your answers, then sign and submit.",
		Groups: []form.Group{{Fields: []form.Field{
			form.Checkbox(&d.Accepted, "accepted", "I have read and accept the declaration").
				Asks("Tick the box to accept the declaration"),
			name,
			form.Instant(&d.SignedAt, "signed_at", "Signed at"),
		}}},
	}
}
