package openapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
)

// YAML writes JSON as YAML, its members in the same order. Texts are in double quotes, in
// which YAML has JSON's escapes, so that none is taken for a date or a truth.
func YAML(text []byte) ([]byte, error) {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	y := yaml{decoder: decoder}
	if err := y.value(""); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	return append(bytes.TrimLeft(y.out.Bytes(), "\n "), '\n'), nil
}

type yaml struct {
	decoder *json.Decoder
	out     bytes.Buffer
}

// plainKey is a key that needs no quotes.
var plainKey = regexp.MustCompile(`^[A-Za-z_/$][A-Za-z0-9_/$.{}-]*$`)

// notText are words that YAML 1.1 takes for truths.
var notText = regexp.MustCompile(`(?i)^(y|n|yes|no|on|off|true|false|null)$`)

// value writes the next value, after the key or dash of its line.
func (y *yaml) value(indent string) error {
	token, err := y.decoder.Token()
	if err != nil {
		return err
	}
	open, nested := token.(json.Delim)
	switch {
	case !nested:
		return y.scalar(token)
	case !y.decoder.More():
		y.out.WriteString(map[json.Delim]string{'{': " {}", '[': " []"}[open])
	}
	for y.decoder.More() {
		y.out.WriteString("\n" + indent)
		if open == '[' {
			y.out.WriteByte('-')
		} else if err := y.key(); err != nil {
			return err
		}
		if err := y.value(indent + "  "); err != nil {
			return err
		}
	}
	_, err = y.decoder.Token()
	return err
}

func (y *yaml) key() error {
	token, err := y.decoder.Token()
	if err != nil {
		return err
	}
	key, _ := token.(string)
	if !plainKey.MatchString(key) || notText.MatchString(key) {
		quoted, err := json.Marshal(key)
		if err != nil {
			return err
		}
		key = string(quoted)
	}
	y.out.WriteString(key + ":")
	return nil
}

func (y *yaml) scalar(token json.Token) error {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(token)
	y.out.WriteString(" " + strings.TrimSuffix(text.String(), "\n"))
	return err
}
