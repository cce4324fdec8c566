package handlers_test

import (
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/statement"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// ends is the longest that a test waits for a connection to end.
const ends = 30 * time.Second

// impatient gives requests that little time.
func impatient(d time.Duration) func(*handlers.Config) {
	return func(c *handlers.Config) { c.RequestTime = d }
}

// connection opens a connection to the server and writes text.
func connection(t *testing.T, server *httptest.Server, text string) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(ends)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return conn
}

// cookie is the customer's Cookie header.
func cookie(c *harness.Customer) string {
	var pairs []string
	for name, value := range c.Cookies {
		pairs = append(pairs, name+"="+value)
	}
	return "Cookie: " + strings.Join(pairs, "; ") + "\r\n"
}

// TestUnfinishedBodiesEnd checks that no client holds a connection by sending
// a part of a body and nothing more.
func TestUnfinishedBodiesEnd(t *testing.T) {
	t.Parallel()
	h := harness.New(t, impatient(200*time.Millisecond))
	c := h.NewCustomer()
	server := testkit.Serve(t, h.Handler)
	const urlencoded = "Content-Type: application/x-www-form-urlencoded\r\n"
	requests := map[string]struct{ head, body string }{
		"section": {"POST " + c.Path("income") + " HTTP/1.1\r\n" + cookie(c) + urlencoded, "a=b"},
		"upload": {"POST " + c.Path("documents") + " HTTP/1.1\r\n" + cookie(c) + "Content-Type: multipart/form-data; boundary=x\r\n",
			uploadStart},
		"API": {"POST /v1/sessions HTTP/1.1\r\nAuthorization: Bearer " + h.Account.TestKey +
			"\r\nContent-Type: application/json\r\n", "{"},
		"sign-in":  {"POST /dashboard/sign-in HTTP/1.1\r\n" + urlencoded, "email="},
		"unasked":  {"GET / HTTP/1.1\r\n", "a"},
		"no page":  {"POST /nothing HTTP/1.1\r\n" + urlencoded, "a"},
		"chunked":  {"POST /dashboard/sign-in HTTP/1.1\r\nTransfer-Encoding: chunked\r\n" + urlencoded, "5\r\nab"},
		"only one": {"POST /dashboard/sign-in HTTP/1.1\r\n" + urlencoded, ""},
	}
	var wg sync.WaitGroup
	for name, request := range requests {
		for range 20 {
			length := "Content-Length: 5000\r\n"
			if name == "chunked" {
				length = ""
			}
			conn := connection(t, server, request.head+"Host: candor.example\r\n"+length+"\r\n"+request.body)
			wg.Go(func() {
				answer, err := io.ReadAll(conn)                  // until the server ends it
				unread := name == "unasked" || name == "no page" // nothing of the body is asked for
				if !unread && !strings.HasPrefix(string(answer), "HTTP/1.1 408 ") || err != nil {
					t.Errorf("%s: answered %.60q, %v; want 408 and the connection's end", name, answer, err)
				}
			})
		}
	}
	wg.Wait()
	if documents, err := h.DB.Documents(t.Context(), c.ID); err != nil || len(documents) != 0 {
		t.Errorf("documents %v, %v", documents, err)
	}
}

// uploadStart begins an upload.
const uploadStart = "--x\r\nContent-Disposition: form-data; name=\"category\"\r\n\r\nother\r\n" +
	"--x\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.pdf\"\r\n\r\n%PDF-1.7"

// TestUploadMayTakeLonger checks that an upload that keeps coming outlives
// other requests.
func TestUploadMayTakeLonger(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t, impatient(2*time.Second))
	c := h.NewCustomer()
	server := testkit.Serve(t, h.Handler)
	r, w := io.Pipe()
	form := multipart.NewWriter(w)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+c.Path("documents"), r)
	h.OK(err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	for name, value := range c.Cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	go func() {
		_ = form.WriteField("category", "other")
		file, _ := form.CreateFormFile("file", "a.pdf")
		_, _ = file.Write(harness.PDFOf(100))
		late := connection(t, server, "POST /dashboard/sign-in HTTP/1.1\r\nHost: candor.example\r\nContent-Length: 9\r\n"+
			"Content-Type: application/x-www-form-urlencoded\r\n\r\na")
		over := make(chan struct{})
		go func() {
			defer close(over)
			_, _ = io.Copy(io.Discard, late) // by its end, the time of a request is over
		}()
		for tick := time.NewTicker(20 * time.Millisecond); ; {
			select {
			case <-over:
				tick.Stop()
				_ = w.CloseWithError(form.Close())
				return
			case <-tick.C:
				_, _ = file.Write(make([]byte, 4<<10))
			}
		}
	}()
	answer, err := (&http.Transport{}).RoundTrip(request)
	h.OK(err)
	h.OK(answer.Body.Close())
	documents, err := h.DB.Documents(t.Context(), c.ID)
	if answer.StatusCode != http.StatusSeeOther || err != nil || len(documents) != 1 {
		t.Errorf("answered %d, %d documents, %v; want 303 and one", answer.StatusCode, len(documents), err)
	}
}

// TestUnreadAnswersEnd checks that no client holds a connection by reading
// nothing.
func TestUnreadAnswersEnd(t *testing.T) {
	t.Parallel()
	answered := make(chan int, 1)
	h := harness.New(t, impatient(200*time.Millisecond), func(c *handlers.Config) {
		c.Answered = func(_, route string, status int, _ time.Duration) {
			if strings.HasPrefix(route, "/v1/sessions/:id/documents") {
				answered <- status
			}
		}
	})
	c := h.NewCustomer()
	c.WantRedirect(c.Attach("other", "a.pdf", harness.PDFOf(statement.MaxDocumentBytes), "upload"))
	documents, err := h.DB.Documents(t.Context(), c.ID)
	h.OK(err)
	h.Complete(c.ID)
	server := testkit.Serve(t, h.Handler)
	conn := connection(t, server, "")
	h.OK(conn.(*net.TCPConn).SetReadBuffer(4096))
	_, err = fmt.Fprintf(conn,
		"GET /v1/sessions/%s/documents/%s HTTP/1.1\r\nHost: candor.example\r\nAuthorization: Bearer %s\r\n\r\n",
		c.ID, documents[0].ID, h.Account.TestKey)
	h.OK(err)
	select {
	case <-answered:
	case <-time.After(ends):
		t.Fatal("the answer is still being sent")
	}
}
