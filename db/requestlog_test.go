package db_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"candor/db"
	"candor/internal/domain"
)

// logged makes n lines of the log, a second apart from the start on, each as
// change has it.
func (s *store) logged(n int, change func(i int, r *domain.APIRequest)) []domain.APIRequest {
	s.Helper()
	out := make([]domain.APIRequest, n)
	for i := range out {
		at := start.Add(time.Duration(i) * time.Second)
		out[i] = domain.APIRequest{
			ID: domain.NewRequestID(at), AccountID: s.scope.AccountID, Livemode: s.scope.Livemode, KeyID: newKeyID(),
			Method: "GET", Route: "/v1/sessions", Status: 200, DurationUS: 1500, Address: "192.0.2.1",
		}
		change(i, &out[i])
	}
	s.ok(s.InsertAPIRequests(s.ctx, out))
	return out
}

func TestAPIRequests(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	key, session, document := newKeyID(), domain.NewSessionID(), domain.NewDocumentID()
	lines := s.logged(12, func(i int, r *domain.APIRequest) {
		r.KeyID = key
		switch i % 4 {
		case 1:
			r.Status, r.ErrorCode = 404, domain.CodeSessionNotFound
		case 2:
			r.Status, r.ErrorCode, r.Method = 422, domain.CodeValidation, "POST"
		case 3:
			r.Status, r.Replayed, r.Method, r.KeyID = 201, true, "POST", newKeyID()
			r.SessionID, r.DocumentID = &session, &document
		}
	})
	other := domain.APIRequest{ID: domain.NewRequestID(start), AccountID: s.scope.AccountID, Livemode: !s.scope.Livemode, KeyID: key,
		Status: 200}
	s.ok(s.InsertAPIRequests(s.ctx, []domain.APIRequest{other}))

	from, to := start.Add(2*time.Second), start.Add(5*time.Second)
	missing, known := []domain.Code{domain.CodeSessionNotFound}, []domain.Code{domain.CodeSessionNotFound, domain.CodeValidation}
	for name, test := range map[string]struct {
		filter domain.RequestFilter
		want   []int
	}{
		"all":                {domain.RequestFilter{}, []int{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}},
		"one":                {domain.RequestFilter{ID: &lines[4].ID}, []int{4}},
		"another mode's":     {domain.RequestFilter{ID: &other.ID}, nil},
		"key":                {domain.RequestFilter{Key: &lines[3].KeyID}, []int{3}},
		"code":               {domain.RequestFilter{Codes: missing, Status: 404}, []int{9, 5, 1}},
		"codes":              {domain.RequestFilter{Codes: known, Status: 4}, []int{10, 9, 6, 5, 2, 1}},
		"no code fits":       {domain.RequestFilter{Codes: []domain.Code{}}, nil},
		"codes and method":   {domain.RequestFilter{Codes: known, Method: "POST"}, []int{10, 6, 2}},
		"codes and key":      {domain.RequestFilter{Codes: known, Key: &lines[3].KeyID}, nil},
		"status":             {domain.RequestFilter{Status: 201}, []int{11, 7, 3}},
		"class":              {domain.RequestFilter{Status: 2}, []int{11, 8, 7, 4, 3, 0}},
		"method":             {domain.RequestFilter{Method: "POST"}, []int{11, 10, 7, 6, 3, 2}},
		"time":               {domain.RequestFilter{From: &from, To: &to}, []int{4, 3, 2}},
		"time, code, method": {domain.RequestFilter{From: &from, Codes: known, Method: "GET"}, []int{9, 5}},
	} {
		for limit := 1; limit < 14; limit += 4 {
			var got []int
			for before := (*domain.RequestID)(nil); ; {
				page, reached, err := s.APIRequests(s.ctx, s.scope, test.filter, before, limit)
				s.ok(err)
				if reached != nil {
					t.Errorf("%s: gave up at %v", name, reached)
				}
				for _, r := range page {
					got = append(got, slices.IndexFunc(lines, func(l domain.APIRequest) bool { return l.ID == r.ID }))
				}
				if len(page) < limit {
					break
				}
				before = &page[limit-1].ID
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("%s, %d at once: lines %v, want %v", name, limit, got, test.want)
			}
		}
	}
	got, err := s.APIRequest(s.ctx, s.scope, lines[3].ID)
	s.ok(err)
	if fmt.Sprint(*got.SessionID, *got.DocumentID) != fmt.Sprint(session, document) || !got.Replayed || got.DurationUS != 1500 ||
		!got.At().Equal(start.Add(3*time.Second).Truncate(time.Millisecond)) {
		t.Errorf("read back: %+v", got)
	}
	_, err = s.APIRequest(s.ctx, s.scope, other.ID)
	s.missing("the other mode's", err)
}

// What hardly matches is sought no further back than RequestReach lines, and
// where that was is told, so that the search can go on.
func TestAPIRequestsGiveUp(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	lines := s.logged(domain.RequestReach+5, func(i int, r *domain.APIRequest) {
		if i == 2 {
			r.Method = "POST"
		}
	})
	rare := domain.RequestFilter{Method: "POST"}
	page, reached, err := s.APIRequests(s.ctx, s.scope, rare, nil, 10)
	s.ok(err)
	if len(page) != 0 || reached == nil || *reached != lines[5].ID {
		t.Fatalf("%d found, given up at %v; want none, and line 5, %v", len(page), reached, lines[5].ID)
	}
	page, reached, err = s.APIRequests(s.ctx, s.scope, rare, reached, 10)
	s.ok(err)
	if len(page) != 1 || page[0].ID != lines[2].ID || reached != nil {
		t.Errorf("further back: %d found, given up at %v; want line 2", len(page), reached)
	}
	if page, reached, err = s.APIRequests(s.ctx, s.scope, domain.RequestFilter{Method: "GET"}, nil, 10); err != nil ||
		len(page) != 10 || reached != nil {
		t.Errorf("what matches often: %d, given up at %v, %v", len(page), reached, err)
	}
}

func TestAPIRequestsAreDeleted(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	key, _ := domain.NewAPIKey(s.scope, "key", start)
	s.tx(func(tx *db.Tx) error { return tx.InsertAPIKey(s.ctx, &key) })
	s.tx(func(tx *db.Tx) error { return tx.DeleteAPIKey(s.ctx, key.ID, start) })
	lines := s.logged(5, func(_ int, r *domain.APIRequest) { r.KeyID = key.ID })
	forget := func(want int) {
		t.Helper()
		n, err := s.ForgetAPIKeys(s.ctx, start.Add(time.Hour), 10)
		if s.ok(err); n != want {
			t.Errorf("%d keys forgotten, want %d", n, want)
		}
	}
	for _, step := range []struct{ limit, want, left int }{{2, 2, 3}, {2, 1, 2}, {2, 0, 2}} {
		n, err := s.DeleteAPIRequests(s.ctx, start.Add(3*time.Second), step.limit)
		s.ok(err)
		page, _, err := s.APIRequests(s.ctx, s.scope, domain.RequestFilter{}, nil, 10)
		s.ok(err)
		if n != step.want || len(page) != step.left || page[0].ID != lines[4].ID {
			t.Errorf("%d deleted, %d left; want %d and %d", n, len(page), step.want, step.left)
		}
	}
	forget(0)
	_, err := s.DeleteAPIRequests(s.ctx, start.Add(time.Hour), 10)
	s.ok(err)
	forget(1)
}

func newKeyID() domain.KeyID {
	key, _ := domain.NewAPIKey(domain.Scope{}, "", start)
	return key.ID
}
