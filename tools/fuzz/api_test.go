package fuzz

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// An apiCall is a request that was made of the document, perhaps changed.
type apiCall struct {
	method, path string // of the document
	target, body string
	header       http.Header
	odd          bool // it has a value that wasn't made of the document
}

func (c *apiCall) String() string {
	return fmt.Sprintf("%s %.300s %v %.600q", c.method, c.target, c.header, c.body)
}

// callAPI makes a request of the document, odd in some way as often as not, and
// holds the answer to the document.
func (f *fuzzer) callAPI() {
	path := pick(f.rng, sorted(f.doc.Paths.Map()))
	item := f.doc.Paths.Value(path)
	method := pick(f.rng, sorted(item.Operations()))
	operation := item.GetOperation(method)
	c := &apiCall{method: method, path: path, target: "/v1" + path,
		header: http.Header{"Authorization": {"Bearer " + f.Account.TestKey}}}
	f.fillParameters(c, operation)
	f.fillBody(c, operation)
	f.oddHeaders(c)
	answer, invalid := f.send(c, item, operation)
	if answer == nil {
		return
	}
	switch {
	case answer.Code >= http.StatusInternalServerError:
		f.differs(c.String(), "status %d: %s", answer.Code, answer.Body)
	case invalid == nil && !c.odd && refused(answer):
		f.differs(c.String(), "the document allows it, the answer is %d: %s", answer.Code, answer.Body)
	case invalid != nil && answer.Code < http.StatusBadRequest && answer.Code != http.StatusNotModified:
		f.differs(c.String(), "the document doesn't allow it (%.300s), the answer is %d", invalid, answer.Code)
	}
	if answer.Code == http.StatusCreated {
		f.checkCreated(c, answer)
	}
}

// refused reports whether the answer says that the request is wrong by itself.
func refused(answer *httptest.ResponseRecorder) bool {
	wrong := answer.Code == http.StatusBadRequest || answer.Code == http.StatusUnprocessableEntity
	return wrong && !stateCodes[codeOf(answer)] && !betweenFields.Match(answer.Body.Bytes())
}

// betweenFields finds rules between fields and about what is stored, which a document
// can't say: what is given for the simulator is of the sections that it completes, and is
// complete; the feed isn't read from after its last event; a section is asked for once; the
// session in prefill_from is of that customer, and over, and excludes prefill; endpoints are
// limited in number; times are in their order; no reminder may follow; and each character of an
// answer is one that the PDF's typefaces have (D80).
var betweenFields = regexp.MustCompile(`is a section after|\d+: (enter|select) |above the number of the last event|` +
	`asked for before|"field":"prefill_from"|with prefill_from|which is the most|are the two swapped|can’t be reminder|` +
	`a character we can’t print`)

// stateCodes are errors of 400 and 422 about what is stored, not about the request.
var stateCodes = map[domain.Code]bool{domain.CodeSessionNotCompleted: true, domain.CodeIdempotencyKeyReused: true,
	domain.CodeInvalidDateRange: true}

func codeOf(answer *httptest.ResponseRecorder) domain.Code {
	var body struct{ Error struct{ Code domain.Code } }
	_ = json.Unmarshal(answer.Body.Bytes(), &body) // no code if it isn't JSON
	return body.Error.Code
}

func (f *fuzzer) fillParameters(c *apiCall, operation *openapi3.Operation) {
	query := url.Values{}
	for _, p := range operation.Parameters {
		value := strings.Trim(fmt.Sprint(f.value(p.Value.Schema.Value, p.Value.Name)), `"`)
		odd := chance(f.rng, 8)
		if odd {
			c.odd, value = true, pick(f.rng, oddTexts)
		}
		switch p.Value.In {
		case "path":
			if odd && strings.Trim(value, "./ ") == "" {
				value = "x"
			}
			c.target = strings.Replace(c.target, "{"+p.Value.Name+"}", url.PathEscape(value), 1)
		case "query":
			if chance(f.rng, 40) {
				query.Add(p.Value.Name, value)
			}
		case "header":
			if chance(f.rng, 40) && printable.MatchString(value) {
				c.header.Set(p.Value.Name, value)
			}
		}
	}
	if chance(f.rng, 5) {
		c.odd = true
		query.Add(pick(f.rng, []string{"colour", "x", "callback"}), pick(f.rng, oddTexts))
	}
	if len(query) > 0 {
		c.target += "?" + query.Encode()
	}
}

var printable = regexp.MustCompile(`^[ -~]*$`)

func (f *fuzzer) fillBody(c *apiCall, operation *openapi3.Operation) {
	if operation.RequestBody == nil {
		return
	}
	c.header.Set("Content-Type", "application/json")
	body := f.value(operation.RequestBody.Value.Content.Get("application/json").Schema.Value, "")
	for chance(f.rng, 40) {
		c.odd, body = true, f.mutated(body)
	}
	text, err := json.Marshal(body)
	f.OK(err)
	c.body = string(text)
	if chance(f.rng, 8) {
		c.odd, c.body = true, f.broken(c.body)
	}
	if chance(f.rng, 20) {
		c.header.Set("Idempotency-Key", pick(f.rng, []string{"a", "b", "c", strings.Repeat("k", 255)}))
	}
}

func (f *fuzzer) oddHeaders(c *apiCall) {
	if chance(f.rng, 10) {
		c.odd = true
		c.header.Set("Authorization", pick(f.rng, append([]string{
			"Bearer " + f.Account.LiveKey, "Bearer " + f.restricted, "Bearer " + f.Account.TestKey + "x", "Basic eDp5", "Bearer",
			"bearer " + f.Account.TestKey, "",
		}, "Bearer \xff")))
	}
	for name, values := range map[string][]string{
		"Accept-Encoding": {"gzip", "gzip;q=0", "*", "br"}, "If-None-Match": {"*", `W/"x"`, `"`, strings.Repeat(`"x",`, 500)},
		"Range": {"bytes=0-1", "bytes=5-", "bytes=-1", "bytes=9999999-", "bytes=0-0,2-3", "x"}, "Content-Encoding": {"gzip"},
		"Origin": {"https://x.example"}, "X-Forwarded-For": {"1.2.3.4, \x7f"}, "Accept": {"text/html"},
	} {
		if chance(f.rng, 3) {
			c.odd = true
			c.header.Set(name, pick(f.rng, values))
		}
	}
}

// matching is a text of the pattern: mostly an id that is there.
func (f *fuzzer) matching(pattern, name string) string {
	for _, one := range []string{"0412 345 678", "2204"} {
		if regexp.MustCompile(pattern).MatchString(one) {
			return one
		}
	}
	for _, prefix := range []string{"sess", "doc", "evt", "whd"} {
		if strings.HasPrefix(pattern, "^"+prefix+"_") {
			if known := f.ids[prefix]; len(known) > 0 && chance(f.rng, 85) {
				return pick(f.rng, known)
			}
			return prefix + "_01h455vb4pex5vsknk084sn02q"
		}
	}
	return name
}

// send sends a call and holds the answer to the document. The error says how the
// request differs from the document.
func (f *fuzzer) send(c *apiCall, item *openapi3.PathItem, operation *openapi3.Operation) (answer *httptest.ResponseRecorder,
	invalid error) {
	r := httptest.NewRequestWithContext(f.Context(), c.method, "/", strings.NewReader(c.body))
	address, err := url.Parse(harness.BaseURL + c.target)
	if err != nil {
		return nil, nil //nolint:nilerr // no client can send it
	}
	r.URL, r.RequestURI, r.Header = address, c.target, c.header
	f.requests++
	answer = f.Serve(r)
	f.decompress(c, answer)
	_, _, found := harness.FindOperation(f.doc, r)
	if found == operation {
		if err := harness.Mismatch(f.doc, c.path, item, operation, r, answer); err != nil {
			f.differs(c.String(), "the answer isn't as documented: %v\n%s", err, answer.Body)
		}
	}
	names := regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(c.path, -1)
	parameters, segments := map[string]string{}, strings.Split(address.Path, "/")
	for i, part := range strings.Split("/v1"+c.path, "/") {
		for _, name := range names {
			if part == name[0] && i < len(segments) {
				parameters[name[1]] = segments[i]
			}
		}
	}
	checked := r.Clone(f.Context())
	checked.Body = http.NoBody
	if c.body != "" {
		checked.Body = httptest.NewRequest(http.MethodPost, "/", strings.NewReader(c.body)).Body
	}
	invalid = openapi3filter.ValidateRequest(f.Context(), &openapi3filter.RequestValidationInput{
		Request: checked, PathParams: parameters, QueryParams: address.Query(),
		Route:   &routers.Route{Spec: f.doc, Path: c.path, PathItem: item, Method: c.method, Operation: operation},
		Options: &openapi3filter.Options{AuthenticationFunc: openapi3filter.NoopAuthenticationFunc},
	})
	return answer, invalid
}

// decompress replaces an answer's body, if it was sent compressed, by what it says.
func (f *fuzzer) decompress(c *apiCall, answer *httptest.ResponseRecorder) {
	if answer.Header().Get("Content-Encoding") != "gzip" || answer.Body.Len() == 0 {
		return
	}
	var body bytes.Buffer
	unpacked, err := gzip.NewReader(answer.Body)
	if err == nil {
		_, err = io.Copy(&body, unpacked)
	}
	if err != nil {
		f.differs(c.String(), "the answer isn't gzip: %v", err)
	}
	answer.Body = &body
	answer.Header().Del("Content-Encoding")
}

// checkCreated reads what a call created, and finds what was answered.
func (f *fuzzer) checkCreated(c *apiCall, answer *httptest.ResponseRecorder) {
	var created, read map[string]any
	decoder := json.NewDecoder(bytes.NewReader(answer.Body.Bytes()))
	decoder.UseNumber() // metadata can have larger numbers than Go
	f.OK(decoder.Decode(&created))
	id, _ := created["id"].(string)
	if !strings.HasPrefix(id, "sess_") {
		return
	}
	r := httptest.NewRequestWithContext(f.Context(), http.MethodGet, "/v1/sessions/"+id, nil)
	r.Header.Set("Authorization", c.header.Get("Authorization"))
	got := f.Serve(r)
	if got.Code == http.StatusForbidden {
		return // a key that can only create
	}
	decoder = json.NewDecoder(bytes.NewReader(got.Body.Bytes()))
	decoder.UseNumber()
	if err := decoder.Decode(&read); err != nil {
		f.differs(c.String(), "what it created can't be read: %d %s", got.Code, got.Body)
		return
	}
	if created["livemode"] == false && len(f.ids["sess"]) < 500 {
		f.ids["sess"] = append(f.ids["sess"], id)
	}
	for _, name := range []string{"customer_email", "customer_name", "reference_id", "webhook_url", "expires_at", "created_at",
		"form_type"} {
		if created[name] != read[name] {
			f.differs(c.String(), "%s was %v when created and is %v when read", name, created[name], read[name])
		}
	}
}
