package handlers_test

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
)

// TestPDF follows a PDF from being made to the end of its retention.
func TestPDF(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{})
	b.complete(session.ID)
	path := "/sessions/" + session.ID.String() + "/pdf"
	a := b.get(path).refused(http.StatusAccepted, "pdf_not_ready", "")
	if seconds, err := strconv.Atoi(a.Header().Get("Retry-After")); err != nil || seconds < 1 {
		t.Errorf("Retry-After: %q", a.Header().Get("Retry-After"))
	}

	content := bytes.Repeat([]byte("%PDF-1.7 \x00\xff"), 5000)
	b.storePDF(session.ID, content)
	name := `filename="financial_statement_` + session.ID.String() + `.pdf"`
	for query, want := range map[string]string{"": "inline; " + name, "?download=false": "inline; " + name, "?download=true": "attachment; " + name} {
		a := b.get(path + query).status(http.StatusOK)
		h := a.Header()
		if !bytes.Equal(a.Body.Bytes(), content) || h.Get("Content-Type") != "application/pdf" || h.Get("Content-Length") != fmt.Sprint(len(content)) || h.Get("Content-Disposition") != want {
			t.Errorf("%s: %d bytes, headers %v", query, a.Body.Len(), h)
		}
	}
	for _, bad := range []string{"1", "yes", "TRUE", "", "%00", "true&download=true"} {
		b.get(path+"?download="+bad).refused(http.StatusBadRequest, "invalid_request", "download")
	}
	retention := 90 * 24 * time.Hour
	b.clock.set(startTime.Add(retention - time.Millisecond))
	b.get(path).status(http.StatusOK)
	b.clock.set(startTime.Add(retention))
	b.get(path).refused(http.StatusNotFound, "pdf_expired", "")
	b.get("/sessions/" + session.ID.String() + "/data").status(http.StatusOK)
}

// TestDocuments checks the download of customers' files (D23).
func TestDocuments(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{})
	b.open(session.ID)
	names := map[string]string{ // to the header's value
		"payslip.pdf":              `attachment; filename="payslip.pdf"`,
		`a "quoted" name; x=y.pdf`: `attachment; filename="a _quoted_ name; x=y.pdf"; filename*=UTF-8''a%20%22quoted%22%20name%3B%20x%3Dy.pdf`,
		"Lohn März 100%.pdf":       `attachment; filename="Lohn M_rz 100_.pdf"; filename*=UTF-8''Lohn%20M%C3%A4rz%20100%25.pdf`,
		"給与😀.pdf":                  `attachment; filename="___.pdf"; filename*=UTF-8''%E7%B5%A6%E4%B8%8E%F0%9F%98%80.pdf`,
		"a+b.pdf":                  `attachment; filename="a+b.pdf"`,
	}
	contents := map[string][]byte{}
	for name := range names {
		contents[name] = b.upload(session.ID, name)
	}
	b.complete(session.ID)
	documents := b.get("/sessions/" + session.ID.String() + "/data").object()["data"].(map[string]any)["documents"].([]any)
	if len(documents) != len(names) {
		t.Fatalf("%d documents, want %d", len(documents), len(names))
	}
	var path string
	for _, item := range documents {
		document := item.(map[string]any)
		name := document["file_name"].(string)
		path = "/sessions/" + session.ID.String() + "/documents/" + document["id"].(string)
		a := b.get(path).status(http.StatusOK)
		sum := sha256.Sum256(a.Body.Bytes())
		if !bytes.Equal(a.Body.Bytes(), contents[name]) || document["sha256"] != hex.EncodeToString(sum[:]) || document["size_bytes"] != float64(a.Body.Len()) {
			t.Errorf("%s: %q, document %v", name, a.Body, document)
		}
		h := a.Header()
		if h.Get("Content-Type") != "application/pdf" || h.Get("Content-Length") != fmt.Sprint(a.Body.Len()) || h.Get("Content-Disposition") != names[name] {
			t.Errorf("%s: headers %v", name, h)
		}
		if !strings.Contains(h.Get("Content-Security-Policy"), "sandbox") || h.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("%s: a browser may run it: %v", name, h)
		}
	}
	for _, id := range []string{"doc_01h455vb4pex5vsknk084sn02q", "x", "%00", session.ID.String()} {
		b.get("/sessions/"+session.ID.String()+"/documents/"+id).refused(http.StatusNotFound, "document_not_found", "")
	}
	other := b.newSession(b.testScope(), domain.NewSession{})
	b.complete(other.ID)
	b.get(strings.Replace(path, session.ID.String(), other.ID.String(), 1)).refused(http.StatusNotFound, "document_not_found", "")
	b.clock.advance(90 * 24 * time.Hour)
	b.get(path).refused(http.StatusNotFound, "document_not_found", "")
}

// TestDocumentTypes checks that a file is sent as what it was found to be.
func TestDocumentTypes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{})
	b.open(session.ID)
	heic := []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00<script>")
	b.ok(b.service.Forms.AddDocument(b.Context(), session.ID, forms.Upload{Category: "other", FileName: "page.html", Content: bytes.NewReader(heic)}))
	b.complete(session.ID)
	data := b.get("/sessions/" + session.ID.String() + "/data").object()["data"].(map[string]any)
	document := data["documents"].([]any)[0].(map[string]any)
	a := b.get("/sessions/" + session.ID.String() + "/documents/" + document["id"].(string)).status(http.StatusOK)
	if a.Header().Get("Content-Type") != "image/heic" || document["content_type"] != "image/heic" {
		t.Errorf("headers %v, document %v", a.Header(), document)
	}
}
