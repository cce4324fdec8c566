package devpg

import "syscall"

// dieWithParent makes the kernel shut the server down when this process dies,
// even by kill -9.
func dieWithParent(attr *syscall.SysProcAttr) { attr.Pdeathsig = syscall.SIGINT }
