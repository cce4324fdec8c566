package domain

// A StaffView is a list of sessions that a staff user has saved under a name (D144).
type StaffView struct {
	Name  string `db:"name"`
	Query string `db:"query"` // filters, order and columns, as the list's address has them
}

// What a staff user can save.
const (
	MaxViews    = 20 // in each mode
	MaxViewName = 40 // characters
)
