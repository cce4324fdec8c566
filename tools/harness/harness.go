// Package harness starts the built service on a temporary PostgreSQL and folder,
// for bench, soak and attack. It must know nothing of what they do.
package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"candor/db"
	"candor/internal/platform/devpg"
	"candor/internal/platform/keyring"
	"candor/internal/testkit/client"
	"candor/internal/testkit/ports"
)

// Options of a service.
type Options struct {
	Name           string   // of the database and of the account
	MaxConnections int      // of PostgreSQL
	Environ        []string // variables beside the usual ones, such as CANDOR_LOG_LEVEL=error
	Serve          bool     // start candor serve, too

	// Dir is a folder that stays, with its account and its data, for the next run; ""
	// for a temporary one.
	Dir string
	// Beside is a service whose PostgreSQL this one shares.
	Beside *Service
}

// A Service is a database with one account and, with Options.Serve, a process that
// serves it on a loopback address.
type Service struct {
	Dir      string // its folder; data below it
	Postgres *devpg.Server
	DSN      string
	DB       *db.DB
	Server   *exec.Cmd // nil without Options.Serve
	Addr     string    // host:port that Server listens on
	Account  client.Account

	binary  string
	environ []string
	kept    bool // its folder stays
	shared  bool // its PostgreSQL is another service's
}

// Start starts the binary. When the context ends, the serving process is killed.
func Start(ctx context.Context, binary string, o Options) (*Service, error) {
	s := &Service{Dir: o.Dir, binary: binary, kept: o.Dir != "", shared: o.Beside != nil}
	var err error
	if s.kept {
		err = os.MkdirAll(s.Dir, 0o700)
	} else {
		s.Dir, err = os.MkdirTemp("", "candor-"+o.Name+"-")
	}
	if err != nil {
		return nil, err
	}
	if err := s.open(ctx, o); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Service) open(ctx context.Context, o Options) (err error) {
	if s.shared {
		s.Postgres = o.Beside.Postgres
	} else if err := s.StartPostgres(ctx, o.MaxConnections); err != nil {
		return err
	}
	if err := s.Postgres.CreateDatabase(ctx, o.Name); err != nil {
		return err
	}
	s.DSN = s.Postgres.DSN(o.Name)
	if s.Addr, err = FreeAddress(); err != nil {
		return err
	}
	keys, err := s.remembered("keys", func() ([]byte, error) { return []byte(keyring.Generate(o.Name)), nil })
	if err != nil {
		return err
	}
	s.environ = append(os.Environ(),
		"CANDOR_ENV=development", "CANDOR_ADDR="+s.Addr, "CANDOR_BASE_URL=http://"+s.Addr, "DATABASE_URL="+s.DSN,
		"CANDOR_DATA_DIR="+s.DataDir(), "CANDOR_SECRET_KEYS="+string(keys), "CANDOR_LOG_LEVEL=error")
	s.environ = append(s.environ, o.Environ...)
	if err := s.Command("migrate").Run(); err != nil {
		return fmt.Errorf("candor migrate: %w", err)
	}
	if s.DB, err = db.Open(ctx, s.DSN, db.Options{MaxOpenConns: 4}); err != nil {
		return err
	}
	account, err := s.remembered("account", func() ([]byte, error) {
		made, err := s.CreateAccount(ctx, o.Name, o.Name+"@example.com")
		if err != nil {
			return nil, err
		}
		return json.Marshal(made)
	})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(account, &s.Account); err != nil || !o.Serve {
		return err
	}
	return s.Serve(ctx)
}

// remembered is what generate returned when the folder was new.
func (s *Service) remembered(name string, generate func() ([]byte, error)) ([]byte, error) {
	file := filepath.Join(s.Dir, name)
	content, err := os.ReadFile(file)
	if !errors.Is(err, fs.ErrNotExist) {
		return content, err
	}
	if content, err = generate(); err != nil {
		return nil, err
	}
	return content, os.WriteFile(file, content, 0o600)
}

// Serve starts candor serve and waits until it is ready.
func (s *Service) Serve(ctx context.Context) error {
	s.Server = exec.CommandContext(ctx, s.binary, "serve")
	s.Server.Env = s.environ
	s.Server.Stderr = os.Stderr
	if err := s.Server.Start(); err != nil {
		return err
	}
	return AwaitOK(ctx, "http://"+s.Addr+"/readyz")
}

// DataDir is the folder of uploaded documents.
func (s *Service) DataDir() string { return filepath.Join(s.Dir, "data") }

// StartPostgres starts PostgreSQL on the service's folder, also after a stop.
func (s *Service) StartPostgres(ctx context.Context, maxConnections int) (err error) {
	s.Postgres, err = devpg.Start(ctx, filepath.Join(s.Dir, "postgres"), devpg.Options{MaxConnections: maxConnections})
	return err
}

// Command is a command of the service. It has no context: callers stop it with a
// signal.
func (s *Service) Command(args ...string) *exec.Cmd {
	cmd := exec.Command(s.binary, args...)
	cmd.Env = s.environ
	return cmd
}

// CreateAccount creates an account on the largest plan. Its owner keeps the printed
// password, which real owners must change first.
func (s *Service) CreateAccount(ctx context.Context, name, email string) (a client.Account, err error) {
	out, err := s.Command("account", "create", "--name", name, "--email", email, "--plan", "enterprise", "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &a)
	}
	if err == nil {
		_, err = s.DB.Raw().ExecContext(ctx, `UPDATE staff_user SET must_change_password = false WHERE email = $1`, email)
	}
	if err != nil {
		return client.Account{}, fmt.Errorf("candor account create: %w", err)
	}
	return a, nil
}

// FreeAddress is a loopback address, host:port, that nothing listens on.
func FreeAddress() (string, error) {
	free, err := ports.Free(1)
	if err != nil {
		return "", err
	}
	return net.JoinHostPort("localhost", strconv.Itoa(free[0])), nil
}

// AwaitOK waits until url answers 200.
func AwaitOK(ctx context.Context, url string) error {
	client := http.Client{Timeout: 5 * time.Second}
	ready := Eventually(ctx, time.Minute, func() bool {
		response, err := client.Get(url)
		if err != nil {
			return false
		}
		_ = response.Body.Close() // only the status matters
		return response.StatusCode == http.StatusOK
	})
	if !ready {
		return fmt.Errorf("%s is not ready", url)
	}
	return nil
}

// Print prints a table in Markdown, below a line that says where and how it was measured.
func Print(how string, columns []string, rows [][]string) {
	fmt.Printf("%s, %s/%s, %d cores, %s, %s\n\n", time.Now().UTC().Format("2 January 2006"), runtime.GOOS, runtime.GOARCH,
		runtime.NumCPU(), runtime.Version(), how)
	w := tabwriter.NewWriter(os.Stdout, 0, 0, 1, ' ', 0)
	for _, cells := range append([][]string{columns, slices.Repeat([]string{"---"}, len(columns))}, rows...) {
		fmt.Fprintf(w, "| %s \t|\n", strings.Join(cells, " \t| "))
	}
	_ = w.Flush() // to the terminal
}

// Eventually asks until ok is true. It returns false if ctx or the time ended.
func Eventually(ctx context.Context, patience time.Duration, ok func() bool) bool {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for !ok() {
		if ctx.Err() != nil {
			return false
		}
		Pause(ctx, 50*time.Millisecond)
	}
	return true
}

// Pause waits, unless ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// Stop stops everything and removes its files, unless they are kept. It ignores errors, which would only
// hide the figures.
func (s *Service) Stop() {
	if s.Server != nil && s.Server.Process != nil {
		_ = s.Server.Process.Signal(syscall.SIGTERM)
		_ = s.Server.Wait()
	}
	if s.DB != nil {
		_ = s.DB.Close()
	}
	if s.Postgres != nil && !s.shared {
		_ = s.Postgres.Stop()
		if !s.kept {
			_ = os.RemoveAll(s.Postgres.Dir()) // which is elsewhere if root runs this
		}
	}
	if !s.kept {
		_ = os.RemoveAll(s.Dir)
	}
}
