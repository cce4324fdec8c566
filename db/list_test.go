package db_test

import (
	"strings"
	"testing"

	"candor/internal/domain"
)

// Each filter of a list names a column that exists and an index that holds it.
// One without an index reads rows and leaves them out, as the request log does.
func TestEveryFilterHasItsIndex(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	checkFilters(s, domain.SessionFilters, "session", "session_search")
	checkFilters(s, domain.DeliveryFilters, "event", "delivery")
	checkFilters(s, domain.EventFilters, "event")
	checkFilters(s, domain.AuditFilters, "audit_log")
	checkFilters(s, domain.RequestFilters, "api_request")
}

func checkFilters[F any](s *store, filters []domain.Filter[F], tables ...string) {
	s.Helper()
	seen := map[string]bool{}
	var zero F
	for _, one := range filters {
		if one.Name == "" || seen[one.Name] || one.Value == nil {
			s.Errorf("%s: filter %q has no name or value, or is there twice", tables[0], one.Name)
			continue
		}
		seen[one.Name] = true
		if value := one.Value(&zero); value != nil && value != int64(0) {
			s.Errorf("%s: filter %s is set to %v where nothing was asked for", tables[0], one.Name, value)
		}
		var columns int
		s.ok(s.Raw().GetContext(s.ctx, &columns, `
			SELECT count(*) FROM information_schema.columns WHERE table_schema = 'public' AND table_name = ANY (string_to_array($1, ' '))
				AND column_name = $2`,
			strings.Join(tables, " "), one.Column))
		if one.Column != "" && columns == 0 {
			s.Errorf("%s: filter %s compares %s, which is no column", tables[0], one.Name, one.Column)
		}
		if one.Index == "" {
			continue
		}
		var indexes []string
		s.ok(s.Raw().SelectContext(s.ctx, &indexes, `
			SELECT indexdef FROM pg_indexes WHERE schemaname = 'public' AND tablename = ANY (string_to_array($1, ' ')) AND indexname = $2`,
			strings.Join(tables, " "), one.Index))
		sorted := one.Compare != domain.Equal && one.Compare != domain.EqualFold // times and numbers: the list's order finds them
		if len(indexes) != 1 || !sorted && !strings.Contains(indexes[0], one.Column) {
			s.Errorf("%s: filter %s is found by %s, which is %q", tables[0], one.Name, one.Index, indexes)
		}
	}
}
