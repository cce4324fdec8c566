package db

import (
	"strconv"
	"strings"

	"github.com/lib/pq"

	"candor/internal/domain"
)

// sqlText is the text of a statement or of a part of it. A constant is SQL without a
// conversion and a string variable doesn't compile, so no value can become part
// of a statement: values are arguments. Only this file converts strings to SQL;
// TestNoStringBecomesSQL checks that.
type sqlText string

// identifier quotes a name, which can't be an argument.
func identifier(name string) sqlText { return sqlText(pq.QuoteIdentifier(name)) }

// literal quotes a code of ours: the planner counts by it, and sees that an index of some rows has it.
func literal(code domain.Code) sqlText { return sqlText(pq.QuoteLiteral(string(code))) }

// joined puts separator between the parts.
func joined(parts []sqlText, separator sqlText) sqlText {
	var b strings.Builder
	for i, part := range parts {
		if i > 0 {
			b.WriteString(string(separator))
		}
		b.WriteString(string(part))
	}
	return sqlText(b.String())
}

// qualified puts a table's name before each of the columns.
func qualified(table, columns sqlText) sqlText {
	var names []sqlText
	for name := range strings.SplitSeq(string(columns), ",") {
		names = append(names, table+"."+sqlText(strings.TrimSpace(name)))
	}
	return joined(names, ", ")
}

// comparisons are the clauses of a filter's column and its placeholder.
var comparisons = map[domain.Comparison]func(column, value sqlText) sqlText{
	domain.Equal:     func(column, value sqlText) sqlText { return column + " = " + value },
	domain.EqualFold: func(column, value sqlText) sqlText { return "lower(" + column + ") = lower(" + value + ")" },
	domain.Above:     func(column, value sqlText) sqlText { return column + " > " + value },
	domain.AtLeast:   func(column, value sqlText) sqlText { return column + " >= " + value },
	domain.Below:     func(column, value sqlText) sqlText { return column + " < " + value },
}

// conditions builds a WHERE clause and its arguments side by side.
type conditions struct {
	clauses []sqlText
	args    []any
}

// arg adds an argument and returns its placeholder.
func (c *conditions) arg(value any) sqlText {
	c.args = append(c.args, value)
	return sqlText("$" + strconv.Itoa(len(c.args)))
}

// and adds a clause.
func (c *conditions) and(clause sqlText) { c.clauses = append(c.clauses, clause) }

// add adds a clause that compares with a value, as in add("id =", id).
func (c *conditions) add(compare sqlText, value any) { c.and(compare + " " + c.arg(value)) }

// where is what was added and more, all of it.
func (c *conditions) where(more ...sqlText) sqlText {
	return joined(append(c.clauses[:len(c.clauses):len(c.clauses)], more...), " AND ")
}
