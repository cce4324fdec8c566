package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// A typicalMistake is one that programs make in their first hour. Its headers
// replace the valid key's.
type typicalMistake struct {
	name, request, body string
	headers             map[string]string
}

// random are the parts of requests that differ from run to run.
var random = regexp.MustCompile(`(sess_01m8|candor_test_)\w+`)

// TestTypicalMistakes compares the answers to typical mistakes with the ones that
// were read and found helpful (testdata/mistakes.md).
func TestTypicalMistakes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var got bytes.Buffer
	got.WriteString(
		"# What the API answers to typical mistakes\n\nWritten by `go test ./handlers/api -run TestTypicalMistakes -update`; read each answer aloud before you commit it.\n")
	mistakes := typicalMistakes(h)
	for _, m := range mistakes {
		answer := m.send(h)
		fmt.Fprintf(&got, "\n## %s\n`%s`", m.name, random.ReplaceAllString(m.request, "${1}…"))
		if m.body != "" {
			fmt.Fprintf(&got, " `%s`", strings.NewReplacer("\n", "↵", "\x00", "␀", "\ufeff",
				"(BOM)").Replace(strings.ToValidUTF8(m.body, "�")))
		}
		fmt.Fprintf(&got, "\n: %d", answer.Code)
		if answer.Code >= http.StatusBadRequest {
			said := answer.Object()["error"].(map[string]any)
			fmt.Fprintf(&got, " `%s` %s", said["code"], said["message"])
			if ignored, err := json.Marshal(said["ignored"]); said["ignored"] != nil {
				h.OK(err)
				fmt.Fprintf(&got, "\n: error.ignored: %s", ignored)
			}
		}
		for _, name := range []string{"Candor-Ignored", "Allow", "Access-Control-Allow-Headers"} {
			if value := answer.Header().Get(name); value != "" {
				fmt.Fprintf(&got, "\n: %s: %s", name, value)
			}
		}
		got.WriteString("\n")
	}
	if len(mistakes) < 60 {
		t.Errorf("there are %d mistakes, want 60", len(mistakes))
	}
	testkit.Golden(t, "testdata/mistakes.md", got.Bytes())
}

func (m typicalMistake) send(h *harness.Harness) harness.Answer {
	method, address, _ := strings.Cut(m.request, " ")
	r := httptest.NewRequestWithContext(h.Context(), method, address, strings.NewReader(m.body))
	r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
	if m.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, value := range m.headers {
		r.Header.Del(name)
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	w := h.Serve(r)
	if method != http.MethodOptions && strings.HasPrefix(address, "/v1/") {
		h.CheckContract(r, w)
	}
	return harness.AnswerOf(h.TB, w)
}

func typicalMistakes(h *harness.Harness) []typicalMistake {
	key := func(value string) map[string]string { return map[string]string{"Authorization": value} }
	_, elsewhere := domain.NewAPIKey(h.TestScope(), "of another server", harness.StartTime)
	live := h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.LiveKey, Body: harness.ValidBody}).
		WantStatus(http.StatusCreated).Object()["id"].(string)
	open := newSessionID(h, harness.ValidBody)
	cancelled := newSessionID(h, harness.ValidBody)
	h.Do(harness.Call{Method: http.MethodDelete, Path: "/sessions/" + cancelled}).WantStatus(http.StatusOK)
	strictly := map[string]string{"Candor-Strict": "1"}
	const list, create = "GET /v1/sessions", "POST /v1/sessions"
	page := map[string]string{"Origin": "https://lender.example", "Sec-Fetch-Site": "cross-site"}
	mistakes := []typicalMistake{
		{"No key", list, "", key("")},
		{"The key in X-Api-Key", list, "", map[string]string{"Authorization": "", "X-Api-Key": h.Account.TestKey}},
		{"The key in the address", list + "?api_key=" + h.Account.TestKey, "", key("")},
		{"The key without Bearer", list, "", key(h.Account.TestKey)},
		{"The key as a user, curl -u", list, "", key("Basic Y2FuZG9yX3Rlc3RfOg==")},
		{"An empty variable", list, "", key("Bearer ")},
		{"Two spaces", list, "", key("Bearer  " + h.Account.TestKey)},
		{"A key that is cut off", list, "", key("Bearer " + h.Account.TestKey[:40])},
		{"A mistyped key", list, "", key("Bearer " + h.Account.TestKey[:49] + "!")},
		{"A key of another server", list, "", key("Bearer " + elsewhere)},
		{"A key of another service", list, "", key("Bearer sk_test_51HqJ8")},
		{"A key of another service, with words", list, "", key("Bearer github_pat_11ABC_xyz")},
		{"A webhook secret", list, "", key("Bearer " + h.Account.TestWebhookSecret)},
		{"A key in quotes", list, "", key(`Bearer "` + h.Account.TestKey + `"`)},
		{"A placeholder", list, "", key("Bearer <API_KEY>")},
		{"A placeholder of words", list, "", key("Bearer candor_test_YOUR_KEY")},
		{"A placeholder of one letter", list, "", key("Bearer candor_test_xxxxxxxx")},
		{"A variable that the shell left", list, "", key("Bearer $CANDOR_KEY")},

		{"From a page in a browser", list, "", page},
		{"The browser asks before it sends", "OPTIONS /v1/sessions", "", map[string]string{"Authorization": "",
			"Origin": "https://lender.example", "Sec-Fetch-Site": "cross-site", "Access-Control-Request-Method": "POST"}},

		{"Without /v1", "GET /sessions", "", nil},
		{"Another version", "GET /v2/sessions", "", nil},
		{"Below /api", "POST /api/v1/sessions", harness.ValidBody, nil},
		{"A slash at the end", "POST /v1/sessions/", harness.ValidBody, nil},
		{"Two slashes", "GET /v1//sessions", "", nil},
		{"The singular", "GET /v1/session/" + unknownSession, "", nil},
		{"In capitals", "GET /v1/Sessions", "", nil},
		{"An address that other APIs have", "GET /v1/customers", "", nil},
		{"A file ending", "GET /v1/sessions/" + unknownSession + "/pdf.pdf", "", nil},
		{"PUT instead of POST", "PUT /v1/sessions", harness.ValidBody, nil},
		{"PATCH of a session", "PATCH /v1/sessions/" + unknownSession, "{}", nil},
		{"GET to write", "GET /v1/test/events", "", nil},
		{"POST to read", "POST /v1/billing/usage", "{}", nil},

		{"An id that isn't there", "GET /v1/sessions/" + unknownSession, "", nil},
		{"A live session with a test key", "GET /v1/sessions/" + live, "", nil},
		{"A delivery that isn't there", "POST /v1/test/deliveries/whd_01h455vb4pex5vsknk084sn02q/attempt", "{}", nil},
		{"A live key in test mode", "POST /v1/test/events", `{"type": "billing.invoice_paid"}`, key("Bearer " + h.Account.LiveKey)},
		{"An event's id", "GET /v1/sessions/evt_01h455vb4pex5vsknk084sn02q", "", nil},
		{"An id that is cut off", "GET /v1/sessions/sess_01h455vb4pex5vsk", "", nil},
		{"An id in capitals", "GET /v1/sessions/SESS_01H455VB4PEX5VSKNK084SN02Q", "", nil},
		{"A variable without a value", "GET /v1/sessions/undefined/data", "", nil},
		{"The pattern itself", "GET /v1/sessions/:id", "", nil},
		{"Events of a document", "GET /v1/events?session_id=doc_01h455vb4pex5vsknk084sn02q", "", nil},

		{"No body", create, " ", nil},
		{"No Content-Type", create, harness.ValidBody, map[string]string{"Content-Type": ""}},
		{"A form's Content-Type", create, "form_type=financial_statement",
			map[string]string{"Content-Type": "application/x-www-form-urlencoded"}},
		{"A form as JSON", create, "form_type=financial_statement&customer_email=jo@customer.example", nil},
		{"A byte order mark", create, "\ufeff" + harness.ValidBody, nil},
		{"UTF-16", create, "\xff\xfe{\x00}\x00", nil},
		{"Latin-1", create, "{\"customer_name\": \"Zo\xeb\"}", nil},
		{"Single quotes", create, "{'form_type': 'financial_statement'}", nil},
		{"Curly quotes", create, "{“form_type”: “financial_statement”}", nil},
		{"Names without quotes", create, "{form_type: \"financial_statement\"}", nil},
		{"A comma at the end", create, "{\n  \"form_type\": \"financial_statement\",\n}", nil},
		{"A member twice", create,
			`{"form_type": "financial_statement", "customer_email": "a@customer.example", "customer_\u0065mail": "b@customer.example"}`,
			nil},
		{"A member twice within another", create,
			`{"form_type": "financial_statement", "customer_email": "a@customer.example", "prefill": {"income": {"salary_wages": 1, "salary_wages": 2}}}`, nil},
		{"A comma missing", create, "{\n  \"form_type\": \"financial_statement\"\n  \"customer_email\": \"jo@customer.example\"\n}",
			nil},
		{"Cut off", create, `{"form_type": "financial_sta`, nil},
		{"A comment", create, "{\n  // the form\n  \"form_type\": \"financial_statement\"\n}", nil},
		{"Python's words", create, `{"form_type": None}`, nil},
		{"A line break within text", create, "{\"customer_name\": \"Jo\nCitizen\"}", nil},
		{"Two objects", create, `{"form_type": "financial_statement"} {}`, nil},
		{"A list", create, "[" + harness.ValidBody + "]", nil},
		{"Encoded twice", create, `"{\"form_type\": \"financial_statement\"}"`, nil},

		{"Names in camelCase", create, `{"formType": "financial_statement", "customerEmail": "jo@customer.example"}`, nil},
		{"Names of other APIs", create, `{"form_type": "financial_statement", "email": "jo@customer.example", "name": "Jo"}`, nil},
		{"A field that isn't there", create, with(`"expires_in": 7, "colour": "red"`), nil},
		{"Fields in the query and in the body", create + "?expand=customer", with(`"colour": "red"`), nil},
		{"Another form", create, `{"form_type": "loan_application", "customer_email": "jo@customer.example"}`, nil},
		{"No email address", create, `{"form_type": "financial_statement", "customer_email": "jo at customer.example"}`, nil},
		{"A number as text", create, with(`"expires_in_days": "30"`), nil},
		{"Too many days", create, with(`"expires_in_days": 365`), nil},
		{"A number as a reference", create, with(`"reference_id": 4711`), nil},
		{"A list as metadata", create, with(`"metadata": ["a"]`), nil},
		{"Metadata within metadata", create, with(`"metadata": {"loan": {"id": 1}}`), nil},
		{"A webhook by http", create, with(`"webhook_url": "http://lender.example/hook"`), nil},
		{"A webhook by email", create, with(`"webhook_url": "mailto:ops@lender.example"`), nil},
		{"A webhook without a scheme", create, with(`"webhook_url": "lender.example/hook"`), nil},

		{"Pages counted from 0", "GET /v1/sessions?page=0", "", nil},
		{"A page that is too long", "GET /v1/sessions?per_page=500", "", nil},
		{"A parameter of other APIs", "GET /v1/sessions?limit=50&email=jo@customer.example", "", nil},
		{"A state that isn't one", "GET /v1/sessions?status=open", "", nil},
		{"A day instead of a time", "GET /v1/sessions?created_after=2026-11-01", "", nil},
		{"A + that wasn't encoded", "GET /v1/sessions?created_after=2026-11-01T00:00:00+11:00", "", nil},
		{"Half a range", "GET /v1/billing/usage?start_date=2026-11-01", "", nil},

		{"A key as the documentation abbreviates it", list, "", key("Bearer candor_test_…")},
		{"A key with dots", list, "", key("Bearer candor_test_...")},
		{"Another charset", create, harness.ValidBody, map[string]string{"Content-Type": "application/json; charset=iso-8859-1"}},
		{"Cancelling as other APIs do", "POST /v1/sessions/" + unknownSession + "/cancel", "{}", nil},
		{"A host and a port alone", create, with(`"return_url": "localhost:3000/back"`), nil},
		{"Swapped times", "GET /v1/sessions?created_after=2026-11-20T00:00:00Z&created_before=2026-11-19T00:00:00Z", "", nil},
		{"Swapped dates", "GET /v1/billing/usage?start_date=2026-11-20&end_date=2026-11-19", "", nil},
		{"Events after the last one", "GET /v1/events?after=1000", "", nil},
		{"The data too early", "GET /v1/sessions/" + open + "/data", "", nil},
		{"The PDF of a cancelled session", "GET /v1/sessions/" + cancelled + "/pdf", "", nil},
		{"A strict request with fields that aren’t there", create, with(`"customerName": "Jo", "colour": "red", "Jo Citizen": 1`),
			strictly},
		{"A strict request with parameters that aren’t there", list + "?limit=5&state=open&Jo%20Citizen", "", strictly},
		{"Strict in other words", list, "", map[string]string{"Candor-Strict": "yes"}},
	}
	return mistakes
}
