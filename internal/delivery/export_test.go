package delivery

// SetCaps makes the process's caps small enough to reach them. Call it before
// Start.
func (d *Dispatcher) SetCaps(running, failing, account int) {
	d.running, d.failing, d.perAccount = make(places, running), make(places, failing), account
}

// Taken is how many places are taken, and how many accounts have a share. It is
// for a dispatcher that has stopped.
func (d *Dispatcher) Taken() (places, shares int) {
	return len(d.running) + len(d.failing), len(d.shares)
}

// The limits that tests check.
const (
	PerEndpoint  = perEndpoint
	PerNew       = perNew
	PerFailing   = perFailing
	FailingAfter = failingAfter
)
