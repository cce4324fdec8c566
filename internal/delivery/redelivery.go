package delivery

import (
	"context"

	"candor/internal/domain"
)

// Redeliver makes one step of a redelivery: it makes as many deliveries pending
// as the rate permits since the last step. It reports whether the redelivery
// has ended. All progress is in the database, so steps of several processes are
// no faster.
func (d *Dispatcher) Redeliver(ctx context.Context, id domain.RedeliveryID) (ended bool, err error) {
	step, err := d.db.StepRedelivery(ctx, id, d.clock.Now())
	if err != nil {
		return false, err
	}
	for _, endpoint := range step.Endpoints {
		d.Wake(endpoint)
	}
	return step.Ended, nil
}
