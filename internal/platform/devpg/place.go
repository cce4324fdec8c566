package devpg

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

// maxSocketPath is the shortest limit among the systems (macOS: 104 bytes
// with the closing zero; Linux: 108).
const maxSocketPath = 103

// errClosed marks a folder that the server's user cannot reach.
var errClosed = errors.New("a parent folder is closed to the user PostgreSQL runs as")

// owner is the user the server runs as.
type owner struct {
	uid, gid uint32
	name     string
	drop     bool // the caller is root and must drop to this user
}

// credential is nil when the server runs as the caller.
func (o owner) credential() *syscall.Credential {
	if !o.drop {
		return nil
	}
	return &syscall.Credential{Uid: o.uid, Gid: o.gid}
}

// findOwner returns the user as which a server runs: the caller, or if that is root, which
// PostgreSQL refuses, the first one of names.
func findOwner() (owner, error) {
	if os.Getuid() != 0 {
		return owner{uid: uint32(os.Getuid()), gid: uint32(os.Getgid())}, nil
	}
	names := []string{"postgres", "nobody"}
	for _, n := range names {
		u, err := user.Lookup(n)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil || uid == 0 {
			continue
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			continue
		}
		return owner{uid: uint32(uid), gid: uint32(gid), name: n, drop: true}, nil
	}
	return owner{}, fmt.Errorf(
		"devpg: PostgreSQL does not run as root, and there is no other user among %v: create one, or set DATABASE_URL to a running server", names)
}

// Credential is that of PostgreSQL's user, as which root runs its programs; nil for anyone else.
func Credential() (*syscall.Credential, error) {
	o, err := findOwner()
	return o.credential(), err
}

// place is where a server lives: its data, locks and log in dir, its socket
// in dir too unless that path is too long.
type place struct {
	dir    string
	socket string
	owner  owner
}

func (p place) path(name string) string { return filepath.Join(p.dir, name) }
func (p place) data() string            { return p.path("data") }
func (p place) log() string             { return p.path("postgres.log") }

// choosePlace prepares dir, or, where the server's user cannot reach it (root's
// home is closed), a folder for temporary files that belongs to dir alone. The
// notice says so.
func choosePlace(dir string, o owner) (p place, notice string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return place{}, "", fmt.Errorf("devpg: %w", err)
	}
	err = claim(dir, o)
	if errors.Is(err, errClosed) {
		wanted := dir
		dir = filepath.Join(os.TempDir(), "candor-postgres-"+fingerprint(wanted))
		notice = fmt.Sprintf("PostgreSQL runs as user %s, who cannot enter %s; its data are in %s instead", o.name, wanted, dir)
		err = claim(dir, o)
	}
	if err != nil {
		return place{}, "", unusable(dir, err)
	}
	p = place{dir: dir, owner: o}
	p.socket, err = chooseSocket(dir, o)
	return p, notice, err
}

func chooseSocket(dir string, o owner) (string, error) {
	short := "candor-" + fingerprint(dir)
	for _, s := range []string{filepath.Join(dir, "socket"), filepath.Join(os.TempDir(), short), filepath.Join("/tmp", short)} {
		if len(filepath.Join(s, ".s.PGSQL.5432")) > maxSocketPath {
			continue
		}
		if err := claim(s, o); err != nil {
			return "", unusable(s, err)
		}
		return s, nil
	}
	return "", fmt.Errorf("devpg: no folder is short enough for the socket of %s: use a shorter path", dir)
}

// claim creates dir if need be and makes it the server user's own. It refuses
// a folder that another user has put there, as anyone can do under /tmp.
func claim(dir string, o owner) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o755); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	st, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	sys, ok := st.Sys().(*syscall.Stat_t)
	if !ok || !st.IsDir() {
		return errors.New("it is not a folder")
	}
	if int(sys.Uid) != os.Getuid() && sys.Uid != o.uid {
		return fmt.Errorf("it belongs to user id %d", sys.Uid)
	}
	if o.drop {
		if err := os.Chown(dir, int(o.uid), int(o.gid)); err != nil {
			return err
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	return probe(dir, o)
}

// probe checks, as the server's user, that the folder can be entered and written.
func probe(dir string, o owner) error {
	cmd := exec.Command("/bin/sh", "-c", `cd "$0" || exit 3; test -w . || exit 4`, dir)
	cmd.Dir, cmd.Env = "/", []string{"LC_ALL=C"}
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: o.credential()}
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &exit) && exit.ExitCode() == 3 && o.drop:
		return errClosed
	case errors.As(err, &exit) && exit.ExitCode() == 4:
		return syscall.EACCES
	default:
		return err
	}
}

func unusable(dir string, err error) error {
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		dir, err = path.Path, path.Err
	}
	return fmt.Errorf("devpg: cannot use %s: %w: make it writable, name another folder, or set DATABASE_URL to a running server",
		dir, err)
}

// fingerprint is a short stable name for a path.
func fingerprint(path string) string {
	h := sha256.Sum256([]byte(path))
	return hex.EncodeToString(h[:6])
}
