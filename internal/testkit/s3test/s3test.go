// Package s3test runs an S3 service for a test: versitygw, which make check-s3 builds.
package s3test

import (
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"candor/internal/platform/blob"
	"candor/internal/testkit"
	"candor/internal/testkit/ports"
)

// bucket is the bucket of each service.
const bucket = "candor-blobs"

// gateway is the program, "" if the tests run without S3.
func gateway() string { return os.Getenv("VERSITYGW") }

// Server is an S3 service with an empty bucket. It ends with its test.
type Server struct {
	Config blob.S3Config
	Addr   string
	dir    string
	Kill   func() // is kill -9
	t      testing.TB
}

// Start starts a service. Without the program the test is skipped.
func Start(t testing.TB) *Server {
	t.Helper()
	if gateway() == "" {
		t.Skip("make check-s3 runs it")
	}
	s := &Server{t: t, dir: t.TempDir()}
	if err := os.Mkdir(filepath.Join(s.dir, bucket), 0o700); err != nil {
		t.Fatal(err)
	}
	s.Addr = ports.Local(ports.ForTest(t, 1)[0])
	s.Config = blob.S3Config{Endpoint: "http://" + s.Addr, Bucket: bucket, Region: "us-east-1", AccessKey: "test",
		SecretKey: "secret-of-s3"}
	s.Restart()
	return s
}

// Restart starts the service again after Kill, with what it has stored.
func (s *Server) Restart() {
	s.t.Helper()
	s.Kill = testkit.Start(s.t, exec.CommandContext(context.Background(), gateway(), "--port", s.Addr, "--access",
		s.Config.AccessKey, "--secret", s.Config.SecretKey, "--quiet", "posix", s.dir))
	testkit.Await(s.t, "versitygw doesn't answer", func() bool {
		conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", s.Addr)
		return err == nil && conn.Close() == nil
	})
}

// Settings are the names and values of a process's settings for the bucket.
func (s *Server) Settings() []string {
	return []string{
		"CANDOR_S3_ENDPOINT", s.Config.Endpoint, "CANDOR_S3_BUCKET", s.Config.Bucket,
		"CANDOR_S3_ACCESS_KEY", s.Config.AccessKey, "CANDOR_S3_SECRET_KEY", s.Config.SecretKey,
	}
}

// Place returns a Place in the service's bucket.
func (s *Server) Place() *blob.S3 { return s.At(s.Addr) }

// At returns a Place in the bucket, reached at another address.
func (s *Server) At(addr string) *blob.S3 {
	s.t.Helper()
	config := s.Config
	config.Endpoint = "http://" + addr
	place, err := blob.NewS3(config, s.t.TempDir())
	if err != nil {
		s.t.Fatal(err)
	}
	return place
}

// Place returns the Place of a test that is about something else: a folder, or with
// make check-s3 a bucket.
func Place(t testing.TB) blob.Place {
	t.Helper()
	if gateway() != "" {
		return Start(t).Place()
	}
	files, err := blob.NewFiles(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// Relay returns an address that leads to addr until the test ends. What is sent in
// each direction can be changed on the way; nil ends the connection.
func Relay(t testing.TB, addr string, up, down func([]byte) []byte) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(context.Background(), "tcp", addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			go relay(server, client, up)
			go relay(client, server, down)
		}
	}()
	return listener.Addr().String()
}

func relay(to, from net.Conn, change func([]byte) []byte) {
	defer to.Close()
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		out := buffer[:n]
		if n > 0 && change != nil {
			if out = change(out); out == nil {
				return
			}
		}
		if _, writeErr := to.Write(out); err != nil || writeErr != nil {
			return
		}
	}
}
