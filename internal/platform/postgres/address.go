package postgres

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"
)

// What several hosts get unless the connection string says otherwise: a connection
// to the one that takes writes, and no long wait for one that is gone.
const (
	failoverAttrs   = "read-write"
	failoverTimeout = "3"
)

// Address returns a connection string that lib/pq and pgx, on which workers run jobs,
// read alike. The hosts of postgres://u:p@h1:1,h2:2/db, which lib/pq can't read, become
// parameters. What the two assume differently is stated: the host localhost,
// sslmode=require. A string that they still read differently is refused. The error is
// worded to follow the setting's name and doesn't have the password.
func Address(dsn string) (string, error) {
	dsn, err := hostsAsParameters(dsn)
	if err != nil {
		return "", err
	}
	cfg, err := pq.NewConfig(dsn)
	if err != nil {
		return "", unreadable(err)
	}
	if cfg.Hostaddr.IsValid() {
		return "", errors.New("has hostaddr, which workers can't use: give the address as host")
	}
	if hosts := hostsOf(cfg); len(hosts) > 1 {
		switch cfg.TargetSessionAttrs {
		case pq.TargetSessionAttrsReadWrite, pq.TargetSessionAttrsPrimary:
		case "":
			dsn = withParameter(dsn, "target_session_attrs", failoverAttrs)
		default:
			return "", fmt.Errorf(
				"has several hosts and target_session_attrs=%s, but Candor writes: leave it out, or set it to read-write",
				cfg.TargetSessionAttrs)
		}
		if cfg.ConnectTimeout == 0 {
			dsn = withParameter(dsn, "connect_timeout", failoverTimeout)
		}
	} else if cfg.Host == "localhost" && !strings.Contains(dsn, "localhost") {
		dsn = withParameter(dsn, "host", "localhost") // pgx would look for a socket
	}
	if cfg.SSLMode == "" {
		dsn = withParameter(dsn, "sslmode", string(pq.SSLModeRequire)) // pgx would do without TLS
	}
	return dsn, readAlike(dsn)
}

// otherScheme is the scheme of an address of something else.
var otherScheme = regexp.MustCompile(`^(mysql|mariadb|sqlite3?|sqlserver|mssql|oracle|mongodb(\+srv)?|redis|https?)$`)

// hostsAsParameters moves a URL's list of hosts into its parameters.
func hostsAsParameters(dsn string) (string, error) {
	scheme, rest, ok := strings.Cut(dsn, "://")
	if ok && otherScheme.MatchString(scheme) {
		return "", fmt.Errorf("must be PostgreSQL's, not an address of %s: such as postgres://user:password@host:5432/candor", scheme)
	}
	if !ok || scheme != "postgres" && scheme != "postgresql" {
		return dsn, nil
	}
	end := len(rest)
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		end = i
	}
	authority, rest := rest[:end], rest[end:]
	user, list := "", authority
	if i := strings.LastIndex(authority, "@"); i >= 0 {
		user, list = authority[:i+1], authority[i+1:]
	}
	var hosts, ports []string
	for one := range strings.SplitSeq(list, ",") {
		host, port, err := net.SplitHostPort(one)
		if err != nil {
			host, port = strings.Trim(one, "[]"), "5432"
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return "", errors.New("has a port that isn't a number: write a / of the password as %2F, an @ as %40, a : as %3A")
		}
		hosts, ports = append(hosts, host), append(ports, port)
	}
	if len(hosts) == 1 {
		return dsn, nil
	}
	_, query, _ := strings.Cut(rest, "?")
	if set, err := url.ParseQuery(query); err != nil || set.Has("host") || set.Has("port") {
		return "", errors.New("names hosts both before the database and as parameters: keep one of them")
	}
	if !strings.HasPrefix(rest, "/") {
		rest = "/" + rest
	}
	dsn = withParameter(scheme+"://"+user+rest, "host", strings.Join(hosts, ","))
	return withParameter(dsn, "port", strings.Join(ports, ",")), nil
}

// Named returns the connection string with the name by which pg_stat_activity shows its
// connections, unless it has one. The name has no space and no quote.
func Named(dsn, name string) string {
	if strings.Contains(dsn, "application_name") {
		return dsn
	}
	return withParameter(dsn, "application_name", name)
}

// withParameter adds a parameter to a URL or to key=value pairs. Values are names and
// numbers, which need no quoting.
func withParameter(dsn, key, value string) string {
	switch {
	case !strings.Contains(dsn, "://"):
		return dsn + " " + key + "=" + value
	case strings.Contains(dsn, "?"):
		return dsn + "&" + key + "=" + value
	}
	return dsn + "?" + key + "=" + value
}

// readAlike compares what the two drivers read.
func readAlike(dsn string) error {
	ours, err := pq.NewConfig(dsn)
	if err != nil {
		return unreadable(err)
	}
	theirs, err := pgx.ParseConfig(dsn)
	if err != nil {
		return unreadable(err)
	}
	list := []string{address(theirs.Host, theirs.Port)}
	for _, f := range theirs.Fallbacks {
		list = append(list, address(f.Host, f.Port))
	}
	switch {
	case ours.User != theirs.User || ours.Password != "" && ours.Password != theirs.Password || ours.Database != theirs.Database:
		return errors.New(
			"is ambiguous: it can be read with different users, passwords or databases; write special characters of the password as % and two digits, such as %40 for @")
	case !slices.Equal(hostsOf(ours), slices.Compact(list)): // pgx lists a host twice to try it with and without TLS
		return fmt.Errorf(
			"is ambiguous: web processes would connect to %s, workers to %s; name the hosts as ?host=h1,h2&port=5432,5432",
			strings.Join(hostsOf(ours), " and "), strings.Join(slices.Compact(list), " and "))
	}
	return nil
}

// hostsOf are the hosts that lib/pq tries.
func hostsOf(cfg pq.Config) []string {
	out := []string{address(cfg.Host, cfg.Port)}
	for _, m := range cfg.Multi {
		out = append(out, address(m.Host, m.Port))
	}
	return slices.Compact(out)
}

// address is a host without the brackets that lib/pq leaves around IPv6, and its port.
func address(host string, port uint16) string {
	return net.JoinHostPort(strings.Trim(host, "[]"), strconv.Itoa(int(port)))
}

// unreadable says why a connection string can't be read, without the string.
func unreadable(err error) error {
	if bad, ok := errors.AsType[*url.Error](err); ok {
		err = bad.Err // url.Error repeats the whole string, password included
	}
	if theirs, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		if err = theirs.Unwrap(); err == nil {
			err = errors.New("a part of it is not valid")
		}
	}
	return errors.New("can't be read: " + quotation.ReplaceAllString(err.Error(), "…"))
}

// quotation is what drivers quote of a string that they can't read: with a space in
// it, a part of the password.
var quotation = regexp.MustCompile(`"[^"]*"?`)
