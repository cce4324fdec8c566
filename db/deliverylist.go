package db

import (
	"context"
	"fmt"
	"strings"

	"candor/intake"
)

// ListedDelivery is a delivery with the origin of its endpoint.
type ListedDelivery struct {
	intake.Delivery
	Origin string `db:"origin"`
}

// DeliveryPage returns up to limit of the scope's deliveries that match the
// filter, newest first: from the newest, or those that follow after. Every
// filter is led by an index, and a page further on costs no more than the
// first. ErrNotFound says that after isn't one of the scope.
func (d *DB) DeliveryPage(ctx context.Context, scope intake.Scope, f intake.DeliveryFilter, after *intake.DeliveryID, limit int) ([]ListedDelivery, error) {
	c := deliveryConditions(scope, f)
	if after != nil {
		last, err := d.Delivery(ctx, scope, *after)
		if err != nil {
			return nil, err
		}
		c.clauses = append(c.clauses, fmt.Sprintf("(created_at, id) < (%s, %s)", c.arg(last.CreatedAt), c.arg(last.ID)))
	}
	const order = " ORDER BY created_at DESC, id DESC LIMIT "
	size := c.arg(limit)
	var parts []string
	for _, clause := range deliveryParts(f) {
		parts = append(parts, "(SELECT * FROM delivery WHERE "+c.where(clause)+order+size+")")
	}
	if len(parts) == 0 {
		return nil, nil
	}
	var out []ListedDelivery
	err := d.SelectContext(ctx, &out, `
		SELECT `+qualified("p", deliveryColumns)+`, e.origin
		FROM (SELECT * FROM (`+strings.Join(parts, " UNION ALL ")+`) u`+order+size+`) p JOIN webhook_endpoint e ON e.id = p.endpoint_id
		ORDER BY p.created_at DESC, p.id DESC`, c.args...)
	return out, wrap(err, "list deliveries")
}

// deliveryConditions are what the filter says but for the state.
func deliveryConditions(scope intake.Scope, f intake.DeliveryFilter) *conditions {
	c := &conditions{}
	c.add("account_id = %s", scope.AccountID)
	c.add("livemode = %s", scope.Livemode)
	if f.Endpoint != nil {
		c.add("endpoint_id = %s", *f.Endpoint)
	}
	if f.Type != "" {
		c.add("type = %s", f.Type)
	}
	if f.Session != nil {
		c.add("event_id IN (SELECT id FROM event WHERE session_id = %s)", *f.Session)
	}
	if f.Since != nil {
		c.add("created_at >= %s", *f.Since)
	}
	if f.Until != nil {
		c.add("created_at < %s", *f.Until)
	}
	if class, ok := strings.CutSuffix(f.Status, "xx"); ok {
		c.add("last_status_code / 100 = %s::int", class)
	} else if f.Status != "" {
		c.add("last_error_class = %s", f.Status)
	}
	return c
}

// deliveryParts are the conditions on state or type that together make up a
// list, each of which is read in the order of an index: the one over what
// isn't delivered is by state, the one over all is by type. An attempt that
// failed is never the last of what is delivered.
func deliveryParts(f intake.DeliveryFilter) []string {
	state := func(s intake.DeliveryState) string { return fmt.Sprintf("state = '%s'", s) }
	failing := f.Status != "" && f.Status != "2xx"
	switch {
	case f.State == intake.DeliveryDelivered && failing:
		return nil
	case f.State == intake.DeliveryDelivered && f.Type == "" && f.Endpoint == nil && f.Session == nil:
		return typeParts(state(f.State))
	case f.State != "":
		return []string{state(f.State)}
	case failing:
		return []string{state(intake.DeliveryPending), state(intake.DeliveryFailed), state(intake.DeliveryCancelled)}
	case f.Type == "" && f.Endpoint == nil && f.Session == nil:
		return typeParts("true")
	}
	return []string{"true"}
}

func typeParts(clause string) []string {
	var parts []string
	for _, t := range intake.EventTypes {
		parts = append(parts, fmt.Sprintf("type = '%s' AND %s", t, clause))
	}
	return parts
}

// qualified puts a table's name before each of the columns.
func qualified(table, columns string) string {
	names := strings.Split(columns, ",")
	for i, name := range names {
		names[i] = table + "." + strings.TrimSpace(name)
	}
	return strings.Join(names, ", ")
}

// Delivery returns one of the scope's deliveries, or ErrNotFound.
func (d *DB) Delivery(ctx context.Context, scope intake.Scope, id intake.DeliveryID) (*ListedDelivery, error) {
	var out ListedDelivery
	err := d.GetContext(ctx, &out, `
		SELECT `+qualified("d", deliveryColumns)+`, e.origin FROM delivery d JOIN webhook_endpoint e ON e.id = d.endpoint_id
		WHERE d.id = $1 AND d.account_id = $2 AND d.livemode = $3`, id, scope.AccountID, scope.Livemode)
	return &out, wrap(err, "get delivery")
}

// DeliveredEvent returns the event of a delivery, or ErrNotFound.
func (d *DB) DeliveredEvent(ctx context.Context, delivery *intake.Delivery) (*intake.Event, error) {
	var e intake.Event
	err := d.GetContext(ctx, &e, `SELECT `+eventColumns+` FROM event WHERE id = $1`, delivery.EventID)
	return &e, wrap(err, "get event of delivery")
}

// EndpointAt returns the scope's endpoint of that origin, or ErrNotFound.
func (d *DB) EndpointAt(ctx context.Context, scope intake.Scope, origin string) (*intake.Endpoint, error) {
	var e intake.Endpoint
	err := d.GetContext(ctx, &e, `SELECT `+endpointColumns+` FROM webhook_endpoint WHERE account_id = $1 AND livemode = $2 AND origin = $3`,
		scope.AccountID, scope.Livemode, origin)
	return &e, wrap(err, "get webhook endpoint by origin")
}
