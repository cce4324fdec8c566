package main

import (
	"math/rand/v2"
	"time"
)

// kind is a kind of fault.
type kind string

const (
	killWeb      kind = "kill -9 of a web process"
	killWorker   kind = "kill -9 of a worker"
	killAll      kind = "kill -9 of all web processes and workers at once"
	freeze       kind = "web process or worker frozen (SIGSTOP)"
	clockJump    kind = "clock of a web process or worker apart, by 1 s to 2 min either way"
	crash        kind = "PostgreSQL: kill -9 of the primary"
	quit         kind = "PostgreSQL: immediate shutdown of the primary"
	killBackend  kind = "PostgreSQL: kill -9 of one of its processes, after which it restarts them all"
	killStandby  kind = "PostgreSQL: kill -9 of the replica"
	failover     kind = "PostgreSQL: primary lost, replica promoted, a new replica made"
	fullDatabase kind = "PostgreSQL: disk of the primary full"
	fullFiles    kind = "disk of the documents, S3's and that of uploads on their way, full"
	downRedis    kind = "Redis gone (kill -9) and back, empty"
	downS3       kind = "S3 gone (kill -9) and back"
	badReceiver  kind = "a webhook receiver fails: 500, no answer, or cut off after it took the event"
	network      kind = "network: "
)

// weights say how often each kind is chosen.
var weights = []struct {
	kind
	weight int
}{
	{killWeb, 12},
	{killWorker, 12},
	{killAll, 3},
	{freeze, 6},
	{clockJump, 10},
	{crash, 4},
	{quit, 4},
	{killBackend, 5},
	{killStandby, 4},
	{failover, 4},
	{fullDatabase, 3},
	{fullFiles, 3},
	{downRedis, 4},
	{downS3, 4},
	{badReceiver, 5},
	{network, 35},
}

// networks are where a network fault can be, with PostgreSQL's twice.
var networks = []string{"PostgreSQL", "PostgreSQL", "replication", "Redis", "S3", "web", "receiver"}

// ways are what a network fault does.
var ways = []string{"cut", "silent", "slow", "narrow", "reset", "cut in the middle"}

// fault is one planned fault. Target, Way and Size mean something to its kind.
type fault struct {
	Kind   kind
	At     time.Duration // since the start; later if its target has another fault
	Length time.Duration // until it is healed
	Target int           // which of several, modulo their number
	Where  string        // of a network fault
	Way    int
	Size   float64 // 0 to 1
}

// name is the fault's line in the report.
func (f fault) name() string {
	if f.Kind == network {
		return string(network) + f.Where + " " + ways[f.Way%len(ways)]
	}
	return string(f.Kind)
}

// newPlan returns n faults over the span. The same seed gives the same plan.
func newPlan(seed uint64, n int, span time.Duration) []fault {
	r := rand.New(rand.NewPCG(seed, 0x50a))
	total := 0
	for _, w := range weights {
		total += w.weight
	}
	plan := make([]fault, n)
	at, gap := 0.0, float64(span)/float64(n)
	for i := range plan {
		chosen := r.IntN(total)
		for _, w := range weights {
			if chosen -= w.weight; chosen < 0 {
				plan[i].Kind = w.kind
				break
			}
		}
		f := &plan[i]
		f.At = time.Duration(at)
		at += gap * min(r.ExpFloat64(), 4)
		f.Length = time.Duration(min(0.2+r.ExpFloat64(), 6) * float64(time.Second))
		f.Target, f.Way, f.Size = r.IntN(1<<16), r.IntN(1<<16), r.Float64()
		if f.Kind == network {
			f.Where = networks[r.IntN(len(networks))]
		}
	}
	return plan
}
