package domain

// byKey indexes the rows of a table.
func byKey[K comparable, Row any](table []Row, key func(Row) K) map[K]Row {
	out := make(map[K]Row, len(table))
	for _, row := range table {
		out[key(row)] = row
	}
	return out
}
