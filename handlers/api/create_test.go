package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// keysOf are an object's members, sorted.
func keysOf(object map[string]any) []string { return slices.Sorted(maps.Keys(object)) }

// createdFields are the members of the create response.
var createdFields = []string{
	"accessed_at", "completed_at", "created_at", "customer_email", "customer_name", "expires_at", "form_type", "id",
	"livemode", "metadata", "reference_id", "return_url", "session_url", "status", "webhook_url",
}

// TestCreateSession checks a response with everything and one with the least.
func TestCreateSession(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	full := h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Key: h.Account.LiveKey, Body: map[string]any{
		"form_type": "financial_statement", "customer_email": "Jo@Customer.example", "customer_name": "  Jo Citizen ",
		"reference_id": "LOAN-1",
		"webhook_url":  "https://hooks.lender.example/candor?a=b", "expires_in_days": 90.0,
		"return_url": "https://my.lender.example/?a=b",
		"metadata":   map[string]any{"branch": "Newtown", "officer": 12, "rate": json.RawMessage("5.250"), "vip": true},
		"id":         "sess_mine", "status": "completed", "unknown": map[string]any{"x": []int{1}},
	}}).WantStatus(http.StatusCreated).Object()
	if got := keysOf(full); !slices.Equal(got, createdFields) {
		t.Errorf("fields %q, want %q", got, createdFields)
	}
	id := full["id"].(string)
	if _, err := domain.ParseSessionID(id); err != nil {
		t.Errorf("id %q: %v", id, err)
	}
	if url := full["session_url"].(string); !strings.HasPrefix(url, harness.BaseURL+"/f/"+id+"/") ||
		len(url) < len(harness.BaseURL+"/f/"+id+"/")+22 {
		t.Errorf("session_url %q", url)
	}
	delete(full, "id")
	delete(full, "session_url")
	want := map[string]any{
		"status": "pending", "form_type": "financial_statement", "customer_email": "Jo@Customer.example", "customer_name": "Jo Citizen",
		"reference_id": "LOAN-1", "webhook_url": "https://hooks.lender.example/candor?a=b",
		"return_url": "https://my.lender.example/?a=b", "created_at": "2026-11-20T03:04:05.678Z",
		"expires_at": "2027-02-18T03:04:05.678Z", "accessed_at": nil, "completed_at": nil, "livemode": true,
		"metadata": map[string]any{"branch": "Newtown", "officer": 12.0, "rate": 5.25, "vip": true},
	}
	if !reflect.DeepEqual(full, want) {
		t.Errorf("created %v,\nwant %v", full, want)
	}

	blank := with(`"customer_name": " ", "reference_id": "\u3000"`) // D121
	least := h.Post("/sessions", blank).WantStatus(http.StatusCreated).Object()
	if least["customer_name"] != nil || least["reference_id"] != nil || least["webhook_url"] != nil || least["livemode"] != false ||
		least["expires_at"] != "2026-12-20T03:04:05.678Z" || len(least["metadata"].(map[string]any)) != 0 {
		t.Errorf("created with the least: %v", least)
	}
}

// with is the valid body with one member more, as JSON.
func with(member string) string {
	return harness.ValidBody[:len(harness.ValidBody)-1] + ", " + member + "}"
}

// TestMetadataIsKeptAsWritten checks that numbers keep their spelling (D8).
func TestMetadataIsKeptAsWritten(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	a := h.Post("/sessions", with(`"metadata": {"n": 12345678901234567890.10, "e": 1E+2, "s": "<&>é\u0000", "": 1}`))
	a.WantError(http.StatusUnprocessableEntity, "validation_error", "metadata")
	a = h.Post("/sessions", with(`"metadata": {"n": 12345678901234567890.10, "e": 1E+2, "s": "<&>é\u0000😀"}`)).
		WantStatus(http.StatusCreated)
	got := h.Get("/sessions/" + a.Object()["id"].(string)).WantStatus(http.StatusOK)
	for _, w := range []harness.Answer{a, got} {
		for _, wanted := range []string{"12345678901234567890.10", "1E+2"} {
			if !strings.Contains(w.Body.String(), wanted) {
				t.Errorf("metadata lost %s: %s", wanted, w.Body)
			}
		}
		if s := w.Object()["metadata"].(map[string]any)["s"]; s != "<&>é\x00😀" {
			t.Errorf("metadata.s is %q", s)
		}
	}
}

// TestUnreadableBody checks what can't be read as asked (D25): 400.
func TestUnreadableBody(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	deep := strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001)
	for name, test := range map[string]struct{ body, field string }{
		"empty":                 {" ", ""},
		"cut off":               {harness.ValidBody[:20], ""},
		"not JSON":              {"form_type=financial_statement", ""},
		"single quotes":         {"{'form_type': 1}", ""},
		"null":                  {"null", ""},
		"array":                 {"[" + harness.ValidBody + "]", ""},
		"string":                {`"x"`, ""},
		"number":                {"1", ""},
		"data after it":         {harness.ValidBody + "x", ""},
		"two objects":           {harness.ValidBody + harness.ValidBody, ""},
		"trailing comma":        {harness.ValidBody[:len(harness.ValidBody)-1] + ",}", ""},
		"not UTF-8":             {with(`"customer_name": "` + "\xff" + `"`), ""},
		"raw NUL":               {with(`"customer_name": "` + "\x00" + `"`), ""},
		"UTF-16":                {"\xfe\xff\x00{\x00}", ""},
		"byte order mark":       {"\ufeff" + harness.ValidBody, ""},
		"nested 10,001 deep":    {deep, ""},
		"member nested so":      {with(`"x": ` + deep), ""},
		"objects nested so":     {strings.Repeat(`{"a":`, 10_001) + "1" + strings.Repeat("}", 10_001), ""},
		"no form_type":          {`{"customer_email": "jo@customer.example"}`, "form_type"},
		"null form_type":        {`{"form_type": null, "customer_email": "jo@customer.example"}`, "form_type"},
		"no customer_email":     {`{"form_type": "financial_statement"}`, "customer_email"},
		"neither":               {`{}`, "form_type"},
		"names in capitals":     {`{"Form_Type": "financial_statement", "CUSTOMER_EMAIL": "jo@customer.example"}`, "form_type"},
		"form_type a number":    {`{"form_type": 5, "customer_email": "jo@customer.example"}`, "form_type"},
		"customer_email number": {`{"form_type": "financial_statement", "customer_email": 5}`, "customer_email"},
		"customer_email array":  {`{"form_type": "financial_statement", "customer_email": ["jo@customer.example"]}`, "customer_email"},
		"customer_name object":  {with(`"customer_name": {}`), "customer_name"},
		"customer_name boolean": {with(`"customer_name": true`), "customer_name"},
		"reference_id number":   {with(`"reference_id": 4711`), "reference_id"},
		"webhook_url number":    {with(`"webhook_url": 1`), "webhook_url"},
		"expires_in_days 1.5":   {with(`"expires_in_days": 1.5`), "expires_in_days"},
		"expires_in_days 30.01": {with(`"expires_in_days": 30.01`), "expires_in_days"},
		"expires_in_days 30.":   {with(`"expires_in_days": 30.`), ""},
		"expires_in_days text":  {with(`"expires_in_days": "30"`), "expires_in_days"},
		"expires_in_days true":  {with(`"expires_in_days": true`), "expires_in_days"},
		"metadata array":        {with(`"metadata": []`), "metadata"},
		"metadata string":       {with(`"metadata": "x"`), "metadata"},
		"metadata number":       {with(`"metadata": 1`), "metadata"},
		"a member twice":        {with(`"customer_name": "Jo", "customer_name": "Al"`), ""},
	} {
		t.Run(name, func(t *testing.T) {
			h.In(t).Post("/sessions", test.body).WantError(http.StatusBadRequest, "invalid_request", test.field)
		})
	}
	if a := h.Post("/sessions", with(`"x": `+deep)); !strings.Contains(a.Body.String(), "nested too deeply") {
		t.Errorf("nested: %s", a.Body)
	}
	a := h.Post("/sessions", `{"form_type": 1, "expires_in_days": "x"}`).WantError(http.StatusBadRequest, "invalid_request",
		"form_type")
	if got := wrongFields(a); !slices.Equal(got, []string{"form_type", "customer_email", "expires_in_days"}) {
		t.Errorf("details.errors names %q", got)
	}
	if total := h.Get("/sessions").Object()["pagination"].(map[string]any)["total"]; total != 0.0 {
		t.Errorf("%v sessions were made", total)
	}
}

// wrongFields are the fields of details.errors.
func wrongFields(a harness.Answer) []string {
	a.TB.Helper()
	var body struct {
		Error struct {
			Details struct{ Errors []struct{ Field string } }
		}
	}
	if err := json.Unmarshal(a.Body.Bytes(), &body); err != nil {
		a.TB.Fatal(err)
	}
	var out []string
	for _, e := range body.Error.Details.Errors {
		out = append(out, e.Field)
	}
	return out
}

// TestInvalidFields checks what is well formed and breaks a rule (D25): 422.
func TestInvalidFields(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	keys := func(n int) string {
		var members []string
		for i := range n {
			members = append(members, `"k`+string(rune('a'+i))+`": 1`)
		}
		return `"metadata": {` + strings.Join(members, ",") + `}`
	}
	long := strings.Repeat("é", 501)
	email := func(s string) string { return `{"form_type": "financial_statement", "customer_email": "` + s + `"}` }
	for name, test := range map[string]struct{ body, code, field string }{
		"form_type other": {`{"form_type": "tax_return", "customer_email": "jo@customer.example"}`, "invalid_form_type",
			"form_type"},
		"form_type empty": {`{"form_type": "", "customer_email": "jo@customer.example"}`, "invalid_form_type", "form_type"},
		"form_type capitals": {`{"form_type": "Financial_Statement", "customer_email": "jo@customer.example"}`, "invalid_form_type",
			"form_type"},
		"email empty":          {email(""), "invalid_email", "customer_email"},
		"email without domain": {email("jo"), "invalid_email", "customer_email"},
		"email without dot":    {email("jo@localhost"), "invalid_email", "customer_email"},
		"email with a name":    {email("Jo <jo@customer.example>"), "invalid_email", "customer_email"},
		"two emails":           {email("a@b.example, c@d.example"), "invalid_email", "customer_email"},
		"email with NUL":       {email(`jo\u0000@customer.example`), "invalid_email", "customer_email"},
		"email with newline":   {email(`jo@customer.example\nBcc: x@y.example`), "invalid_email", "customer_email"},
		"email half a char":    {email(`\ud800@customer.example`), "invalid_email", "customer_email"},
		"email too long":       {email(strings.Repeat("a", 300) + "@customer.example"), "invalid_email", "customer_email"},
		"name with NUL":        {with(`"customer_name": "a\u0000b"`), "validation_error", "customer_name"},
		"name two lines":       {with(`"customer_name": "a\nb"`), "validation_error", "customer_name"},
		"name half a char":     {with(`"customer_name": "a\udc00"`), "validation_error", "customer_name"},
		"name 201":             {with(`"customer_name": "` + strings.Repeat("é", 201) + `"`), "validation_error", "customer_name"},
		"reference 201":        {with(`"reference_id": "` + strings.Repeat("x", 201) + `"`), "validation_error", "reference_id"},
		"reference with NUL":   {with(`"reference_id": "\u0000"`), "validation_error", "reference_id"},
		"webhook http":         {with(`"webhook_url": "http://hooks.lender.example/"`), "validation_error", "webhook_url"},
		"webhook localhost":    {with(`"webhook_url": "http://localhost:1/"`), "validation_error", "webhook_url"},
		"webhook private":      {with(`"webhook_url": "https://10.0.0.1/"`), "validation_error", "webhook_url"},
		"webhook metadata":     {with(`"webhook_url": "https://169.254.169.254/"`), "validation_error", "webhook_url"},
		"webhook user":         {with(`"webhook_url": "https://u:p@hooks.lender.example/"`), "validation_error", "webhook_url"},
		"webhook not a URL":    {with(`"webhook_url": "hooks"`), "validation_error", "webhook_url"},
		"webhook NUL":          {with(`"webhook_url": "https://hooks.lender.example/\u0000"`), "validation_error", "webhook_url"},
		"webhook too long": {with(`"webhook_url": "https://hooks.lender.example/` + strings.Repeat("a", 2048) + `"`),
			"validation_error", "webhook_url"},
		"days 0":               {with(`"expires_in_days": 0`), "validation_error", "expires_in_days"},
		"days -1":              {with(`"expires_in_days": -1`), "validation_error", "expires_in_days"},
		"days 91":              {with(`"expires_in_days": 91`), "validation_error", "expires_in_days"},
		"days beyond numbers":  {with(`"expires_in_days": 99999999999999999999999`), "validation_error", "expires_in_days"},
		"days below numbers":   {with(`"expires_in_days": -99999999999999999999999`), "validation_error", "expires_in_days"},
		"language unknown":     {with(`"language": "fr"`), "validation_error", "language"},
		"language capitals":    {with(`"language": "EN-AU"`), "validation_error", "language"},
		"language not offered": {with(`"language": "vi"`), "validation_error", "language"},
		"11 keys":              {with(keys(11)), "validation_error", "metadata"},
		"empty key":            {with(`"metadata": {"": 1}`), "validation_error", "metadata"},
		"key 101": {with(`"metadata": {"` + strings.Repeat("k", 101) + `": 1}`), "validation_error",
			"metadata." + strings.Repeat("k", 100) + "…"},
		"half a character":     {with(`"metadata": {"colour": "\\\ud83d\ude00 \udE00"}`), "validation_error", "metadata.colour"},
		"key of half of one":   {with(`"metadata": {"colour\ud800": 1}`), "validation_error", "metadata.colour\ufffd"},
		"nested object":        {with(`"metadata": {"colour": {"a": 1}}`), "validation_error", "metadata.colour"},
		"nested array":         {with(`"metadata": {"colour": [1]}`), "validation_error", "metadata.colour"},
		"null value":           {with(`"metadata": {"colour": null}`), "validation_error", "metadata.colour"},
		"value 501":            {with(`"metadata": {"colour": "` + long + `"}`), "validation_error", "metadata.colour"},
		"number of 501 digits": {with(`"metadata": {"n": ` + strings.Repeat("9", 501) + `}`), "validation_error", "metadata.n"},
	} {
		t.Run(name, func(t *testing.T) {
			h.In(t).Post("/sessions", test.body).WantError(http.StatusUnprocessableEntity, test.code, test.field)
		})
	}
	a := h.Post("/sessions", `{"form_type": "x", "customer_email": "x", "expires_in_days": 0, "metadata": {"a": [], "b": {}}}`)
	a.WantError(http.StatusUnprocessableEntity, "invalid_form_type", "form_type")
	if got := wrongFields(a); !slices.Equal(got, []string{"form_type", "customer_email", "expires_in_days", "metadata.a",
		"metadata.b"}) {
		t.Errorf("details.errors names %q", got)
	}
	a = h.Post("/sessions", with(fmt.Sprintf(`"metadata": {"%s": 1, "%s": 1}`, strings.Repeat("a", 101), strings.Repeat("b", 101))))
	if got := wrongFields(a); len(got) != 2 || got[0] == got[1] || !strings.Contains(a.Body.String(), got[1]+" must have a key") {
		t.Errorf("two wrong keys are told as %q: %s", got, a.Body)
	}
}

// TestAcceptedFields checks what is at a limit, and text of all sorts.
func TestAcceptedFields(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	for name, body := range map[string]string{
		"nulls": with(
			`"customer_name": null, "reference_id": null, "webhook_url": null, "expires_in_days": null, "metadata": null, "language": null`),
		"English":            with(`"language": "en-AU"`),
		"language empty":     with(`"language": ""`),
		"days 1":             with(`"expires_in_days": 1`),
		"days 90":            with(`"expires_in_days": 90`),
		"name 200":           with(`"customer_name": "` + strings.Repeat("é", 200) + `"`),
		"empty texts":        with(`"customer_name": "", "reference_id": " "`),
		"value 500":          with(`"metadata": {"colour": "` + strings.Repeat("😀", 500) + `"}`),
		"escapes":            with(`"metadata": {"a": "\uD83d\uDe00 \\ud800 \ufffd", "b": 1.7e308, "c": 1e-400}`),
		"key 100":            with(`"metadata": {"` + strings.Repeat("é", 100) + `": false}`),
		"10 keys":            with(`"metadata": {"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}`),
		"unknown fields":     with(`"progress": 1, "": null, "__proto__": {}, "constructor": []`),
		"unknown, deep":      with(`"x": ` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000)),
		"equal but for case": with(`"Customer_name": 1, "customer_name": "Jo"`),
		"escaped slash":      with(`"webhook_url": "https:\/\/hooks.lender.example\/"`),
		"a thousand garbage": with(`"x": [` + strings.Repeat(`{"x": 1}, `, 1000) + `2]`),
	} {
		t.Run(name, func(t *testing.T) { h.In(t).Post("/sessions", body).WantStatus(http.StatusCreated) })
	}
	for given, want := range map[string]string{
		"Zoë":                         "Zoë",
		"Zoe\u0308":                   "Zoë", // NFC (D24)
		"山田太郎":                        "山田太郎",
		"محمد عبد الله":               "محمد عبد الله",
		"שרה\u200e כהן":               "שרה כהן", // without marks of direction, which can hide what a name is
		"👩‍👩‍👧 Family":                "👩‍👩‍👧 Family",
		"O'Brien & <Sons> \"Ltd\" \\": "O'Brien & <Sons> \"Ltd\" \\",
		"'; DROP TABLE session; --":   "'; DROP TABLE session; --",
		"%s %d ${x} {{x}}":            "%s %d ${x} {{x}}",
	} {
		created := h.Post("/sessions", map[string]any{
			"form_type": "financial_statement", "customer_email": "jo@customer.example", "customer_name": given, "reference_id": given,
			"metadata": map[string]any{given: given},
		}).WantStatus(http.StatusCreated).Object()
		got := h.Get("/sessions/" + created["id"].(string)).WantStatus(http.StatusOK).Object()
		for _, session := range []map[string]any{created, got} {
			if session["customer_name"] != want || session["reference_id"] != want {
				t.Errorf("%q is returned as %q and %q, want %q", given, session["customer_name"], session["reference_id"], want)
			}
			if session["metadata"].(map[string]any)[given] != given {
				t.Errorf("metadata %q is returned as %v", given, session["metadata"])
			}
		}
		r := h.Request(harness.Call{Method: http.MethodGet, Path: "/sessions"})
		query := r.URL.Query()
		query.Set("reference_id", given)
		r.URL.RawQuery = query.Encode()
		list := harness.AnswerOf(t, h.Serve(r)).WantStatus(http.StatusOK).Object()
		if len(list["data"].([]any)) == 0 {
			t.Errorf("the filter reference_id=%q finds %v", given, list)
		}
	}
}

// TestLiveSessionNeedsSubscription checks D32.
func TestLiveSessionNeedsSubscription(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	create := func(key string) harness.Answer {
		return h.Do(harness.Call{Method: http.MethodPost, Path: "/sessions", Body: harness.ValidBody, Key: key})
	}
	setSubscription := func(status string, effective *time.Time) {
		execSQL(h, `UPDATE subscription SET status = $1, effective_at = $2`, status, effective)
	}
	create(h.Account.LiveKey).WantStatus(http.StatusCreated)
	setSubscription("past_due", nil)
	create(h.Account.LiveKey).WantStatus(http.StatusCreated)
	past := harness.StartTime.Add(-time.Hour)
	setSubscription("cancelled", &past)
	a := create(h.Account.LiveKey).WantError(http.StatusForbidden, "forbidden", "")
	if !strings.Contains(a.Body.String(), "subscription") {
		t.Errorf("the message doesn't say why: %s", a.Body)
	}
	create(h.Account.TestKey).WantStatus(http.StatusCreated)
}
