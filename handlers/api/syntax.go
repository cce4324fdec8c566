package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"candor/internal/domain"
)

// parseObject reads a body as a JSON object. Its errors say where and why a body
// is none.
func parseObject(body []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	err := json.Unmarshal(body, &members)
	if err == nil && members != nil && utf8.Valid(body) {
		if name, is := memberTwice(string(body)); is {
			return nil, domain.Errorf(domain.CodeInvalidRequest,
				"The request body has the member %.40q twice in one object. Send it once.", name)
		}
		return members, nil
	}
	return nil, &domain.Error{Code: domain.CodeInvalidRequest, Message: whyNoObject(body, err), Cause: err}
}

// memberTwice returns the first name that an object of a valid JSON value has twice:
// programs differ in which of the two they read. A text before a colon is a name, of the
// innermost object that is open.
func memberTwice(value string) (name string, is bool) {
	type member struct {
		object int
		name   string
	}
	seen := map[member]bool{}
	var objects int
	var open []int
	for i := 0; i < len(value); i++ {
		switch value[i] {
		case '{':
			objects++
			open = append(open, objects)
		case '}':
			open = open[:len(open)-1]
		case '"':
			text := quoted(value[i:])
			i += len(text) - 1
			if !strings.HasPrefix(strings.TrimLeft(value[i+1:], " \t\r\n"), ":") {
				continue
			}
			this := member{object: open[len(open)-1], name: text[1 : len(text)-1]}
			if strings.Contains(text, `\`) {
				this.name = unquoted(text)
			}
			if seen[this] {
				return this.name, true
			}
			seen[this] = true
		}
	}
	return "", false
}

// quoted is the JSON string that valid JSON begins with.
func quoted(value string) string {
	end := 1
	for value[end] != '"' {
		if value[end] == '\\' {
			end++
		}
		end++
	}
	return value[:end+1]
}

const (
	byteOrderMark = "\ufeff"
	utf16Marks    = "\xfe\xff\xfe" // FE FF or FF FE
)

var formBody = regexp.MustCompile(`^[\w.\[\]%-]+=`)

func whyNoObject(body []byte, err error) string {
	text := bytes.TrimSpace(body)
	var syntax *json.SyntaxError
	switch {
	case len(text) == 0:
		return "The request body is empty. Send a JSON object."
	case len(body) > 1 && strings.Contains(utf16Marks, string(body[:2])):
		return "The request body is UTF-16. Send it as UTF-8."
	case !utf8.Valid(body):
		return "The request body isn’t UTF-8."
	case bytes.HasPrefix(text, []byte(byteOrderMark)):
		return "The request body begins with a byte order mark. Send it without one."
	case formBody.Match(text):
		return "The request body looks like a posted form, name=value. Send a JSON object."
	case errors.As(err, &syntax) && strings.Contains(syntax.Error(), "max depth"):
		return "The request body is nested too deeply. Send an object with fewer levels."
	case errors.As(err, &syntax):
		line, column, why := explain(body, int(syntax.Offset))
		return fmt.Sprintf("The request body is not valid JSON at line %d, column %d: %s.", line, column, why)
	case text[0] == '"' && json.Valid([]byte(unquoted(string(text)))):
		return "The request body is JSON within a JSON string: it was encoded twice. Send the object itself."
	}
	return "The request body must be a JSON object, {…}."
}

// unquoted is what a JSON string says, "" of anything else.
func unquoted(text string) (said string) {
	_ = json.Unmarshal([]byte(text), &said) // "" isn't JSON either
	return said
}

// explain says where a body stops being JSON, counted from 1 and in characters,
// and what is wrong there. read is how many bytes the decoder had read: the last
// of them is wrong, unless they are all.
func explain(body []byte, read int) (line, column int, why string) {
	at, ended := read-1, read >= len(body) && endsEarly(body)
	if ended {
		at = len(body)
	}
	before := body[:at]
	line = 1 + bytes.Count(before, []byte("\n"))
	column = 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
	if ended {
		return line, column, `it ends too early; a closing ", ] or } is missing`
	}
	return line, column, mistake(bytes.TrimRight(before, " \t\r\n"), body[at:])
}

// endsEarly reports whether the body could go on: then its end is what's wrong.
func endsEarly(body []byte) bool {
	decoder := json.NewDecoder(bytes.NewReader(body))
	var err error
	for err == nil {
		_, err = decoder.Token()
	}
	var syntax *json.SyntaxError
	return !errors.As(err, &syntax)
}

// mistakes are what JSON is often mistaken for: the text before that ends so, and
// the text that is wrong begins so. The first that matches is told.
var mistakes = []struct {
	before, wrong *regexp.Regexp
	why           string
}{
	{nil, regexp.MustCompile(`^'`), "text and names are in double quotes, not in single ones"},
	{nil, regexp.MustCompile("^[“”„‘’«»`]"), `text and names are in straight double quotes, "…"`},
	{nil, regexp.MustCompile(`^(/[/*]|#)`), "JSON has no comments"},
	{regexp.MustCompile(`,$`), regexp.MustCompile(`^[}\]]`), "the comma before it must go"},
	{nil, regexp.MustCompile(`^[\x00-\x1f]`), `a line break within text is written \n, a tab \t`},
	{regexp.MustCompile(`\\$`), nil, `a backslash within text is written \\`},
	{nil, regexp.MustCompile(`^(True|False|None|nil|undefined|NaN|-?Infinity|TRUE|FALSE|NULL)\b`), "write true, false or null"},
	{regexp.MustCompile(`[{,]$`), regexp.MustCompile(`^[A-Za-z_$]`), "names and text are in double quotes"},
	{regexp.MustCompile(`["\d}\]el]$`), regexp.MustCompile(`^["{\[]`), "a comma is missing before it"},
	{regexp.MustCompile(`[:,\[]$`), regexp.MustCompile(`^[A-Za-z_$@]`), "text is in double quotes"},
	{nil, regexp.MustCompile(`^[+.]`), "a number begins with a digit or a minus sign"},
	{regexp.MustCompile(`\b0$`), regexp.MustCompile(`^\d`), "a number has no leading zeros"},
	{regexp.MustCompile(`\d,$`), regexp.MustCompile(`^\d`), "a number has no separators"},
	{regexp.MustCompile(`:$`), regexp.MustCompile(`^[,}\]]`), "a value is missing before it"},
	{regexp.MustCompile(`^[^{]*$`), nil, "a JSON object begins with {"},
	{regexp.MustCompile(`"$`), regexp.MustCompile(`^=`), `a name and its value are joined by a colon, "name": value`},
}

func mistake(before, wrong []byte) string {
	if json.Valid(before) {
		return "there is something after the object"
	}
	for _, m := range mistakes {
		if (m.before == nil || m.before.Match(before)) && (m.wrong == nil || m.wrong.Match(wrong)) {
			return m.why
		}
	}
	return "this character can’t stand here"
}
