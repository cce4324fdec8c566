package api

import (
	"fmt"
	"reflect"

	"github.com/labstack/echo/v4"

	"candor/handlers/api/openapi"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/webhook"
)

// webhooks describes the events as the receiver sees them.
func (d description) webhooks() (map[string]map[string]openapi.Operation, error) {
	out := map[string]map[string]openapi.Operation{}
	for _, event := range domain.EventTable {
		body, err := encode(event.Example)
		if err != nil {
			return nil, err
		}
		out[string(event.Type)] = map[string]openapi.Operation{"post": {
			ID: string(event.Type), Tags: []string{"Webhooks"}, Summary: event.Summary,
			Description: fmt.Sprintf(
				"`%s`: sent to the webhook URL. %s %s Answer 2xx within 15 seconds, and drop a `webhook-id` that you have had before.",
				event.Type, event.When, webhook.AboutVerifying),
			Security:   []map[string][]string{{}},
			Parameters: webhookHeaders(),
			RequestBody: &openapi.Body{Required: true, Content: map[string]openapi.Media{
				echo.MIMEApplicationJSON: {Schema: d.envelope(event), Example: body},
			}},
			Responses: map[string]openapi.Response{
				"2XX": {Description: "Received. Anything else is tried again, up to 7 attempts in all."}},
		}}
	}
	return out, nil
}

// envelope describes the body of one type of event.
func (d description) envelope(event domain.EventInfo) *form.Schema {
	return narrowed(d.Object(reflect.TypeFor[domain.Envelope]()), event, d.Of(reflect.TypeOf(event.Example.Data)))
}

func webhookHeaders() []openapi.Parameter {
	text, number := &form.Schema{Type: "string"}, &form.Schema{Type: "integer"}
	header := func(name, description string, required bool, schema *form.Schema) openapi.Parameter {
		return openapi.Parameter{Name: name, In: "header", Description: description, Required: required, Schema: schema}
	}
	return []openapi.Parameter{
		header("X-Webhook-Signature", webhook.AboutSignature, true, text),
		header("X-Webhook-ID", "The delivery’s id, the same at every attempt.", true, text),
		header("X-Webhook-Timestamp", "Unix second of this attempt.", true, number),
		header("X-Webhook-Retry-Count", "On retries only: which one, 1 to 6.", false, number),
		header("X-Webhook-Original-Timestamp", "On retries only: Unix second of the first attempt.", false, number),
		header("webhook-id", "Standard Webhooks: the delivery’s id.", true, text),
		header("webhook-timestamp", "Standard Webhooks: Unix second of this attempt.", true, number),
		header("webhook-signature", webhook.AboutStandardSignature, true, text),
	}
}
