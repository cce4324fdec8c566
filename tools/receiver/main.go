// Receiver is a webhook receiver like a partner's: it takes events on a local port,
// verifies their signatures and prints them. It imports nothing of Candor, so it
// tests the contract and not the code.
//
//	WEBHOOK_SECRET=whsec_… go run ./tools/receiver -addr 127.0.0.1:9099
package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:9099", "address to listen on; port 0 takes a free one")
	until := flag.String("until", "", "stop after this event, such as session.pdf_ready")
	timeout := flag.Duration("timeout", time.Minute, "with -until: give up after this time")
	urlFile := flag.String("url-file", "", "write the receiver's address to this file when it listens")
	flag.Parse()
	if err := run(*addr, os.Getenv("WEBHOOK_SECRET"), *until, *timeout, *urlFile); err != nil {
		fmt.Fprintln(os.Stderr, "receiver:", err)
		os.Exit(1)
	}
}

func run(addr, secret, until string, timeout time.Duration, urlFile string) error {
	if secret == "" {
		return errors.New("set WEBHOOK_SECRET to the account's webhook secret")
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return err
	}
	url := "http://" + listener.Addr().String() + "/"
	if urlFile == "" {
		fmt.Println("listening on " + url)
	} else if err := os.WriteFile(urlFile, []byte(url), 0o600); err != nil {
		return err
	}
	r := &receiver{secret: secret, until: until, done: make(chan error, 1)}
	server := &http.Server{Handler: r, ReadHeaderTimeout: 5 * time.Second}
	go func() { r.done <- server.Serve(listener) }()
	if until == "" {
		return <-r.done
	}
	select {
	case err := <-r.done:
		return err
	case <-time.After(timeout):
		return fmt.Errorf("no %s within %s", until, timeout)
	}
}

type receiver struct {
	secret string
	until  string
	done   chan error

	mu      sync.Mutex // one event printed at a time
	unclear int        // events whose signature was wrong
}

// ServeHTTP takes one event.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, err := io.ReadAll(io.LimitReader(request.Body, 1<<20))
	if err != nil {
		http.Error(w, "unreadable", http.StatusBadRequest)
		return
	}
	verified := verify(r.secret, body, request.Header.Get("X-Webhook-Signature"))
	event := r.print(request.Header, body, verified)
	if !verified {
		http.Error(w, "bad signature", http.StatusUnauthorized)
		return
	}
	w.WriteHeader(http.StatusNoContent)
	if r.until != "" && event == r.until {
		var failed error
		if r.unclear > 0 {
			failed = fmt.Errorf("%d events had a wrong signature", r.unclear)
		}
		// The sender must get this response before the process ends.
		time.AfterFunc(200*time.Millisecond, func() { r.done <- failed })
	}
}

// verify compares the hex HMAC-SHA256 of the raw body, keyed with the whole
// secret, in constant time.
func verify(secret string, body []byte, signature string) bool {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	got, err := hex.DecodeString(signature)
	return err == nil && hmac.Equal(got, mac.Sum(nil))
}

func (r *receiver) print(header http.Header, body []byte, verified bool) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !verified {
		r.unclear++
	}
	var envelope struct {
		Event string          `json:"event"`
		Data  json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		envelope.Event = "(not JSON)"
	}
	fmt.Printf("   <- %s  signature verified: %t\n", envelope.Event, verified)
	for _, name := range slices.Sorted(maps.Keys(header)) {
		if strings.HasPrefix(name, "X-Webhook-") {
			fmt.Printf("      %s: %s\n", name, header.Get(name))
		}
	}
	fmt.Printf("      %s\n", envelope.Data)
	return envelope.Event
}
