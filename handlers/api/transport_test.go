package api_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// ask sends a GET, or another method, with headers "Name: value".
func ask(h *harness.Harness, method, path string, headers ...string) harness.Answer {
	h.Helper()
	r := h.Request(harness.Call{Method: method, Path: path})
	for _, header := range headers {
		name, value, _ := strings.Cut(header, ": ")
		r.Header.Set(name, value)
	}
	w := h.Serve(r)
	if w.Header().Get("Content-Encoding") == "" {
		h.CheckContract(r, w)
	}
	return harness.AnswerOf(h.TB, w)
}

// TestPartsOfFiles asks for parts of a PDF and of a document, which is sealed in
// several pieces (RFC 9110, 14).
func TestPartsOfFiles(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Open(session.ID)
	content := append([]byte("%PDF-1.7\n"), bytes.Repeat([]byte("0123456789abcdefghijklmnopqrstuvwxyz\n"), 9000)...)
	h.OK(h.Service.Forms.AddDocument(h.Context(), session, forms.Upload{Category: "other", FileName: "a.pdf",
		Content: bytes.NewReader(content)}))
	h.Complete(session.ID)
	h.StorePDF(session.ID, content)
	of := "/sessions/" + session.ID.String()
	document := h.Get(of + "/data").Object()["data"].(map[string]any)["documents"].([]any)[0].(map[string]any)
	size := len(content)
	for _, path := range []string{of + "/pdf", of + "/documents/" + document["id"].(string)} {
		tag := h.Get(path).WantStatus(http.StatusOK).Header().Get("ETag")
		if tag != `"`+document["sha256"].(string)+`"` {
			t.Errorf("%s: ETag %s", path, tag)
		}
		for asked, part := range map[string][2]int{
			"bytes=0-0": {0, 1}, "bytes=100-199": {100, 200}, "bytes=200000-": {200_000, size}, "bytes=-10": {size - 10, size},
			"bytes=300000-99999999": {300_000, size}, "bytes=-99999999": {0, size}, fmt.Sprintf("bytes=%d-", size-1): {size - 1, size},
		} {
			a := ask(h, http.MethodGet, path, "Range: "+asked).WantStatus(http.StatusPartialContent)
			if !bytes.Equal(a.Body.Bytes(), content[part[0]:part[1]]) || a.Header().Get("Content-Range") != fmt.Sprintf("bytes %d-%d/%d",
				part[0], part[1]-1, size) {
				t.Errorf("%s of %s: %d bytes, %v", asked, path, a.Body.Len(), a.Header())
			}
		}
		for _, ignored := range []string{"bytes=5-1", "bytes=0-1,4-5", "bytes=", "bytes=-", "bytes=-0", "items=0-5", "bytes=a-b",
			"bytes=1-2-3", "0-5"} {
			if a := ask(h, http.MethodGet, path, "Range: "+ignored).WantStatus(http.StatusOK); a.Body.Len() != size {
				t.Errorf("%s of %s: %d bytes", ignored, path, a.Body.Len())
			}
		}
		for _, past := range []string{fmt.Sprintf("bytes=%d-", size), "bytes=999999999999999-"} {
			a := ask(h, http.MethodGet, path, "Range: "+past).WantError(http.StatusRequestedRangeNotSatisfiable,
				"range_not_satisfiable", "")
			if a.Header().Get("Content-Range") != fmt.Sprintf("bytes */%d", size) {
				t.Errorf("%s: Content-Range %q", past, a.Header().Get("Content-Range"))
			}
		}
		if a := ask(h, http.MethodGet, path, "Range: bytes=0-9", "If-Range: "+tag).
			WantStatus(http.StatusPartialContent); a.Body.Len() != 10 {
			t.Errorf("the same file: %d bytes", a.Body.Len())
		}
		for _, part := range []string{"bytes=0-9", "bytes=999999999999999-"} {
			if a := ask(h, http.MethodGet, path, "Range: "+part, `If-Range: "other"`).WantStatus(http.StatusOK); a.Body.Len() != size {
				t.Errorf("%s of another file: %d bytes", part, a.Body.Len())
			}
		}
		if a := ask(h, http.MethodGet, path, `If-Match: "other"`).WantStatus(http.StatusOK); a.Body.Len() != size {
			t.Errorf("a file never changes, so If-Match isn't asked: %d bytes", a.Body.Len())
		}
		if a := ask(h, http.MethodGet, path, "If-None-Match: "+tag).WantStatus(http.StatusNotModified); a.Body.Len() != 0 {
			t.Errorf("304 with %d bytes", a.Body.Len())
		}
		if a := ask(h, http.MethodGet, path, "Accept-Encoding: gzip"); a.Header().Get("Content-Encoding") != "" ||
			a.Body.Len() != size {
			t.Errorf("a file is compressed: %v", a.Header())
		}
	}
}

// TestUnchangedAnswers checks that each GET's answer has an ETag, which changes
// with it and spares a client the same body.
func TestUnchangedAnswers(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	of := "/sessions/" + session.ID.String()
	before := h.Get(of).Header().Get("ETag")
	h.Complete(session.ID)
	if after := h.Get(of).Header().Get("ETag"); before == after || before == "" {
		t.Errorf("ETag %q before completion, %q after", before, after)
	}
	for _, path := range []string{of, of + "/data", "/sessions", "/events", "/billing/usage", "/billing/subscription",
		"/openapi.json"} {
		tag := h.Get(path).WantStatus(http.StatusOK).Header().Get("ETag")
		for _, has := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
			a := ask(h, http.MethodGet, path, "If-None-Match: "+has).WantStatus(http.StatusNotModified)
			if a.Body.Len() != 0 || a.Header().Get("ETag") != tag {
				t.Errorf("%s: 304 with %d bytes, ETag %s", path, a.Body.Len(), a.Header().Get("ETag"))
			}
		}
		for _, has := range []string{`"other"`, "", "W/", tag[:len(tag)-2] + `"`} {
			ask(h, http.MethodGet, path, "If-None-Match: "+has).WantStatus(http.StatusOK)
		}
	}
	if tag := h.Get("/sessions/" + unknownSession).WantStatus(http.StatusNotFound).Header().Get("ETag"); tag != "" {
		t.Errorf("an error has the ETag %s", tag)
	}
}

// TestCompressedAnswers checks that JSON above 1 KB is the same when compressed.
func TestCompressedAnswers(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	h.Complete(session.ID)
	data := "/v1/sessions/" + session.ID.String() + "/data"
	server := testkit.Serve(t, h.Handler)
	get := func(path, encoding string) (http.Header, []byte) {
		t.Helper()
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, nil)
		h.OK(err)
		r.Header.Set("Authorization", "Bearer "+h.Account.TestKey)
		r.Header.Set("Accept-Encoding", encoding)
		response, err := server.Client().Do(r)
		h.OK(err)
		defer func() { h.OK(response.Body.Close()) }()
		body, err := io.ReadAll(response.Body)
		h.OK(err)
		return response.Header, body
	}
	headers, plain := get(data, "identity")
	if headers.Get("Content-Encoding") != "" || headers.Get("Content-Length") != fmt.Sprint(len(plain)) {
		t.Errorf("plain: %v", headers)
	}
	for _, encoding := range []string{"gzip;q=0", "br, GZIP ; q=0.000"} {
		if headers, body := get(data, encoding); headers.Get("Content-Encoding") != "" || !slices.Contains(headers.Values("Vary"),
			"Accept-Encoding") || !bytes.Equal(body, plain) {
			t.Errorf("%s: %v", encoding, headers)
		}
	}
	headers, small := get(data, "br;q=0, gzip;q=0.5")
	if headers.Get("Content-Encoding") != "gzip" || !slices.Contains(headers.Values("Vary"), "Accept-Encoding") ||
		len(small) >= len(plain) {
		t.Errorf("%d bytes of %d, %v", len(small), len(plain), headers)
	}
	reader, err := gzip.NewReader(bytes.NewReader(small))
	h.OK(err)
	if opened, err := io.ReadAll(reader); err != nil || !bytes.Equal(opened, plain) {
		t.Errorf("compressed, the answer is another one: %s (%v)", opened, err)
	}
	if headers, _ := get("/v1/billing/subscription", "gzip"); headers.Get("Content-Encoding") != "" {
		t.Errorf("a short answer is compressed: %v", headers)
	}
}
