package config

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// secrets are the variables with a secret. Each can be in a file, as systemd's
// LoadCredential, Docker and Kubernetes give secrets (D118).
var secrets = []string{
	"DATABASE_URL", "CANDOR_DATABASE_DIRECT_URL", "CANDOR_MIGRATE_URL", "CANDOR_S3_ACCESS_KEY", "CANDOR_S3_SECRET_KEY",
	"CANDOR_SECRET_KEYS", "CANDOR_REDIS_URL", "CANDOR_SMTP_URL", "CANDOR_STRIPE_SECRET_KEY", "CANDOR_STRIPE_WEBHOOK_SECRET",
	"OTEL_EXPORTER_OTLP_HEADERS",
}

// File is the variable that names a file with the value; "" if there is none.
func (v Variable) File() string {
	if slices.Contains(secrets, v.Name) {
		return v.Name + "_FILE"
	}
	return ""
}

// credential is the file in which systemd gives a service the variable's value (D139), ""
// if it gives none.
func (v Variable) credential(env func(name string) (string, bool)) string {
	folder, _ := env("CREDENTIALS_DIRECTORY")
	path := filepath.Join(folder, "candor_"+v.Name)
	if _, err := os.Stat(path); folder == "" || errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return path
}

// read returns the variable's value, "" for none. An error has no part of it.
func (v Variable) read(env func(name string) (string, bool)) (string, error) {
	text, _ := env(v.Name)
	text = strings.TrimSpace(text)
	name, source := "", v.File()
	if source != "" {
		name, _ = env(source)
	}
	if name = strings.TrimSpace(name); name == "" {
		name, source = v.credential(env), "systemd's credential candor_"+v.Name
	}
	switch {
	case name == "":
		return text, nil
	case text != "":
		return "", fmt.Errorf("%s is set, and %s, too: unset one of them", v.Name, source)
	}
	content, err := os.ReadFile(name)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		err = failed.Err
	}
	if err != nil {
		return "", fmt.Errorf("%s can't be read from the file of %s: %w", v.Name, source, err)
	}
	if text = strings.TrimSpace(string(content)); text == "" {
		return "", fmt.Errorf("%s is empty: the file of %s has nothing in it", v.Name, source)
	}
	return text, nil
}

// ReadFile reads variables from a file, as systemd and Docker do: a line for each,
// NAME=value. Lines that are empty or start with # are left out, and so are quotes
// around a value. Errors show no value.
func ReadFile(r io.Reader) (map[string]string, error) {
	out := map[string]string{}
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" || strings.ContainsAny(name, " \t\"'") {
			return nil, fmt.Errorf("line %d must be NAME=value, with nothing before the name and no space before the equals sign", n)
		}
		value = strings.TrimSpace(value)
		if last := len(value) - 1; last > 0 && (value[0] == '"' || value[0] == '\'') && value[last] == value[0] {
			value = value[1:last]
		}
		out[name] = value
	}
	return out, lines.Err()
}
