package dashboard

import (
	"github.com/a-h/templ"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
)

// OrderOptions are the orders of the list of sessions besides the newest first.
var OrderOptions = []Option{
	{Value: string(domain.OldestFirst), Words: "Oldest first"}, {Value: string(domain.EndsSoonest), Words: "Ends soonest"},
}

// A sessionColumn is a column of the list of sessions that can be left out.
type sessionColumn struct {
	name, title, class string
	further            bool // isn't shown unless it is asked for
	cell               func(*domain.Session) templ.Component
}

var sessionColumns = []sessionColumn{
	{"reference", "Reference", "list-under", false, func(one *domain.Session) templ.Component {
		return inBDI(orDash(one.ReferenceID))
	}},
	{"state", "State", "list-side", false, func(one *domain.Session) templ.Component { return statusTag(one.Status) }},
	{"sections", "Sections", "list-desk", false, func(one *domain.Session) templ.Component {
		return inBDI(strconv.Itoa(one.SectionsFinished) + " of 7")
	}},
	{"created", "Created", "list-end", false, func(one *domain.Session) templ.Component { return ago(&one.CreatedAt) }},
	{"completed", "Completed", "list-desk", false, func(one *domain.Session) templ.Component { return ago(one.CompletedAt) }},
	{"activity", "Last activity", "list-desk", true, func(one *domain.Session) templ.Component { return ago(one.LastActivityAt) }},
	{"ends", "Link ends", "list-desk", true, func(one *domain.Session) templ.Component { return ago(&one.ExpiresAt) }},
}

// firstColumn is the name of the column that stays.
const firstColumn = "customer"

// ShownColumns are the columns that a list of sessions shows.
type ShownColumns struct {
	shown []sessionColumn
	names string            // as addresses have them, "" for the usual ones
	phone map[string]string // the titles that a phone shows in the row, by column
}

// SessionColumns reads the columns that addresses name, also several to a text. Unknown ones
// are ignored; without any, the usual ones are shown. What the list is sorted by is.
func SessionColumns(texts []string, order domain.SessionOrder) (out ShownColumns) {
	asked := strings.Split(strings.Join(texts, ","), ",")
	known := slices.Contains(asked, firstColumn)
	for _, c := range sessionColumns {
		known = known || slices.Contains(asked, c.name)
	}
	names, usual := []string{firstColumn}, true
	for _, c := range sessionColumns {
		chosen := slices.Contains(asked, c.name)
		if !known {
			chosen = !c.further
		}
		usual = usual && chosen != c.further
		if chosen {
			names = append(names, c.name)
		}
		if sortedBy := c.name == "ends" && order == domain.EndsSoonest; chosen || sortedBy {
			if sortedBy {
				c.class = "list-end"
			} else if order == domain.EndsSoonest && c.class == "list-end" {
				c.class = "list-desk" // what it is sorted by is there
			}
			out.shown = append(out.shown, c)
		}
	}
	// On a phone a row has two places under the customer.
	out.phone = map[string]string{}
	for _, place := range []string{"list-under", "list-end"} {
		in := func(class string) int {
			return slices.IndexFunc(out.shown, func(c sessionColumn) bool { return c.class == class })
		}
		if at := in("list-desk"); at >= 0 && in(place) < 0 {
			out.shown[at].class, out.phone[out.shown[at].name] = place, out.shown[at].title
		}
	}
	if !usual {
		out.names = strings.Join(names, ",")
	}
	return out
}

// Control keeps the columns in the addresses of the list.
func (s ShownColumns) Control() Control {
	return Control{Name: "columns", Type: "hidden", Value: s.names, Kept: true}
}

func (s ShownColumns) has(name string) bool {
	return slices.ContainsFunc(s.shown, func(c sessionColumn) bool { return c.name == name })
}

// caption names the list and its order.
func (s SessionsPage) caption() string {
	return "Sessions, " + map[domain.SessionOrder]string{
		domain.NewestFirst: "newest first", domain.OldestFirst: "oldest first", domain.EndsSoonest: "those that end soonest first",
	}[s.Order]
}

// heads are the heads of the columns. One leads to the list in its order, or in the other
// direction if that is the order.
func (s SessionsPage) heads() []Head {
	out := heads([]Column{{"Customer", "list-main"}})
	if s.Staff.May(domain.UseSessions) {
		out = heads([]Column{{"Choose all on this page", picks}, {"Customer", "list-main"}})
	}
	for _, c := range s.Columns.shown {
		head := Head{Column: Column{c.title, c.class}}
		switch {
		case c.name == "created" && s.Order == domain.NewestFirst:
			head.Sorted, head.Sorts = "descending", s.sortedBy(domain.OldestFirst)
		case c.name == "created" && s.Order == domain.OldestFirst:
			head.Sorted, head.Sorts = "ascending", s.sortedBy(domain.NewestFirst)
		case c.name == "created":
			head.Sorts = s.sortedBy(domain.NewestFirst)
		case c.name == "ends" && s.Order == domain.EndsSoonest:
			head.Sorted = "ascending"
		case c.name == "ends":
			head.Sorts = s.sortedBy(domain.EndsSoonest)
		}
		out = append(out, head)
	}
	return out
}

// sortedBy is the address of the list in an order; "" if it isn't offered.
func (s SessionsPage) sortedBy(order domain.SessionOrder) string {
	for _, c := range s.Filters {
		offered := order == domain.NewestFirst ||
			slices.ContainsFunc(c.Options, func(o Option) bool { return o.Value == string(order) })
		if c.Name != "sort" || !offered {
			continue
		}
		if order == domain.NewestFirst {
			return s.Filters.typed().without(s.URL("sessions"), "sort")
		}
		return s.Filters.typed().query(s.URL("sessions"), "sort", string(order))
	}
	return ""
}

// next is the address of the next page.
func (s SessionsPage) next() string {
	last := s.Sessions[len(s.Sessions)-1]
	at := ""
	if s.Order == domain.EndsSoonest {
		at = last.ExpiresAt.UTC().Format(time.RFC3339Nano)
	}
	return s.Filters.query(s.URL("sessions"), "before", last.ID.String(), "at", at)
}

// pagerWords name the first page and the next one.
func (s SessionsPage) pagerWords() [2]string {
	return map[domain.SessionOrder][2]string{
		domain.NewestFirst: {"Newest", "Older"}, domain.OldestFirst: {"Oldest", "Newer"}, domain.EndsSoonest: {"Soonest", "Later"},
	}[s.Order]
}
