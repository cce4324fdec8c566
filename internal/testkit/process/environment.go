package process

import (
	"maps"
	"os"
	"testing"

	"candor/internal/testkit/dbtest"
)

// Environment has the variables of a process, without PATH.
type Environment map[string]string

// With returns a copy with more variables, in pairs of name and value; "" removes a
// variable.
func (e Environment) With(pairs ...string) Environment {
	out := maps.Clone(e)
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = pairs[i+1] //nolint:gosec // names and values come in pairs
	}
	return out
}

func (e Environment) list() []string {
	// With the race detector a program sleeps for a second before it ends.
	out := []string{"PATH=" + os.Getenv("PATH"), "TMPDIR=" + os.TempDir(), "GORACE=atexit_sleep_ms=0"}
	for k, v := range e {
		if v != "" {
			out = append(out, k+"="+v)
		}
	}
	return out
}

// NewEnvironment is a development environment with its own database and folder.
func NewEnvironment(t *testing.T) Environment {
	t.Helper()
	return Environment{
		"CANDOR_ADDR": "localhost:0", "CANDOR_DATA_DIR": t.TempDir(), "CANDOR_LOG_LEVEL": "info",
		"CANDOR_DB_CONNECTIONS": "5", "DATABASE_URL": dbtest.DSN(t),
	}
}

const twoKeys = "k2:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=,k1:BBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBA="

// WebEnvironment is NewEnvironment for a web and a worker process side by side.
func WebEnvironment(t *testing.T) Environment {
	return NewEnvironment(t).With("CANDOR_BASE_URL", "http://localhost:8080", "CANDOR_SWEEP_INTERVAL", "1s",
		"CANDOR_RESCUE_AFTER", "1s")
}

// ProductionEnvironment is a complete production configuration on a database.
func ProductionEnvironment(t *testing.T, dsn string) Environment {
	return Environment{
		"CANDOR_ENV": "production", "CANDOR_ADDR": "localhost:0", "CANDOR_BASE_URL": "https://forms.example.com",
		"CANDOR_SECRET_KEYS": twoKeys, "CANDOR_SHUTDOWN_DELAY": "0s", "CANDOR_DATA_DIR": t.TempDir(), "CANDOR_DB_CONNECTIONS": "5",
		"DATABASE_URL": dsn,
	}
}
