package api_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/testkit"
	"candor/internal/testkit/harness"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	empty := h.Events("")
	if len(empty.Data) != 0 || empty.HasMore || empty.NextAfter != 0 || empty.OldestSequence != nil {
		t.Errorf("feed without events: %+v", empty)
	}
	quiet := h.NewSession(h.TestScope(), domain.NewSession{})
	loud := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	live := h.NewSession(domain.Scope{AccountID: h.Account.AccountID, Livemode: true}, domain.NewSession{})
	h.RecordEvent(live, domain.PDFReadyPayload{SessionID: live.ID})
	for i := range 7 {
		session := quiet
		if i%2 == 1 {
			session = loud
		}
		h.RecordEvent(session, domain.PDFReadyPayload{SessionID: session.ID, PageCount: i})
		h.RecordEvent(session, domain.ExpiredPayload{SessionID: session.ID, ProgressPercentage: i})
		// leaves gaps to step over
		execSQL(h, `DELETE FROM event WHERE type = 'session.expired'`)
	}
	page := h.Events("?limit=3")
	if len(page.Data) != 3 || !page.HasMore || page.NextAfter != 5 || *page.OldestSequence != 1 {
		t.Errorf("first page: %+v", page)
	}
	page = h.Events("?after=5")
	if len(page.Data) != 4 || page.HasMore || page.NextAfter != 13 {
		t.Errorf("second page: %+v", page)
	}
	page = h.Events("?type=session.expired")
	if len(page.Data) != 0 || page.HasMore || page.NextAfter != 13 {
		t.Errorf("type without events: %+v", page)
	}
	page = h.Events("?session_id=" + loud.ID.String() + "&limit=2")
	if len(page.Data) != 2 || !page.HasMore || page.NextAfter != 7 || page.Data[0].SessionID != loud.ID.String() ||
		page.Data[0].Delivery.State != "pending" || page.Data[0].Delivery.URL != *loud.WebhookURL {
		t.Errorf("one session's: %+v", page)
	}
	if page := h.Events("?session_id=" + quiet.ID.String() + "&type=session.pdf_ready"); len(page.Data) != 4 ||
		page.Data[0].Delivery != nil {
		t.Errorf("without a webhook URL: %+v", page)
	}
	for _, query := range []string{"?session_id=" + live.ID.String(), "?after=14", "?session_id=" + unknownSession} {
		if page := h.Events(query); len(page.Data) != 0 {
			t.Errorf("%s: %+v", query, page)
		}
	}
	if page := h.Events("?after=14"); page.NextAfter != 14 { // the last one is deleted
		t.Errorf("next_after went back to %d", page.NextAfter)
	}
	for query, field := range map[string]string{
		"after=-1": "after", "after=x": "after", "after=9223372036854775808": "after", "limit=0": "limit", "limit=101": "limit",
		"type=session.unknown": "type", "session_id=sess_x": "session_id", "session_id=": "session_id", "type=": "type",
	} {
		h.Get("/events?"+query).WantError(http.StatusBadRequest, "invalid_request", field)
	}
}

// execSQL changes what is stored behind the service's back.
func execSQL(h *harness.Harness, query string, args ...any) {
	h.Helper()
	_, err := h.DB.Raw().ExecContext(h.Context(), query, args...)
	h.OK(err)
}

// TestFeedIsTheWebhook: an event of the feed has the fields of its webhook, to
// the byte, so a receiver that was down catches up from the feed alone.
func TestFeedIsTheWebhook(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{WebhookURL: "https://lender.example/hook", ReferenceID: `<"&'>`})
	h.Complete(session.ID)
	stored, err := h.DB.Events(t.Context(), session.ID)
	h.OK(err)
	page := h.Events("?limit=100")
	if len(stored) < 8 || len(page.Data) != len(stored) {
		t.Fatalf("%d events in the feed, %d stored", len(page.Data), len(stored))
	}
	for i, got := range page.Data {
		var webhook struct {
			Event     domain.EventType
			SessionID string `json:"session_id"`
			Sequence  int64
			Timestamp string
			Data      json.RawMessage
		}
		h.OK(json.Unmarshal(stored[i].Body, &webhook))
		if got.Event != webhook.Event || got.SessionID != webhook.SessionID || got.Sequence != webhook.Sequence ||
			got.Timestamp != webhook.Timestamp || !bytes.Equal(got.Data, webhook.Data) {
			t.Errorf("event %d of the feed is %+v,\nits webhook %s", i, got, stored[i].Body)
		}
	}
}

// TestFeedMissesNothing has 50 writers side by side, some of which roll back
// after they took a number, and pollers that follow next_after at the same time: each
// sees 1, 2, 3 … to the end, whatever committed late.
func TestFeedMissesNothing(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	h := harness.New(t)
	const writers, each = 50, 8
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	undo := errors.New("undone")
	ctx, finished := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range each {
				err := h.Service.DB.InTx(t.Context(), func(tx *db.Tx) error {
					var p domain.Payload = domain.PDFReadyPayload{SessionID: session.ID, PageCount: i}
					if w%2 == 0 {
						p = domain.AccessedPayload{SessionID: session.ID}
					}
					if err := h.RecordEventIn(t.Context(), tx, session, p); err != nil {
						return err
					}
					// The number is taken: others overtake now if they can.
					if _, err := tx.Raw().ExecContext(t.Context(), `SELECT pg_sleep($1)`, random.Float64()/500); err != nil {
						return err
					}
					if i%4 == 3 {
						return undo
					}
					return nil
				})
				if err != nil && !errors.Is(err, undo) {
					t.Error(err)
				}
			}
		})
	}
	go func() {
		writing.Wait()
		finished()
	}()
	const kept = writers * each * 3 / 4
	var polling sync.WaitGroup
	for _, filter := range []string{"", "&type=session.pdf_ready"} {
		polling.Go(func() {
			var seen []int64
			after, polls := int64(0), 0
			for last := false; !last; polls++ {
				last = ctx.Err() != nil // one more look after the last commit
				page := h.Events(fmt.Sprintf("?limit=7&after=%d%s", after, filter))
				for _, e := range page.Data {
					seen = append(seen, e.Sequence)
				}
				last, after = last && !page.HasMore, page.NextAfter
			}
			want := kept
			if filter != "" {
				want = kept / 2
			}
			if len(seen) != want || !slices.IsSorted(seen) || len(slices.Compact(slices.Clone(seen))) != want || after != kept {
				t.Errorf("poll with %q: %d events up to %d in %d polls, want %d up to %d: %v", filter, len(seen), after, polls, want,
					kept, seen)
			}
			if filter == "" && len(seen) == kept && seen[0]+int64(kept)-1 != seen[kept-1] {
				t.Errorf("the numbers have gaps: %v", seen)
			}
		})
	}
	polling.Wait()
}

// TestFeedTellsWhatIsGone: a reader that was away for too long can see that
// events it hasn't had are deleted.
func TestFeedTellsWhatIsGone(t *testing.T) {
	t.Parallel()
	h := harness.New(t)
	session := h.NewSession(h.TestScope(), domain.NewSession{})
	for range 3 {
		h.RecordEvent(session, domain.AccessedPayload{SessionID: session.ID})
	}
	h.Clock.Advance(domain.EventRetention)
	h.RecordEvent(session, domain.AccessedPayload{SessionID: session.ID})
	if n, err := h.DB.DeleteEvents(t.Context(), h.Clock.Now().Add(-domain.EventRetention).Add(time.Second), 100); n != 3 ||
		err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	if page := h.Events("?after=1"); *page.OldestSequence != 4 || len(page.Data) != 1 || page.Data[0].Sequence != 4 {
		t.Errorf("%+v", page)
	}
}
