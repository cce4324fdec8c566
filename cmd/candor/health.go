package main

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"

	"candor/cmd/candor/cli"
	"candor/cmd/candor/config"
)

// healthTimeout bounds the request. A container's check is repeated every 30 seconds.
const healthTimeout = 5 * time.Second

// health asks /healthz of the process that serves with the same settings, for a
// container whose image has no other program. The operators' address is there in
// workers, too, so it goes first.
func (p *process) health(ctx context.Context, args []string) error {
	if err := cli.NewFlags("health").Parse(args); err != nil {
		return err
	}
	c, err := config.Read(p.env)
	if err != nil {
		return err
	}
	addr := c.Addr
	if c.MetricsAddr != "" {
		addr = c.MetricsAddr
	}
	host, port, err := net.SplitHostPort(addr)
	if err != nil {
		return err
	}
	if ip := net.ParseIP(host); host == "" || ip.IsUnspecified() {
		host = "localhost"
	}
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+net.JoinHostPort(host, port)+"/healthz", nil)
	if err != nil {
		return err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("the process doesn't answer: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("the process answers with status %d", response.StatusCode)
	}
	_, err = fmt.Fprintln(p.stdout, "alive")
	return err
}
