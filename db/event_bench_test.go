package db_test

import (
	"fmt"
	"sync/atomic"
	"testing"

	"candor/db"
	"candor/internal/domain"
)

// BenchmarkEventSequence records events: by one writer, by eight of one scope,
// which queue for its counter from taking the number to the commit, and by
// eight of eight scopes, which don't meet. The difference between the last two
// is what numbers without a gap cost.
func BenchmarkEventSequence(b *testing.B) {
	for _, tt := range []struct{ writers, scopes int }{{1, 1}, {8, 1}, {8, 8}} {
		b.Run(fmt.Sprintf("writers=%d/scopes=%d", tt.writers, tt.scopes), func(b *testing.B) {
			s := newStore(b)
			var sessions []*domain.Session
			for range tt.scopes {
				sessions = append(sessions, s.session(s.newScope("Writer"), start))
			}
			var writer atomic.Int32
			b.SetParallelism(tt.writers)
			b.ResetTimer()
			b.RunParallel(func(pb *testing.PB) {
				session := sessions[int(writer.Add(1))%tt.scopes]
				for pb.Next() {
					err := s.InTx(s.ctx, func(tx *db.Tx) error {
						n, err := tx.NextSequence(s.ctx, session.Scope())
						if err != nil {
							return err
						}
						event, err := domain.NewEvent(session.Scope(), &session.ID, n, domain.PDFReadyPayload{SessionID: session.ID}, start)
						if err != nil {
							return err
						}
						return tx.InsertEvent(s.ctx, event)
					})
					if err != nil {
						b.Error(err)
						return
					}
				}
			})
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
		})
	}
}
