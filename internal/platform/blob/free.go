//go:build linux || darwin

package blob

import "golang.org/x/sys/unix"

// Free returns how many bytes can still be stored.
func (f *Files) Free() (uint64, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(f.dir, &s); err != nil {
		return 0, err
	}
	return s.Bavail * uint64(s.Bsize), nil
}
