// Package samples writes a request of the API as code, in several languages, from one
// description: with the SDKs, or with nothing but the language's own library. It knows no
// operation. What it writes runs as it is: the key is in the variable CANDOR_API_KEY.
package samples

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// A Request is a request that is shown as code.
type Request struct {
	Method string
	URL    string          // with its query
	Body   json.RawMessage // nil for none
	File   string          // where the response is kept; "" prints it, as JSON
	Status int             // of success

	// Of the SDKs:
	BaseURL   string
	Operation string   // its id
	Args      []string // of the path
	Takes     bool     // parameters in its query
	Query     []Member
	BodyType  string   // of Body
	Members   []Member // of Body, none with members of its own
}

// A Member is a parameter or a member of a body.
type Member struct {
	Name  string
	Value json.RawMessage
}

// A Sample is a request in one language.
type Sample struct {
	ID       string
	Language string
	Code     string
}

// All writes the request in every language, in the order in which they are
// offered.
func All(r Request) []Sample {
	return []Sample{
		{"curl", "curl", r.curl()},
		{"node", "Node", r.node()},
		{"python", "Python", r.python()},
		{"go", "Go", r.golang()},
	}
}

// body is the body over several lines, those after the first indented.
func (r Request) body(indent string) string {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(r.Body), indent, "  "); err != nil {
		panic(fmt.Sprintf("samples: %s %s: %v", r.Method, r.URL, err)) // a compiled-in example
	}
	return b.String()
}

func (r Request) curl() string {
	line := "curl "
	if r.Method != "GET" && r.Body == nil || r.Method != "POST" && r.Body != nil {
		line += "-X " + r.Method + " "
	}
	if strings.ContainsAny(r.URL, "?&") {
		line += `"` + r.URL + `"`
	} else {
		line += r.URL
	}
	lines := []string{line, `-H "Authorization: Bearer $CANDOR_API_KEY"`}
	if r.Body != nil {
		lines = append(lines, `-H "Content-Type: application/json"`, "-d '"+strings.ReplaceAll(r.body("  "), "'", `'\''`)+"'")
	}
	if r.File != "" {
		// Without -f the file would hold the error, and grep fails for another success.
		lines = append(lines, "-f -o "+r.File, fmt.Sprintf(`-w "%%{http_code}\n" | grep -x %d`, r.Status))
	}
	return strings.Join(lines, " \\\n  ")
}

var jsonWord = regexp.MustCompile(`"(?:\\.|[^"\\])*"|\b(?:true|false|null)\b`)

var pythonWords = map[string]string{"true": "True", "false": "False", "null": "None"}

func (r Request) python() string {
	var b strings.Builder
	if r.File == "" || r.Body != nil {
		b.WriteString("import json\n")
	}
	b.WriteString("import os\nimport urllib.request\n\nrequest = urllib.request.Request(\n")
	fmt.Fprintf(&b, "    %q,\n", r.URL)
	if r.Method != "GET" {
		fmt.Fprintf(&b, "    method=%q,\n", r.Method)
	}
	b.WriteString("    headers={\n        \"Authorization\": \"Bearer \" + os.environ[\"CANDOR_API_KEY\"],\n")
	if r.Body != nil {
		b.WriteString("        \"Content-Type\": \"application/json\",\n")
	}
	b.WriteString("    },\n")
	if r.Body != nil {
		literal := jsonWord.ReplaceAllStringFunc(r.body("    "), func(word string) string {
			if own, ok := pythonWords[word]; ok {
				return own
			}
			return word
		})
		fmt.Fprintf(&b, "    data=json.dumps(%s).encode(),\n", literal)
	}
	b.WriteString(")\nwith urllib.request.urlopen(request) as response:\n")
	if r.File != "" {
		fmt.Fprintf(&b, "    if response.status != %d:\n        raise SystemExit(response.read().decode())\n", r.Status)
		fmt.Fprintf(&b, "    with open(%q, \"wb\") as file:\n        file.write(response.read())", r.File)
	} else {
		b.WriteString("    print(json.load(response))")
	}
	return b.String()
}
