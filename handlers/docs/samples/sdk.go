package samples

import (
	"fmt"
	"strconv"
	"strings"

	"candor/handlers/api/openapi"
)

func (r Request) node() string {
	var b strings.Builder
	if r.File != "" {
		b.WriteString("import { writeFile } from \"node:fs/promises\";\n")
	}
	b.WriteString("import { Candor } from \"@candor/node\";\n\n")
	fmt.Fprintf(&b, "const candor = new Candor({ url: %q, key: process.env.CANDOR_API_KEY });\n\n", r.BaseURL)
	args := r.quotedArgs()
	for _, members := range [][]Member{r.Members, r.Query} {
		if len(members) > 0 {
			args = append(args, literal("{", members, "", "  ", func(m Member) string { return m.Name + ": " + string(m.Value) }))
		}
	}
	call := fmt.Sprintf("await candor.%s(%s)", r.Operation, strings.Join(args, ", "))
	if r.File != "" {
		fmt.Fprintf(&b, "const file = %s;\nawait writeFile(%q, file.body);", call, r.File)
	} else {
		fmt.Fprintf(&b, "const answer = %s;\nconsole.log(answer);", call)
	}
	return b.String()
}

func (r Request) golang() string {
	var b strings.Builder
	packages := []string{"context", "fmt", "log", "os"}
	if r.File != "" {
		packages = []string{"context", "io", "log", "os"}
	}
	b.WriteString("package main\n\nimport (\n")
	for _, name := range packages {
		fmt.Fprintf(&b, "\t%q\n", name)
	}
	b.WriteString("\n\t\"candor.example/candor-go\"\n)\n\nfunc main() {\n")
	fmt.Fprintf(&b, "\tclient := candor.New(%q, os.Getenv(\"CANDOR_API_KEY\"))\n", r.BaseURL)
	args := append([]string{"context.Background()"}, r.quotedArgs()...)
	if len(r.Members) > 0 {
		args = append(args, goLiteral(r.BodyType, r.Members))
	}
	if r.Takes {
		args = append(args, goLiteral(openapi.GoName(r.Operation)+"Params", r.Query))
	}
	name := "answer"
	if r.File != "" {
		name = "file"
	}
	const failed = "\tif err != nil {\n\t\tlog.Fatal(err)\n\t}\n"
	fmt.Fprintf(&b, "\t%s, err := client.%s(%s)\n%s", name, openapi.GoName(r.Operation), strings.Join(args, ", "), failed)
	if r.File != "" {
		b.WriteString("\tcontent, err := io.ReadAll(file)\n" + failed)
		fmt.Fprintf(&b, "\tif err := os.WriteFile(%q, content, 0o600); err != nil {\n\t\tlog.Fatal(err)\n\t}\n}", r.File)
	} else {
		b.WriteString("\tfmt.Printf(\"%+v\\n\", answer)\n}")
	}
	return b.String()
}

func (r Request) quotedArgs() []string {
	var out []string
	for _, arg := range r.Args {
		out = append(out, strconv.Quote(arg))
	}
	return out
}

// goLiteral is a struct as gofmt writes it.
func goLiteral(name string, members []Member) string {
	longest := 0
	for _, m := range members {
		longest = max(longest, len(openapi.GoName(m.Name)))
	}
	if len(members) == 1 {
		longest = 0
	}
	return literal("candor."+name+"{", members, "\t", "\t", func(m Member) string {
		return fmt.Sprintf("%-*s %s", longest+1, openapi.GoName(m.Name)+":", goValue(m))
	})
}

// goValue is a value as the SDK takes it: what can be left out is a pointer where its zero
// value means something, and a list's elements have the list's name in the singular.
func goValue(m Member) string {
	text := string(m.Value)
	switch {
	case text == "true" || text == "false":
		return "candor.Ptr(" + text + ")"
	case strings.HasPrefix(text, "["):
		elements := strings.Join(strings.Fields(strings.Trim(text, "[]")), " ")
		return "[]candor." + openapi.GoName(strings.TrimSuffix(m.Name, "s")) + "{" + elements + "}"
	}
	return text
}

// literal is an object in one line if it has one member, else in several, indented.
func literal(open string, members []Member, base, step string, write func(Member) string) string {
	space := ""
	if open == "{" {
		space = " "
	}
	switch len(members) {
	case 0:
		return open + "}"
	case 1:
		return open + space + write(members[0]) + space + "}"
	}
	lines := []string{open}
	for _, m := range members {
		lines = append(lines, base+step+write(m)+",")
	}
	return strings.Join(append(lines, base+"}"), "\n")
}
