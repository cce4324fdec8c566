package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"sync"
	"time"
)

// receiver does as little work as it can for a webhook, because it shares the
// machine with the service. A webhook's number is its section_number.
type receiver struct {
	listener net.Listener
	url      string
	delay    time.Duration // before each response; forever never responds
	wait     sync.WaitGroup
	closed   chan struct{}

	mu    sync.Mutex
	first map[int]time.Time // when a webhook's first byte arrived
	again int               // webhooks that arrived more than once
	open  map[net.Conn]bool
	more  chan struct{} // a token when a webhook arrives
}

// forever is the delay of a receiver that takes all requests and never responds.
const forever = 24 * time.Hour

func newReceiver(delay time.Duration) (*receiver, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{
		listener: listener, url: fmt.Sprintf("http://%s/hook", listener.Addr()), delay: delay, closed: make(chan struct{}),
		first: map[int]time.Time{}, open: map[net.Conn]bool{}, more: make(chan struct{}, 1),
	}
	r.wait.Go(r.accept)
	return r, nil
}

func (r *receiver) accept() {
	for {
		conn, err := r.listener.Accept()
		if err != nil {
			return // closed
		}
		r.mu.Lock()
		r.open[conn] = true
		r.mu.Unlock()
		r.wait.Go(func() { r.serve(conn) })
	}
}

// serve answers a connection's requests until it closes.
func (r *receiver) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }()
	reader := bufio.NewReaderSize(conn, 16<<10)
	for {
		if _, err := reader.Peek(1); err != nil {
			return
		}
		at := time.Now()
		number, err := readWebhook(reader)
		if err != nil {
			return
		}
		r.note(number, at)
		if r.delay > 0 {
			select {
			case <-time.After(r.delay):
			case <-r.closed:
				return
			}
		}
		if _, err := io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"); err != nil {
			return
		}
	}
}

// readWebhook reads a request and returns the section_number of its body.
func readWebhook(reader *bufio.Reader) (number int, err error) {
	length := 0
	for {
		line, err := reader.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(value))); err != nil {
				return 0, err
			}
		}
	}
	body, err := reader.Peek(length)
	if err != nil {
		return 0, err
	}
	_, after, _ := bytes.Cut(body, []byte(`"section_number":`))
	digits, _, _ := bytes.Cut(after, []byte(","))
	if number, err = strconv.Atoi(string(digits)); err != nil {
		return 0, err
	}
	_, err = reader.Discard(length)
	return number, err
}

func (r *receiver) note(number int, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.first[number]; known {
		r.again++
		return
	}
	r.first[number] = at
	select {
	case r.more <- struct{}{}:
	default:
	}
}

// await waits until n webhooks have arrived and returns when each did.
func (r *receiver) await(n int, patience time.Duration) (map[int]time.Time, error) {
	over := time.After(patience)
	for {
		r.mu.Lock()
		got := len(r.first)
		if got >= n {
			defer r.mu.Unlock()
			return r.first, nil
		}
		r.mu.Unlock()
		select {
		case <-r.more:
		case <-over:
			return nil, fmt.Errorf("only %d of %d webhooks arrived within %s", got, n, patience)
		}
	}
}

func (r *receiver) close() {
	_ = r.listener.Close()
	close(r.closed)
	r.mu.Lock()
	for conn := range r.open {
		_ = conn.Close()
	}
	r.mu.Unlock()
	r.wait.Wait()
}
