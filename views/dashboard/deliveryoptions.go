package dashboard

import (
	"strings"

	"candor/internal/domain"
)

// A result is what the last attempt at a delivery came to.
type result struct{ value, word string }

var (
	answered = []result{
		{"2xx", "2xx, arrived"}, {"3xx", "3xx, a redirect"}, {"4xx", "4xx"}, {"5xx", "5xx"}, {"status", "Any but 2xx"},
	}
	noAnswers = []result{
		{"timeout", "Timed out"}, {"connect", "No connection"}, {"tls", "TLS failed"}, {"dns", "Host not found"},
		{"refused_target", "Address refused"}, {"protocol", "Unreadable answer"},
	}
)

// resultWord is a result as people read it.
func resultWord(value string) string {
	for _, list := range [][]result{answered, noAnswers} {
		for _, r := range list {
			if r.value == value {
				return r.word
			}
		}
	}
	return value
}

// ResultOptions are what the last attempt can have come to; arrived among them
// if they are asked for.
func ResultOptions(arrived bool) (out []Option) {
	for _, r := range answered {
		if arrived || r.value != "2xx" {
			out = append(out, Option{r.value, r.word, "Answered with"})
		}
	}
	for _, r := range noAnswers {
		out = append(out, Option{r.value, r.word, "Not answered"})
	}
	return out
}

// EventOptions are the types of events.
func EventOptions() (out []Option) {
	for _, t := range domain.EventTypes {
		out = append(out, Option{Value: string(t), Words: string(t)})
	}
	return out
}

// EndpointName is what an endpoint is known by: its description, or its URL without what
// can be a secret, or its host.
func EndpointName(e domain.Endpoint) string {
	switch {
	case e.Description != "":
		return e.Description
	case e.URL != nil:
		bare, _, _ := strings.Cut(*e.URL, "?")
		return host(strings.TrimSuffix(bare, "/"))
	}
	return host(e.Origin)
}

// EndpointOptions are the endpoints, by their origins.
func EndpointOptions(endpoints []domain.Endpoint) (out []Option) {
	for _, e := range endpoints {
		out = append(out, Option{Value: e.ID.String(), Words: optionName(e)})
	}
	return out
}

// optionName is an endpoint's name among others, with its host.
func optionName(e domain.Endpoint) string {
	switch {
	case e.DeletedAt != nil:
		return e.Origin + " (deleted)"
	case e.Description != "":
		return e.Origin + ": " + e.Description
	case e.URL != nil:
		return strings.Replace(EndpointName(e), host(e.Origin), e.Origin, 1)
	}
	return e.Origin
}

// Options of the control of states that are no state: of failing deliveries, and of
// those of them that wait for their next attempt.
const (
	FailingNow = "failing"
	Waiting    = "waiting"
)

// failingOptions are those that are no state.
var failingOptions = []Option{{Value: FailingNow, Words: "Failing now"}, {Value: Waiting, Words: "Waiting for the next attempt"}}

// DeliveryStateOptions are the states of deliveries, and what is failing.
func DeliveryStateOptions() (out []Option) {
	for _, state := range domain.DeliveryStates {
		out = append(out, Option{Value: string(state), Words: upperFirst(string(state))})
	}
	return append(out, failingOptions...)
}
