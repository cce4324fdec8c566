package api_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/testkit/harness"
)

// TestPDF follows a PDF from being made to the end of its retention.
func TestPDF(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(session.ID)
	path := "/sessions/" + session.ID.String() + "/pdf"
	a := h.Get(path).WantError(http.StatusAccepted, "pdf_not_ready", "")
	if seconds, err := strconv.Atoi(a.Header().Get("Retry-After")); err != nil || seconds < 1 {
		t.Errorf("Retry-After: %q", a.Header().Get("Retry-After"))
	}

	content := bytes.Repeat([]byte("%PDF-1.7 \x00\xff"), 5000)
	h.StorePDF(session.ID, content)
	name := `filename="financial_statement_` + session.ID.String() + `.pdf"`
	for query, want := range map[string]string{"": "inline; " + name, "?download=false": "inline; " + name,
		"?download=true": "attachment; " + name} {
		a := h.Get(path + query).WantStatus(http.StatusOK)
		h := a.Header()
		if !bytes.Equal(a.Body.Bytes(), content) || h.Get("Content-Type") != "application/pdf" ||
			h.Get("Content-Length") != fmt.Sprint(len(content)) || h.Get("Content-Disposition") != want {
			t.Errorf("%s: %d bytes, headers %v", query, a.Body.Len(), h)
		}
	}
	for _, bad := range []string{"1", "yes", "TRUE", "", "%00", "true&download=true"} {
		h.Get(path+"?download="+bad).WantError(http.StatusBadRequest, "invalid_request", "download")
	}
	retention := 90 * 24 * time.Hour
	h.Clock.Set(harness.StartTime.Add(retention - time.Millisecond))
	h.Get(path).WantStatus(http.StatusOK)
	h.Clock.Set(harness.StartTime.Add(retention))
	h.Get(path).WantError(http.StatusNotFound, "pdf_expired", "")
	h.Get("/sessions/" + session.ID.String() + "/data").WantStatus(http.StatusOK)
}

// The digest of the data in the PDF is that of the bytes that the API answers,
// whatever the customer typed.
func TestDataAreTheBytesOfTheDigest(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	h.Upload(session.ID, "a <b> & c\u2028.pdf")
	h.Complete(session.ID)
	answers, err := h.Service.Vault.Statement(h.Context(), h.DB, session.ID)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := answers.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	if body := h.Get("/sessions/" + session.ID.String() + "/data").Body.Bytes(); !bytes.Contains(body,
		append([]byte(`"data":`), signed...)) {
		t.Errorf("the answer doesn't have the bytes that the PDF's digest is of:\n%s\n%s", body, signed)
	}
}

// TestDocuments checks the download of customers' files (D23).
func TestDocuments(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	names := map[string]string{ // to the header's value
		"payslip.pdf":              `attachment; filename="payslip.pdf"`,
		`a "quoted" name; x=y.pdf`: `attachment; filename="a _quoted_ name; x=y.pdf"; filename*=UTF-8''a%20%22quoted%22%20name%3B%20x%3Dy.pdf`,
		"Lohn März 100%.pdf":       `attachment; filename="Lohn M_rz 100_.pdf"; filename*=UTF-8''Lohn%20M%C3%A4rz%20100%25.pdf`,
		"給与😀.pdf":                  `attachment; filename="___.pdf"; filename*=UTF-8''%E7%B5%A6%E4%B8%8E%F0%9F%98%80.pdf`,
		"a+b.pdf":                  `attachment; filename="a+b.pdf"`,
	}
	contents := map[string][]byte{}
	for name := range names {
		contents[name] = h.Upload(session.ID, name)
	}
	h.Complete(session.ID)
	documents := h.Get("/sessions/" + session.ID.String() + "/data").Object()["data"].(map[string]any)["documents"].([]any)
	if len(documents) != len(names) {
		t.Fatalf("%d documents, want %d", len(documents), len(names))
	}
	var path string
	for _, item := range documents {
		document := item.(map[string]any)
		name := document["file_name"].(string)
		path = "/sessions/" + session.ID.String() + "/documents/" + document["id"].(string)
		a := h.Get(path).WantStatus(http.StatusOK)
		sum := sha256.Sum256(a.Body.Bytes())
		if !bytes.Equal(a.Body.Bytes(), contents[name]) || document["sha256"] != hex.EncodeToString(sum[:]) ||
			document["size_bytes"] != float64(a.Body.Len()) {
			t.Errorf("%s: %q, document %v", name, a.Body, document)
		}
		h := a.Header()
		if h.Get("Content-Type") != "application/pdf" || h.Get("Content-Length") != fmt.Sprint(a.Body.Len()) ||
			h.Get("Content-Disposition") != names[name] {
			t.Errorf("%s: headers %v", name, h)
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: a browser may run it: %v", name, h)
		}
	}
	for _, id := range []string{"doc_01h455vb4pex5vsknk084sn02q", "x", "%00", session.ID.String()} {
		h.Get("/sessions/"+session.ID.String()+"/documents/"+id).WantError(http.StatusNotFound, "document_not_found", "")
	}
	other := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(other.ID)
	h.Get(strings.Replace(path, session.ID.String(), other.ID.String(), 1)).WantError(http.StatusNotFound, "document_not_found", "")
	h.Clock.Advance(90 * 24 * time.Hour)
	h.Get(path).WantError(http.StatusNotFound, "document_not_found", "")
}

// TestDocumentTypes checks that a file is sent as what it was found to be.
func TestDocumentTypes(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	heic := []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00<script>")
	h.OK(h.Service.Forms.AddDocument(h.Context(), session, forms.Upload{Category: "other", FileName: "page.html",
		Content: bytes.NewReader(heic)}))
	h.Complete(session.ID)
	data := h.Get("/sessions/" + session.ID.String() + "/data").Object()["data"].(map[string]any)
	document := data["documents"].([]any)[0].(map[string]any)
	a := h.Get("/sessions/" + session.ID.String() + "/documents/" + document["id"].(string)).WantStatus(http.StatusOK)
	if a.Header().Get("Content-Type") != "image/heic" || document["content_type"] != "image/heic" {
		t.Errorf("headers %v, document %v", a.Header(), document)
	}
}
