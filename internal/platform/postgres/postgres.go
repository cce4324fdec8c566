// Package postgres connects to PostgreSQL: it reads connection strings, keeps statements
// prepared, ends what a context ends, and leaves a server that is lost or no longer takes
// writes. Package db keeps tables on it.
//
// With db it is the only package that imports lib/pq. It must not know tables.
package postgres

import (
	"database/sql/driver"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/lib/pq"
)

// Readable reports whether someone on the network could read or change what is
// sent to the database of dsn, or pose as it. It isn't if each host is a unix
// socket or a loopback address, or must prove its name by TLS (verify-full).
func Readable(dsn string) (bool, error) {
	cfg, err := parse(dsn)
	if err != nil {
		return false, err
	}
	if cfg.SSLMode == pq.SSLModeVerifyFull {
		return false, nil
	}
	hosts := append([]pq.ConfigMultihost{{Host: cfg.Host, Hostaddr: cfg.Hostaddr}}, cfg.Multi...)
	return slices.ContainsFunc(hosts, func(h pq.ConfigMultihost) bool { return !onThisMachine(h) }), nil
}

func onThisMachine(h pq.ConfigMultihost) bool {
	if h.Hostaddr.IsValid() {
		return h.Hostaddr.IsLoopback()
	}
	ip, err := netip.ParseAddr(strings.Trim(h.Host, "[]")) // a URL has IPv6 in brackets
	return err == nil && ip.IsLoopback() || h.Host == "localhost" || strings.HasPrefix(h.Host, "/") || strings.HasPrefix(h.Host, "@")
}

// RoleOf returns the role that a connection string names.
func RoleOf(dsn string) (string, error) {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return "", errDSN
	}
	return config.User, nil
}

// errDSN has no part of the string: lib/pq and net/url quote what they stumble over,
// which is the start of a password that has a slash or a space.
var errDSN = errors.New(
	"postgres: the database's connection string is not valid: it must be as postgres://user:password@host:5432/database, with special characters of the password percent-encoded")

// parse reads a connection string. Its error doesn't contain the password.
func parse(dsn string) (pq.Config, error) {
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return pq.Config{}, errDSN
	}
	return cfg, nil
}

// NewConnector is lib/pq's, of sessions that speak UTC unless dsn sets another timezone.
// Through a pooler each statement must be one message with its parameters
// (binary_parameters). lib/pq otherwise sends the statement and its parameters in two,
// between which a pooler in transaction mode can change the connection: of 2,400 results
// 1,914 were those of other clients' statements, without an error.
func NewConnector(dsn string, pooler bool, all *Servers) (driver.Connector, error) {
	cfg, err := parse(dsn)
	if err != nil {
		return nil, err
	}
	cfg.BinaryParameters = cfg.BinaryParameters || pooler
	if cfg.Runtime == nil {
		cfg.Runtime = map[string]string{}
	}
	if _, ok := cfg.Runtime["timezone"]; !ok {
		cfg.Runtime["timezone"] = "UTC"
	}
	connector, err := pq.NewConnectorConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("postgres: the database's connection settings are not valid: %w", err)
	}
	connector.Dialer(all)
	return connector, nil
}
