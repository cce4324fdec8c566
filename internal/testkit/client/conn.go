package client

import (
	"bufio"
	"bytes"
	"context"
	"net"
	"slices"
	"strconv"
	"strings"
)

// Conn is one kept HTTP/1.1 connection. It does little work for a response,
// because the load generator shares the machine with the service.
type Conn struct {
	Conn   net.Conn
	reader *bufio.Reader
}

// Dial connects to a service.
func Dial(ctx context.Context, addr string) (*Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &Conn{conn, bufio.NewReaderSize(conn, 64<<10)}, nil
}

// Close ends the connection, if there is one.
func (c *Conn) Close() {
	if c != nil {
		_ = c.Conn.Close() // nothing is lost by a connection that broke
	}
}

// Do sends a whole request, drops the response's body and returns its status.
func (c *Conn) Do(request []byte) (status int, err error) {
	if _, err := c.Conn.Write(request); err != nil {
		return 0, err
	}
	length, chunked := 0, false
	for first := true; ; first = false {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		switch {
		case first:
			if status, err = strconv.Atoi(string(line[9:12])); err != nil {
				return 0, err
			}
		case len(line) <= 2:
			if chunked {
				return status, c.discardChunks()
			}
			_, err = c.reader.Discard(length)
			return status, err
		case bytes.HasPrefix(line, []byte("Content-Length: ")):
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[16:]))); err != nil {
				return 0, err
			}
		case bytes.HasPrefix(line, []byte("Transfer-Encoding: ")):
			chunked = true
		}
	}
}

// discardChunks drops a chunked body.
func (c *Conn) discardChunks() error {
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		size, err := strconv.ParseInt(string(bytes.TrimSpace(line)), 16, 32)
		if err != nil {
			return err
		}
		if _, err := c.reader.Discard(int(size) + len("\r\n")); err != nil || size == 0 {
			return err
		}
	}
}

// Request writes a whole HTTP/1.1 request. Its body is JSON unless a header sets
// another type.
func Request(method, addr, path, body string, header ...string) []byte {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: " + addr}, header...)
	if body != "" {
		if !slices.ContainsFunc(header, func(h string) bool { return strings.HasPrefix(h, "Content-Type: ") }) {
			lines = append(lines, "Content-Type: application/json")
		}
		lines = append(lines, "Content-Length: "+strconv.Itoa(len(body)))
	}
	return []byte(strings.Join(lines, "\r\n") + "\r\n\r\n" + body)
}
