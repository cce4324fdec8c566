package db

import "candor/internal/domain"

// list builds the statement that reads the first rows of a list: conditions,
// an order, and one or more sources. Each source is sorted and limited itself,
// so that each can use its own index. A statement's text depends on which
// filters are set and never on their values, so it stays prepared.
type list struct {
	conditions
	columns sqlText
	order   sqlText
	ties    bool // rows that come with the last one in the order are read, too
	sources []sqlText
}

// from adds a source: a table with the list's conditions and further ones.
func (l *list) from(table sqlText, more ...sqlText) {
	l.sources = append(l.sources, table+" WHERE "+l.where(more...))
}

// first returns the text that reads the first rows, limit of them.
func (l *list) first(limit sqlText) sqlText {
	most := " LIMIT " + limit
	if l.ties {
		most = " FETCH FIRST (" + limit + ") ROWS WITH TIES"
	}
	parts := make([]sqlText, len(l.sources))
	for i, source := range l.sources {
		parts[i] = "SELECT " + l.columns + " FROM " + source + " ORDER BY " + l.order + most
	}
	// Also of one source: a plan made for unknown limits takes each LIMIT for a
	// tenth of the rows, and joins few rows only if there are two.
	return "SELECT * FROM ((" + joined(parts, ") UNION ALL (") + ")) u ORDER BY " + l.order + most
}

// scope limits a list to an account and mode.
func (c *conditions) scope(scope domain.Scope) {
	c.add("account_id =", scope.AccountID)
	c.add("livemode =", scope.Livemode)
}

// below continues a list that descends by the columns after a row with those
// values (keyset paging). A page far down costs no more than the first.
func (c *conditions) below(columns sqlText, values ...any) { c.beyond(columns, " < ", values...) }

// above is below for a list that ascends.
func (c *conditions) above(columns sqlText, values ...any) { c.beyond(columns, " > ", values...) }

func (c *conditions) beyond(columns, compare sqlText, values ...any) {
	places := make([]sqlText, len(values))
	for i, v := range values {
		places[i] = c.arg(v)
	}
	c.and("(" + columns + ")" + compare + "(" + joined(places, ", ") + ")")
}

// filter adds the filters that are set, that compare a column and that an index
// leads to.
func filter[F any](c *conditions, filters []domain.Filter[F], f *F) {
	for i := range filters {
		one := &filters[i]
		if one.Column == "" || one.Index == "" {
			continue
		}
		if value := one.Value(f); value != nil {
			c.and(comparisons[one.Compare](identifier(one.Column), c.arg(value)))
		}
	}
}
