package delivery

// SetCaps makes the process's caps small enough to reach them. Call it before
// Start.
func (d *Dispatcher) SetCaps(running, failing int) {
	d.running, d.failing = make(chan struct{}, running), make(chan struct{}, failing)
}

// The limits that tests check.
const (
	PerEndpoint  = perEndpoint
	PerNew       = perNew
	PerFailing   = perFailing
	FailingAfter = failingAfter
)
