package handlers

import (
	"fmt"
	"reflect"
	"slices"

	"candor/internal/domain"
	"candor/internal/form"
)

// webhookDocs are the events that partners receive.
var webhookDocs = []struct {
	event   domain.EventType
	payload reflect.Type
	summary string
	billing bool
}{
	{domain.SessionAccessed, reflect.TypeFor[domain.AccessedPayload](), "The customer opened the link for the first time", false},
	{domain.SessionSectionCompleted, reflect.TypeFor[domain.SectionCompletedPayload](), "The customer completed a section", false},
	{domain.SessionCompleted, reflect.TypeFor[domain.CompletedPayload](), "The customer submitted the form", false},
	{domain.SessionPDFReady, reflect.TypeFor[domain.PDFReadyPayload](), "The PDF is there", false},
	{domain.SessionExpired, reflect.TypeFor[domain.ExpiredPayload](), "The session expired without completion", false},
	{domain.BillingInvoicePaid, reflect.TypeFor[domain.InvoicePaidPayload](), "An invoice was paid", true},
	{domain.BillingInvoicePaymentFailed, reflect.TypeFor[domain.InvoicePaymentFailedPayload](), "A payment failed", true},
	{domain.BillingSubscriptionCancelled, reflect.TypeFor[domain.SubscriptionCancelledPayload](), "The subscription was cancelled", true},
}

// webhooks describes the events as the receiver sees them.
func (c schemas) webhooks() (map[string]map[string]openAPIO, error) {
	out := map[string]map[string]openAPIO{}
	for _, w := range webhookDocs {
		body, err := c.json(string(w.event), c.envelope(w.event, w.payload, w.billing))
		if err != nil {
			return nil, err
		}
		out[string(w.event)] = map[string]openAPIO{"post": {
			ID: string(w.event), Tags: []string{"Webhooks"}, Summary: w.summary,
			Description: fmt.Sprintf("`%s`: sent to the webhook URL. Check X-Webhook-Signature over the raw body, answer 2xx within 15 seconds, and drop a X-Webhook-ID you have had before.", w.event),
			Security:    []map[string][]string{{}},
			Parameters:  webhookHeaders(),
			RequestBody: &openAPIBody{Required: true, Content: body},
			Responses:   map[string]openAPIResponse{"2XX": {Description: "Received. Anything else is tried again, up to 7 attempts in all."}},
		}}
	}
	return out, nil
}

// envelope describes the body of one event.
func (c schemas) envelope(event domain.EventType, payload reflect.Type, billing bool) *form.Schema {
	out := c.object(reflect.TypeFor[domain.Envelope]())
	out.Properties["event"] = &form.Schema{Type: "string", Const: string(event), Description: out.Properties["event"].Description}
	data := c.of(payload)
	data.Description = out.Properties["data"].Description
	out.Properties["data"] = data
	if billing {
		delete(out.Properties, "session_id")
		return out
	}
	out.Required = append(out.Required, "session_id")
	slices.Sort(out.Required)
	return out
}

func webhookHeaders() []openAPIParameter {
	text, number := &form.Schema{Type: "string"}, &form.Schema{Type: "integer"}
	header := func(name, description string, required bool, schema *form.Schema) openAPIParameter {
		return openAPIParameter{Name: name, In: "header", Description: description, Required: required, Schema: schema}
	}
	return []openAPIParameter{
		header("X-Webhook-Signature", "HMAC-SHA256 of the raw body under your webhook secret, in hex.", true, text),
		header("X-Webhook-ID", "The delivery's id, the same at every attempt.", true, text),
		header("X-Webhook-Timestamp", "Unix second of this attempt.", true, number),
		header("X-Webhook-Retry-Count", "On retries only: which one, 1 to 6.", false, number),
		header("X-Webhook-Original-Timestamp", "On retries only: Unix second of the first attempt.", false, number),
		header("webhook-id", "Standard Webhooks: the delivery's id.", true, text),
		header("webhook-timestamp", "Standard Webhooks: Unix second of this attempt.", true, number),
		header("webhook-signature", "Standard Webhooks: a signature of each of your secrets.", true, text),
	}
}
