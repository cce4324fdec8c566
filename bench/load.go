package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
)

// client is one kept HTTP/1.1 connection. It does next to nothing with a
// response, so that the load generator takes little of the machine it shares
// with the service.
type client struct {
	conn   net.Conn
	reader *bufio.Reader
}

func dial(ctx context.Context, addr string) (*client, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn, bufio.NewReaderSize(conn, 64<<10)}, nil
}

// do sends a whole request and returns the response's status; its body is
// dropped.
func (c *client) do(request []byte) (status int, err error) {
	if _, err := c.conn.Write(request); err != nil {
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
func (c *client) discardChunks() error {
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

// request writes a whole HTTP/1.1 request.
func request(method, addr, path, body string, header ...string) []byte {
	lines := append([]string{method + " " + path + " HTTP/1.1", "Host: " + addr}, header...)
	if body != "" {
		lines = append(lines, "Content-Type: application/json", "Content-Length: "+strconv.Itoa(len(body)))
	}
	return []byte(strings.Join(lines, "\r\n") + "\r\n\r\n" + body)
}

// load sends the request from n clients for the span and returns how many
// answers a second had the wanted status; any other is an error.
func load(ctx context.Context, addr string, n int, span time.Duration, request []byte, want int) (float64, error) {
	ctx, cancel := context.WithTimeout(ctx, span)
	defer cancel()
	type outcome struct {
		count int
		err   error
	}
	outcomes := make(chan outcome, n)
	began := time.Now()
	for range n {
		go func() {
			count, err := repeat(ctx, addr, request, want)
			outcomes <- outcome{count, err}
		}()
	}
	total := 0
	var failed error
	for range n {
		o := <-outcomes
		total += o.count
		failed = errors.Join(failed, o.err)
	}
	return float64(total) / time.Since(began).Seconds(), failed
}

func repeat(ctx context.Context, addr string, request []byte, want int) (count int, err error) {
	c, err := dial(context.WithoutCancel(ctx), addr)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.conn.Close()) }()
	for ctx.Err() == nil {
		status, err := c.do(request)
		if err != nil {
			return count, err
		}
		if status != want {
			return count, fmt.Errorf("answered %d instead of %d", status, want)
		}
		count++
	}
	return count, nil
}

// latencies sends the request n times, one after another, and returns the
// sorted times.
func latencies(ctx context.Context, addr string, n int, request []byte, want int) ([]time.Duration, error) {
	c, err := dial(ctx, addr)
	if err != nil {
		return nil, err
	}
	defer func() { _ = c.conn.Close() }()
	out := make([]time.Duration, n)
	for i := range out {
		began := time.Now()
		status, err := c.do(request)
		if err != nil {
			return nil, err
		}
		if status != want {
			return nil, fmt.Errorf("answered %d instead of %d", status, want)
		}
		out[i] = time.Since(began)
	}
	slices.Sort(out)
	return out, nil
}

// quantile of sorted times, 0 to 1.
func quantile(sorted []time.Duration, q float64) time.Duration {
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}
