package config

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// ReadFile reads variables from a file, as systemd and Docker do: a line for each,
// NAME=value. Lines that are empty or start with # are left out, and so are quotes
// around a value. Errors show no value.
func ReadFile(r io.Reader) (map[string]string, error) {
	out := map[string]string{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("line %d must be NAME=value, with nothing before the name and no space before the equals sign", n)
		}
		value = strings.TrimSpace(value)
		if last := len(value) - 1; last > 0 && (value[0] == '"' || value[0] == '\'') && value[last] == value[0] {
			value = value[1:last]
		}
		out[name] = value
	}
	return out, lines.Err()
}
