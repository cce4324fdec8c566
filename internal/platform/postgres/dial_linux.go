package postgres

import (
	"syscall"
	"time"
)

// tcpUserTimeout is Linux' TCP_USER_TIMEOUT, which package syscall lacks.
const tcpUserTimeout = 0x12

// boundAnswers closes a connection whose data the other side hasn't confirmed for that
// long.
func boundAnswers(fd uintptr, after time.Duration) error {
	return syscall.SetsockoptInt(int(fd), syscall.IPPROTO_TCP, tcpUserTimeout, int(after.Milliseconds()))
}
