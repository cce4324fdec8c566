package testkit

import (
	"bytes"
	"sync"
)

// A LogBuffer keeps what is logged. It is safe for concurrent use.
type LogBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends a log line.
func (l *LogBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// Clear forgets the lines so far.
func (l *LogBuffer) Clear() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.text.Reset()
}

// String returns all lines.
func (l *LogBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
