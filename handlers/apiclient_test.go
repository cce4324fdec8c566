package handlers_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// An apiCall is a request to the API as a test describes it.
type apiCall struct {
	method, path string
	key          string // the account's test key where empty; "none" sends none
	body         any    // a string is sent as it is, anything else as JSON
	header       string // a further one, "Name: value"
}

// anonymous is the key of requests without one.
const anonymous = "none"

// An answer is a response of the API.
type answer struct {
	t testing.TB
	*httptest.ResponseRecorder
}

// get sends GET to a path below /v1 with the test key.
func (b *bench) get(path string) answer {
	b.Helper()
	return b.call(apiCall{method: http.MethodGet, path: path})
}

// post sends a body to a path below /v1 with the test key.
func (b *bench) post(path string, body any) answer {
	b.Helper()
	return b.call(apiCall{method: http.MethodPost, path: path, body: body})
}

// call sends a request to the API.
func (b *bench) call(c apiCall) answer {
	b.Helper()
	r := b.request(c)
	w := b.serve(r)
	b.checkResponse(r, w)
	return answer{b.TB, w}
}

// request makes the request of a call.
func (b *bench) request(c apiCall) *http.Request {
	b.Helper()
	text, isText := c.body.(string)
	if !isText && c.body != nil {
		raw, err := json.Marshal(c.body)
		b.ok(err)
		text = string(raw)
	}
	r := httptest.NewRequestWithContext(b.Context(), c.method, "/v1"+c.path, strings.NewReader(text))
	if c.body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	switch c.key {
	case "":
		r.Header.Set("Authorization", "Bearer "+b.account.TestKey)
	case anonymous:
	default:
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if name, value, ok := strings.Cut(c.header, ": "); ok {
		r.Header.Set(name, value)
	}
	return r
}

// status ends the test unless the answer has the status.
func (a answer) status(want int) answer {
	a.t.Helper()
	if a.Code != want {
		a.t.Fatalf("status %d, want %d: %s", a.Code, want, a.Body)
	}
	return a
}

// object is the answer's body.
func (a answer) object() map[string]any {
	a.t.Helper()
	var out map[string]any
	if err := json.Unmarshal(a.Body.Bytes(), &out); err != nil {
		a.t.Fatalf("body isn't a JSON object: %v: %s", err, a.Body)
	}
	return out
}

// refused checks that the answer is an error with that status, code and first
// offending field ("" for none).
func (a answer) refused(status int, code, field string) answer {
	a.t.Helper()
	var body struct {
		Error struct {
			Code, Message string
			Details       struct {
				Field  string
				Errors []struct{ Field, Message string }
			}
		}
	}
	if err := json.Unmarshal(a.Body.Bytes(), &body); err != nil {
		a.t.Fatalf("body isn't JSON: %v: %s", err, a.Body)
	}
	got := body.Error
	if a.Code != status || got.Code != code || got.Details.Field != field || got.Message == "" {
		a.t.Errorf("answer %d %s, want %d %s with field %q", a.Code, a.Body, status, code, field)
	}
	if field != "" && (len(got.Details.Errors) == 0 || got.Details.Errors[0].Field != field || got.Details.Errors[0].Message == "") {
		a.t.Errorf("details.errors doesn't start with %s: %s", field, a.Body)
	}
	return a
}
