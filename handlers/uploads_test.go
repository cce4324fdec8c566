package handlers_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"candor/handlers"
	"candor/internal/domain"
	"candor/internal/service/forms"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

// slowly begins an upload by the customer and leaves it there.
func slowly(c *harness.Customer, server *httptest.Server) net.Conn {
	c.Helper()
	return connection(c.TB.(*testing.T), server, "POST "+c.Path("documents")+" HTTP/1.1\r\nHost: candor.example\r\n"+cookie(c)+
		"Content-Type: multipart/form-data; boundary=x\r\nContent-Length: 5000000\r\n\r\n"+uploadStart+strings.Repeat("x", 1000))
}

// TestPlacesForUploads fills an account's places over connections that send no more (D86).
// Another account's customer has one at once, one more of the account waits, and a
// client that goes waits no longer.
func TestPlacesForUploads(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		approved bool
		places   int
	}{"approved": {true, 8}, "not approved": {false, 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered := make(chan struct{}, 100)
			h := harness.New(t, func(c *handlers.Config) {
				c.Answered = func(method, _ string, _ int, _ time.Duration) {
					if method == http.MethodPost {
						answered <- struct{}{}
					}
				}
			})
			_, err := h.DB.Raw().ExecContext(t.Context(),
				`UPDATE account SET approved_at = CASE WHEN $2 THEN approved_at END WHERE id = $1`, h.Account.AccountID, tt.approved)
			h.OK(err)
			server := testkit.Serve(t, h.Handler)
			var held []net.Conn
			for range tt.places {
				held = append(held, slowly(h.NewCustomer(), server))
			}
			testkit.Await(t, "the uploads have no places", func() bool {
				return harness.QueryOne[int](h, `SELECT count(*) FROM session WHERE uploaded_bytes > 0`) == tt.places
			})
			other := h.Customer(h.NewSession(domain.Scope{AccountID: h.NewAccount("other@lender.example", "professional").AccountID},
				domain.NewSession{}))
			other.WantRedirect(other.Attach("other", "a.pdf", harness.PDFOf(100_000), "upload"))
			<-answered
			gone := slowly(h.NewCustomer(), server)
			went := time.Now()
			h.OK(gone.Close())
			<-answered
			if waited := time.Since(went); waited >= 10*time.Second {
				t.Errorf("a client that had gone waited for %s", waited)
			}
			waits := h.NewCustomer()
			status := make(chan int, 1)
			go func() { status <- waits.Attach("other", "a.pdf", harness.PDFOf(100_000), "upload").Code }()
			h.OK(held[0].Close())
			if got := <-status; got != http.StatusSeeOther {
				t.Errorf("one that waits for a place is answered %d, want 303", got)
			}
			for _, conn := range held[1:] {
				h.OK(conn.Close())
			}
		})
	}
}

// trickle uploads 40 KiB a second until end is closed or the server answers, and returns the answer.
func trickle(c *harness.Customer, server *httptest.Server, end <-chan struct{}) (status int) {
	body, w := io.Pipe()
	form := multipart.NewWriter(w)
	go func() {
		_ = form.WriteField("category", "other")
		file, _ := form.CreateFormFile("file", "a.pdf")
		_, err := file.Write(harness.PDFOf(1000))
		for tick := time.NewTicker(25 * time.Millisecond); err == nil; {
			select {
			case <-end:
				tick.Stop()
				_ = w.CloseWithError(form.Close())
				return
			case <-tick.C:
				_, err = file.Write(make([]byte, 1<<10))
			}
		}
	}()
	request, err := http.NewRequestWithContext(c.Context(), http.MethodPost, server.URL+c.Path("documents"), body)
	c.OK(err)
	request.Header.Set("Content-Type", form.FormDataContentType())
	for name, value := range c.Cookies {
		request.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	answer, err := new(http.Transport).RoundTrip(request)
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		return http.StatusRequestTimeout // a busy client can hear that the server hangs up before it hears why
	}
	if err != nil {
		c.Errorf("an upload that trickles: %v", err) // whose status is waited for
		return 0
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}

// TestUploadsMakeHasteWhilePlacesAreShort (D86): of an account with two uploads one is
// too slow then; the other, and another account's only one, are not.
func TestUploadsMakeHasteWhilePlacesAreShort(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t, impatient(5*time.Second))
	server := testkit.Serve(t, h.Handler)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for account := range 2 { // 16 places that have no deadline
		id := h.NewAccount(fmt.Sprintf("many%d@lender.example", account), "professional").AccountID
		for range 8 {
			c := h.Customer(h.NewSession(domain.Scope{AccountID: id}, domain.NewSession{}))
			h.Open(c.ID)
			work.Go(func() {
				r, w := io.Pipe()
				context.AfterFunc(ctx, func() { _ = w.CloseWithError(context.Canceled) })
				_ = h.Service.Forms.AddDocument(ctx, h.SessionOf(c.ID),
					forms.Upload{Content: io.MultiReader(strings.NewReader("%PDF-1.7 and more"), r), Approved: true})
			})
		}
	}
	testkit.Await(t, "the uploads have no places", func() bool {
		return harness.QueryOne[int](h, `SELECT count(*) FROM session WHERE uploaded_bytes > 0`) == 16
	})
	only := h.Customer(h.NewSession(domain.Scope{AccountID: h.NewAccount("one@lender.example", "professional").AccountID},
		domain.NewSession{}))
	statuses, end := make(chan int, 3), make(chan struct{})
	for _, c := range []*harness.Customer{h.NewCustomer(), h.NewCustomer(), only} {
		go func() { statuses <- trickle(c, server, end) }()
	}
	if first := <-statuses; first != http.StatusRequestTimeout {
		t.Errorf("the first answer is %d, want 408", first)
	}
	close(end)
	if second, third := <-statuses, <-statuses; second != http.StatusSeeOther || third != http.StatusSeeOther {
		t.Errorf("the others are answered %d and %d, want 303", second, third)
	}
	if documents, err := h.DB.Documents(t.Context(), only.ID); err != nil || len(documents) != 1 {
		t.Errorf("the only upload of its account left %d documents, %v", len(documents), err)
	}
	cancel()
	work.Wait()
}
