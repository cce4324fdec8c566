package docs_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/testkit/harness"
)

// A folder is a part of a Postman collection.
type folder struct {
	Name string
	Item []struct {
		Name    string
		Request struct {
			Method string
			Body   struct{ Raw string }
			URL    struct {
				Raw      string
				Variable []struct{ Key, Value string }
			}
		}
	}
}

// TestCollectionsRun sends each request of the Postman collection, and finds the same in
// Bruno's.
func TestCollectionsRun(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	var collection struct {
		Item     []folder
		Variable []struct{ Key, Value string }
	}
	h.OK(json.Unmarshal([]byte(get(h, "/docs/candor.postman_collection.json")), &collection))
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	h.Open(session.ID)
	h.Upload(session.ID, "payslip.pdf")
	h.Complete(session.ID)
	h.StorePDF(session.ID, harness.PDFOf(2000))
	document := harness.QueryOne[domain.DocumentID](h, `SELECT id FROM document WHERE session_id = $1`, session.ID)
	delivery := harness.QueryOne[domain.DeliveryID](h, `SELECT id FROM delivery WHERE session_id = $1 LIMIT 1`, session.ID)
	real := []string{
		"doc_01m7xsggqsf43scdh9320874jm", document.String(), "whd_01m7xsggnverxbaf5yh399t1bc", delivery.String(),
		"{{session_id}}", session.ID.String(),
		"whe_01m7xsggnverxbaf5yh399t1bd", h.NewEndpoint(h.TestScope(), "https://lender.example/other").String(),
	}
	for _, variable := range collection.Variable {
		real = append(real, "{{"+variable.Key+"}}", variable.Value)
	}
	files, sent := unzipped(t, get(h, "/docs/candor-bruno.zip")), 0
	for _, group := range collection.Item {
		for _, one := range group.Item {
			address := one.Request.URL.Raw
			bruno := files["candor/"+group.Name+"/"+one.Name+".bru"]
			plain, _, _ := strings.Cut(address, "?")
			if !strings.Contains(bruno, strings.ToLower(one.Request.Method)+" {\n  url: "+plain+"\n") {
				t.Errorf("Bruno's %s is:\n%s", one.Name, bruno)
			}
			for _, variable := range one.Request.URL.Variable {
				address = strings.Replace(address, ":"+variable.Key, variable.Value, 1)
				if !strings.Contains(bruno, "\n  "+variable.Key+": "+variable.Value+"\n") {
					t.Errorf("Bruno's %s doesn't have %s", one.Name, variable.Key)
				}
			}
			address = strings.NewReplacer(real...).Replace(address)
			if strings.HasPrefix(one.Name, "Cancel") {
				address = strings.Replace(address, session.ID.String(), h.NewSession(h.TestScope(), domain.NewSession{}).ID.String(), 1)
			}
			call := harness.Call{Method: one.Request.Method, Path: strings.TrimPrefix(address, harness.BaseURL+"/v1")}
			if one.Request.Body.Raw != "" {
				call.Body = one.Request.Body.Raw
			}
			if answer := h.Do(call); answer.Code >= http.StatusMultipleChoices {
				t.Errorf("%s: %s %s: %d %s", one.Name, call.Method, call.Path, answer.Code, answer.Body)
			}
			sent++
		}
	}
	if want := len(harness.RoutesOf("API")); sent != want || len(files) != want+3 {
		t.Errorf("%d requests and %d files, want %d and 3 more", sent, len(files), want)
	}
}

func unzipped(t *testing.T, text string) map[string]string {
	t.Helper()
	r, err := zip.NewReader(bytes.NewReader([]byte(text)), int64(len(text)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, file := range r.File {
		content, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		all, err := io.ReadAll(content)
		if err != nil {
			t.Fatal(err)
		}
		out[file.Name] = string(all)
	}
	return out
}
