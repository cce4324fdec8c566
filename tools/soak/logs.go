package main

import (
	"bufio"
	"cmp"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// settling is how long after the last fault an error in a log may still come of it.
const settling = 45 * time.Second

var (
	logTime    = regexp.MustCompile(`^time=(\S+) level=(\S+) msg=("(?:[^"\\]|\\.)*"|\S+)`)
	panicked   = regexp.MustCompile(`^(panic:|fatal error:|goroutine \d+ \[)|DATA RACE|level=ERROR msg=.?panic`)
	personal   = regexp.MustCompile(`(?i)` + marker)
	quotedName = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}|\b[a-z]{3,4}_[0-9a-z]{26}\b`)
)

// logLine is a message and how often it was logged.
type logLine struct {
	message string
	times   int
}

// readLogs looks for panics, for personal data, and for errors long after the last
// fault. It returns the errors that faults explain.
func (c *check) readLogs(healed time.Time) (errors []logLine, err error) {
	counts := map[string]int{}
	for _, p := range c.env.candor {
		if err := c.readLog(p, healed, counts); err != nil {
			return nil, err
		}
	}
	for message, n := range counts {
		errors = append(errors, logLine{message, n})
	}
	slices.SortFunc(errors, func(a, b logLine) int { return cmp.Or(b.times-a.times, strings.Compare(a.message, b.message)) })
	return errors, nil
}

func (c *check) readLog(p *process, healed time.Time, counts map[string]int) error {
	file, err := os.Open(p.log)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }() // it was only read
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		switch {
		case panicked.MatchString(line):
			c.ledger.violate("panics", p.name+": "+line)
		case personal.MatchString(line):
			c.ledger.violate("personal data in a log", p.name+": "+line)
		}
		found := logTime.FindStringSubmatch(line)
		if found == nil || found[2] != "ERROR" {
			continue
		}
		counts[quotedName.ReplaceAllString(found[3], "…")]++
		if at, err := time.Parse(time.RFC3339, found[1]); err == nil && at.After(healed.Add(settling)) {
			c.ledger.violate("errors in a log without a fault", p.name+": "+line)
		}
	}
	return lines.Err()
}
