// Package samples writes a request of an API as code, in several languages, from
// one description. It knows nothing of Candor. What it writes runs as it is: the
// key is in the variable CANDOR_API_KEY, and nothing but the language's own
// library is needed.
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

func (r Request) node() string {
	var b strings.Builder
	if r.File != "" {
		b.WriteString("import { writeFile } from \"node:fs/promises\";\n\n")
	}
	fmt.Fprintf(&b, "const response = await fetch(%q, {\n", r.URL)
	if r.Method != "GET" {
		fmt.Fprintf(&b, "  method: %q,\n", r.Method)
	}
	b.WriteString("  headers: {\n    Authorization: `Bearer ${process.env.CANDOR_API_KEY}`,\n")
	if r.Body != nil {
		b.WriteString("    \"Content-Type\": \"application/json\",\n")
	}
	b.WriteString("  },\n")
	if r.Body != nil {
		fmt.Fprintf(&b, "  body: JSON.stringify(%s),\n", r.body("  "))
	}
	fmt.Fprintf(&b, "});\nif (response.status !== %d) throw new Error(await response.text());\n", r.Status)
	if r.File != "" {
		fmt.Fprintf(&b, "await writeFile(%q, Buffer.from(await response.arrayBuffer()));", r.File)
	} else {
		b.WriteString("console.log(await response.json());")
	}
	return b.String()
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

func (r Request) golang() string {
	var b strings.Builder
	b.WriteString("package main\n\nimport (\n")
	body := "nil"
	if r.Body != nil {
		body = "strings.NewReader(body)"
	}
	for _, one := range []struct {
		name string
		used bool
	}{{"fmt", r.File == ""}, {"io", true}, {"log", true}, {"net/http", true}, {"os", true}, {"strings", r.Body != nil}} {
		if one.used {
			fmt.Fprintf(&b, "\t%q\n", one.name)
		}
	}
	b.WriteString(")\n\nfunc main() {\n")
	if r.Body != nil {
		text := "`" + r.body("\t") + "`"
		if strings.Count(text, "`") > 2 {
			text = fmt.Sprintf("%q", r.Body)
		}
		fmt.Fprintf(&b, "\tbody := %s\n", text)
	}
	fmt.Fprintf(&b, "\trequest, err := http.NewRequest(%q, %q, %s)\n", r.Method, r.URL, body)
	b.WriteString("\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n")
	b.WriteString("\trequest.Header.Set(\"Authorization\", \"Bearer \"+os.Getenv(\"CANDOR_API_KEY\"))\n")
	if r.Body != nil {
		b.WriteString("\trequest.Header.Set(\"Content-Type\", \"application/json\")\n")
	}
	b.WriteString(
		"\tresponse, err := http.DefaultClient.Do(request)\n\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n\tdefer response.Body.Close()\n")
	b.WriteString("\tanswer, err := io.ReadAll(response.Body)\n")
	fmt.Fprintf(&b,
		"\tif err != nil || response.StatusCode != %d {\n\t\tlog.Fatalf(\"%%s %%v %%s\", response.Status, err, answer)\n\t}\n",
		r.Status)
	if r.File != "" {
		fmt.Fprintf(&b, "\tif err := os.WriteFile(%q, answer, 0o600); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}", r.File)
	} else {
		b.WriteString("\tfmt.Println(string(answer))\n}")
	}
	return b.String()
}
