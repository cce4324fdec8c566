// Package proc reads what Linux says about processes. Tests and tools have it in common.
// On other systems there are none.
package proc

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// clockTick is the kernel's unit of CPU time, for every program.
const clockTick = time.Second / 100

// Process is a process's /proc/PID/stat.
type Process struct {
	PID, Parent int
	CPU         time.Duration // of its own
	ChildrenCPU time.Duration // of children that have ended
}

// All are the processes that run.
func All() (all []Process) {
	stats, _ := filepath.Glob("/proc/[0-9]*/stat") // the pattern is valid
	for _, path := range stats {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		number := func(text []byte) int64 {
			n, _ := strconv.ParseInt(string(text), 10, 64) // it is one
			return n
		}
		// 4321 (post gres) S 1234 …
		pid, _, _ := bytes.Cut(text, []byte(" "))
		fields := bytes.Fields(text[bytes.LastIndexByte(text, ')')+1:])
		all = append(all, Process{
			PID: int(number(pid)), Parent: int(number(fields[1])),
			CPU:         time.Duration(number(fields[11])+number(fields[12])) * clockTick,
			ChildrenCPU: time.Duration(number(fields[13])+number(fields[14])) * clockTick,
		})
	}
	return all
}

// Children are the processes that a process has started.
func Children(parent int) (pids []int) {
	for _, p := range All() {
		if p.Parent == parent {
			pids = append(pids, p.PID)
		}
	}
	return pids
}

// Memory is a value of a process's /proc/PID/status in bytes: VmRSS for what it has, VmHWM for
// the most that it had.
func Memory(pid int, value string) (n int64, err error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, _ := bytes.Cut(status, []byte("\n"+value+":"))
	_, err = fmt.Sscan(string(rest), &n)
	return n << 10, err
}
