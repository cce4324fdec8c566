package dashboard_test

import (
	"os"
	"testing"

	"candor/internal/testkit/browsertest"
	"candor/internal/testkit/harness"
)

func TestMain(m *testing.M) { os.Exit(browsertest.Main(m)) }

// execSQL changes what is stored behind the service's back.
func execSQL(h *harness.Harness, query string, args ...any) {
	h.Helper()
	_, err := h.DB.Raw().ExecContext(h.Context(), query, args...)
	h.OK(err)
}
