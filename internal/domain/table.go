package domain

// byKey indexes the rows of a table.
func byKey[K comparable, Row any](table []Row, key func(Row) K) map[K]Row {
	out := make(map[K]Row, len(table))
	for _, row := range table {
		out[key(row)] = row
	}
	return out
}

// keys lists the keys of a table's rows, in its order.
func keys[K, Row any](table []Row, key func(Row) K) []K {
	out := make([]K, len(table))
	for i, row := range table {
		out[i] = key(row)
	}
	return out
}

// texts are the values of a list as a schema's enum.
func texts[T ~string](list []T) []string {
	out := make([]string, len(list))
	for i, value := range list {
		out[i] = string(value)
	}
	return out
}

// must returns the value of a table's text that is parsed at the start.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
