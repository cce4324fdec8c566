package main

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// dieWithParent makes the kernel kill the command when the soak test ends, however it
// ends.
func dieWithParent(cmd *exec.Cmd) {
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
}

// mountDisk mounts a disk of a limited size on the folder, which can then be full.
func mountDisk(dir string, megabytes int) error {
	if os.Getuid() != 0 {
		return fmt.Errorf("only root can mount a small disk")
	}
	return syscall.Mount("tmpfs", dir, "tmpfs", 0, fmt.Sprintf("size=%dm,mode=0755", megabytes))
}

func unmountDisk(dir string) error { return syscall.Unmount(dir, syscall.MNT_DETACH) }

// fill takes what is left of a disk, by a file of that path.
func fill(path, disk string) error {
	var left syscall.Statfs_t
	if err := syscall.Statfs(disk, &left); err != nil {
		return err
	}
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()                                                  // its size is what matters
	return syscall.Fallocate(int(f.Fd()), 0, 0, int64(left.Bavail)*int64(left.Bsize)) // a moment later some may be left
}
