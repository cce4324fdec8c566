//go:build !linux

package devpg

import "syscall"

// dieWithParent does nothing where the kernel offers no such thing: a server
// whose starter was killed keeps running, and the next Start reuses it.
func dieWithParent(*syscall.SysProcAttr) {}
