package harness

import (
	"bytes"
	"sync"
)

// LogBuffer keeps what the server logs.
type LogBuffer struct {
	Mu sync.Mutex
	B  bytes.Buffer
}

// Write appends a log line.
func (l *LogBuffer) Write(p []byte) (int, error) {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.B.Write(p)
}

// Clear forgets the lines so far.
func (l *LogBuffer) Clear() {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	l.B.Reset()
}

// String returns all lines.
func (l *LogBuffer) String() string {
	l.Mu.Lock()
	defer l.Mu.Unlock()
	return l.B.String()
}
