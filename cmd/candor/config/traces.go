package config

import (
	"errors"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
)

// Traces is where and how traces are exported, by OpenTelemetry's variables.
type Traces struct {
	Endpoint string // "" for nowhere
	Headers  map[string]string
	Service  string
	Ratio    float64 // of the traces that are recorded
}

// LogValue hides the headers.
func (t Traces) LogValue() slog.Value { return slog.StringValue(t.String()) }

// String hides the headers when a Config is printed.
func (t Traces) String() string {
	if t.Endpoint == "" {
		return "off"
	}
	return t.Endpoint + " " + strconv.FormatFloat(t.Ratio, 'g', -1, 64)
}

func (c *Config) setTraceEndpoint(text string) error {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" ||
		u.Fragment != "" {
		return errors.New("must be the address of an OTLP receiver for HTTP, such as http://localhost:4318")
	}
	c.Traces.Endpoint = text
	return nil
}

// setTraceHeaders reads name=value,… with percent-encoded values.
func (c *Config) setTraceHeaders(text string) error {
	c.Traces.Headers = map[string]string{}
	for item := range strings.SplitSeq(text, ",") {
		name, value, ok := strings.Cut(item, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if name = strings.TrimSpace(name); !ok || name == "" || err != nil || strings.ContainsAny(name+value, "\r\n") {
			return errors.New("must be NAME=VALUE, separated by commas, with percent-encoded values")
		}
		c.Traces.Headers[name] = value
	}
	return nil
}

func (c *Config) setTraceRatio(text string) (err error) {
	c.Traces.Ratio, err = strconv.ParseFloat(text, 64)
	if err != nil || !(c.Traces.Ratio >= 0 && c.Traces.Ratio <= 1) {
		return errors.New("must be a number from 0 to 1")
	}
	return nil
}
