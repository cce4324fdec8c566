package handlers_test

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
)

// feedPage is an answer of GET /v1/events.
type feedPage struct {
	Data []struct {
		ID        string
		Event     domain.EventType
		SessionID string `json:"session_id"`
		Sequence  int64
		Timestamp string
		Data      json.RawMessage
		Delivery  *struct {
			ID, URL, State string
			Attempts       int
			LastStatusCode *int `json:"last_status_code"`
		}
	}
	HasMore        bool   `json:"has_more"`
	NextAfter      int64  `json:"next_after"`
	OldestSequence *int64 `json:"oldest_sequence"`
}

func (b *bench) events(query string) (page feedPage) {
	b.Helper()
	b.ok(json.Unmarshal(b.get("/events"+query).status(http.StatusOK).Body.Bytes(), &page))
	return page
}

// record records an event of a session in the caller's transaction.
func (b *bench) record(ctx context.Context, tx *db.Tx, session *domain.Session, p domain.Payload) error {
	return b.service.Outbox.SessionEvent(ctx, tx, session, p, b.clock.Now())
}

func (b *bench) happen(session *domain.Session, p domain.Payload) {
	b.Helper()
	b.ok(b.service.DB.InTx(b.Context(), func(tx *db.Tx) error { return b.record(b.Context(), tx, session, p) }))
}

func TestEvents(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	empty := b.events("")
	if len(empty.Data) != 0 || empty.HasMore || empty.NextAfter != 0 || empty.OldestSequence != nil {
		t.Errorf("feed without events: %+v", empty)
	}
	quiet := b.newSession(b.testScope(), domain.NewSession{})
	loud := b.newSession(b.testScope(), domain.NewSession{WebhookURL: "https://lender.example/hook"})
	live := b.newSession(domain.Scope{AccountID: b.account.AccountID, Livemode: true}, domain.NewSession{})
	b.happen(live, domain.PDFReadyPayload{SessionID: live.ID})
	for i := range 7 {
		session := quiet
		if i%2 == 1 {
			session = loud
		}
		b.happen(session, domain.PDFReadyPayload{SessionID: session.ID, PageCount: i})
		b.happen(session, domain.ExpiredPayload{SessionID: session.ID, ProgressPercentage: i})
		b.ok(second(b.db.Raw().ExecContext(t.Context(), `DELETE FROM event WHERE type = 'session.expired'`))) // leaves gaps to step over
	}
	page := b.events("?limit=3")
	if len(page.Data) != 3 || !page.HasMore || page.NextAfter != 5 || *page.OldestSequence != 1 {
		t.Errorf("first page: %+v", page)
	}
	page = b.events("?after=5")
	if len(page.Data) != 4 || page.HasMore || page.NextAfter != 13 {
		t.Errorf("second page: %+v", page)
	}
	page = b.events("?type=session.expired")
	if len(page.Data) != 0 || page.HasMore || page.NextAfter != 13 {
		t.Errorf("type without events: %+v", page)
	}
	page = b.events("?session_id=" + loud.ID.String() + "&limit=2")
	if len(page.Data) != 2 || !page.HasMore || page.NextAfter != 7 || page.Data[0].SessionID != loud.ID.String() || page.Data[0].Delivery.State != "pending" || page.Data[0].Delivery.URL != *loud.WebhookURL {
		t.Errorf("one session's: %+v", page)
	}
	if page := b.events("?session_id=" + quiet.ID.String() + "&type=session.pdf_ready"); len(page.Data) != 4 || page.Data[0].Delivery != nil {
		t.Errorf("without a webhook URL: %+v", page)
	}
	for _, query := range []string{"?session_id=" + live.ID.String(), "?after=1000", "?session_id=" + unknownSession} {
		if page := b.events(query); len(page.Data) != 0 {
			t.Errorf("%s: %+v", query, page)
		}
	}
	if page := b.events("?after=1000"); page.NextAfter != 1000 {
		t.Errorf("next_after went back to %d", page.NextAfter)
	}
	for query, field := range map[string]string{
		"after=-1": "after", "after=x": "after", "after=9223372036854775808": "after", "limit=0": "limit", "limit=101": "limit",
		"type=session.unknown": "type", "session_id=sess_x": "session_id", "session_id=": "session_id", "type=": "type",
	} {
		b.get("/events?"+query).refused(http.StatusBadRequest, "invalid_request", field)
	}
}

func second[T any](_ T, err error) error { return err }

// TestFeedIsTheWebhook: an event of the feed has the fields of its webhook, to
// the byte, so a receiver that was down catches up from the feed alone.
func TestFeedIsTheWebhook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{WebhookURL: "https://lender.example/hook", ReferenceID: `<"&'>`})
	b.complete(session.ID)
	stored, err := b.db.Events(t.Context(), session.ID)
	b.ok(err)
	page := b.events("?limit=100")
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
		b.ok(json.Unmarshal(stored[i].Body, &webhook))
		if got.Event != webhook.Event || got.SessionID != webhook.SessionID || got.Sequence != webhook.Sequence || got.Timestamp != webhook.Timestamp || !bytes.Equal(got.Data, webhook.Data) {
			t.Errorf("event %d of the feed is %+v,\nits webhook %s", i, got, stored[i].Body)
		}
	}
}

// TestFeedMissesNothing has 50 writers side by side, some of which roll back
// after they took a number, and pollers that follow next_after meanwhile: each
// sees 1, 2, 3 … to the end, whatever committed late.
func TestFeedMissesNothing(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	b := newBench(t)
	const writers, each = 50, 8
	session := b.newSession(b.testScope(), domain.NewSession{})
	undo := errors.New("undone")
	ctx, finished := context.WithCancel(t.Context())
	var writing sync.WaitGroup
	for w := range writers {
		writing.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(w)))
			for i := range each {
				err := b.service.DB.InTx(t.Context(), func(tx *db.Tx) error {
					var p domain.Payload = domain.PDFReadyPayload{SessionID: session.ID, PageCount: i}
					if w%2 == 0 {
						p = domain.AccessedPayload{SessionID: session.ID}
					}
					if err := b.record(t.Context(), tx, session, p); err != nil {
						return err
					}
					// The number is taken: others overtake now if they can.
					if err := second(tx.Raw().ExecContext(t.Context(), `SELECT pg_sleep($1)`, random.Float64()/500)); err != nil {
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
				page := b.events(fmt.Sprintf("?limit=7&after=%d%s", after, filter))
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
				t.Errorf("poll with %q: %d events up to %d in %d polls, want %d up to %d: %v", filter, len(seen), after, polls, want, kept, seen)
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
	b := newBench(t)
	session := b.newSession(b.testScope(), domain.NewSession{})
	for range 3 {
		b.happen(session, domain.AccessedPayload{SessionID: session.ID})
	}
	b.clock.advance(domain.EventRetention)
	b.happen(session, domain.AccessedPayload{SessionID: session.ID})
	if n, err := b.db.DeleteEvents(t.Context(), b.clock.Now().Add(-domain.EventRetention).Add(time.Second), 100); n != 3 || err != nil {
		t.Fatalf("deleted %d, %v", n, err)
	}
	if page := b.events("?after=1"); *page.OldestSequence != 4 || len(page.Data) != 1 || page.Data[0].Sequence != 4 {
		t.Errorf("%+v", page)
	}
}
