package delivery

import (
	"context"

	"candor/db"
	"candor/internal/domain"
)

// Redeliver makes one step of a redelivery: it makes as many deliveries pending
// as the rate permits since the last step. All progress is in the database, so steps of several processes are
// no faster.
func (d *Dispatcher) Redeliver(ctx context.Context, id domain.RedeliveryID) (db.RedeliveryStep, error) {
	step, err := d.db.StepRedelivery(ctx, id, d.clock.Now())
	for _, endpoint := range step.Endpoints {
		d.Wake(endpoint)
	}
	return step, err
}
