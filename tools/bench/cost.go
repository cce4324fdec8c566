package main

import (
	"time"

	"candor/internal/testkit/proc"
)

// cpu is processor time.
type cpu struct{ candor, postgres time.Duration }

// cpu is what candor and PostgreSQL have used so far.
func (e *environment) cpu() (used cpu) {
	for _, p := range proc.All() {
		switch {
		case p.PID == e.Server.Process.Pid:
			used.candor = p.CPU
		case p.PID == e.Postgres.PID():
			used.postgres += p.CPU + p.ChildrenCPU
		case p.Parent == e.Postgres.PID():
			used.postgres += p.CPU
		}
	}
	return used
}

// since is what was used after an earlier reading.
func (c cpu) since(before cpu) cpu {
	return cpu{c.candor - before.candor, c.postgres - before.postgres}
}

func (c cpu) sum() time.Duration { return c.candor + c.postgres }
