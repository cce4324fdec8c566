// Notice writes the licences of everything that the program contains: Go's standard
// library, the Go modules, the front end's npm packages, and files of our own
// packages that have a licence of their own. Most of these licences must go with each
// copy of the program. It fails if it doesn't know a licence, so that a new dependency
// is looked at before it is released.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
)

func main() {
	out := flag.String("o", "bin/NOTICE", "where to write")
	flag.Parse()
	text, err := notice(".")
	if err == nil {
		err = os.WriteFile(*out, text, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "notice:", err)
		os.Exit(1)
	}
}

// part is a component with its licence files.
type part struct {
	name, version, source string
	files                 []string
}

// notice is the text for all systems that have packages. root is the folder of go.mod and
// package.json, after make build.
func notice(root string) ([]byte, error) {
	parts, err := goParts(root)
	if err != nil {
		return nil, err
	}
	packages, err := npmParts(root)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("Candor is licensed under the MIT licence. It contains the following components.\n")
	texts := map[string]string{} // the component that has a text first
	for _, p := range append(parts, packages...) {
		if err := p.write(&b, texts); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

// program is the package whose imports are the program.
const program = "./cmd/candor"

// goParts are the modules of the packages that the program imports on Linux or macOS.
// A licence can also stand in the folder of a package.
func goParts(root string) ([]part, error) {
	type module struct {
		Path, Version, Dir string
		Main               bool
	}
	found := map[string]*part{}
	for _, system := range []string{"linux", "darwin"} {
		list := exec.Command("go", "list", "-deps", "-json=Dir,Standard,Module", program)
		list.Dir, list.Stderr = root, os.Stderr
		list.Env = append(os.Environ(), "GOOS="+system, "CGO_ENABLED=0")
		out, err := list.Output()
		if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", system, err)
		}
		for d := json.NewDecoder(bytes.NewReader(out)); ; {
			var p struct {
				Dir      string
				Standard bool
				Module   *module
			}
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return nil, err
			}
			if p.Standard || p.Module == nil {
				continue
			}
			m := found[p.Module.Path]
			if m == nil {
				m = &part{name: p.Module.Path, version: p.Module.Version, source: "https://pkg.go.dev/" + p.Module.Path + "@" +
					p.Module.Version}
				if p.Module.Main {
					m.source = "files of Candor's source that have a licence of their own"
				}
				found[p.Module.Path] = m
			}
			if err := m.addFiles(p.Module.Dir, p.Dir, p.Module.Main); err != nil {
				return nil, err
			}
		}
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		return nil, err
	}
	parts := []part{{name: "Go", version: runtime.Version(), source: "https://go.dev/dl/",
		files: []string{filepath.Join(strings.TrimSpace(string(goroot)), "LICENSE")}}}
	for _, p := range found {
		parts = append(parts, *p)
	}
	slices.SortFunc(parts[1:], func(a, b part) int { return strings.Compare(a.name, b.name) })
	return parts, nil
}

var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([-._].*)?$|\.licen[cs]e$`)

// addFiles adds the licence files of a package's folder and of those above it, up to
// the module's. Of our own module only those that are not Candor's.
func (p *part) addFiles(module, dir string, own bool) error {
	for {
		if own && dir == module {
			return nil
		}
		files, err := os.ReadDir(dir)
		if err != nil {
			return err
		}
		for _, f := range files {
			path := filepath.Join(dir, f.Name())
			if f.Type().IsRegular() && licenceFile.MatchString(f.Name()) && !strings.HasSuffix(f.Name(), ".go") &&
				!slices.Contains(p.files, path) {
				p.files = append(p.files, path)
			}
		}
		if dir == module || !strings.HasPrefix(dir, module) {
			return nil
		}
		dir = filepath.Dir(dir)
	}
}

// npmParts are the packages that static/build.mjs puts into what is served and drawn: the
// dependencies of package.json, without the development ones.
func npmParts(root string) (parts []part, err error) {
	var front struct {
		Dependencies map[string]string `json:"dependencies"`
	}
	text, err := os.ReadFile(filepath.Join(root, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &front)
	}
	for name, version := range front.Dependencies {
		// of the code and of the typeface; none is an error of write
		files, _ := filepath.Glob(filepath.Join(root, "node_modules", name, "LICENSE*"))
		parts = append(parts, part{name, version, "https://www.npmjs.com/package/" + name + "/v/" + version, files})
	}
	slices.SortFunc(parts, func(a, b part) int { return strings.Compare(a.name, b.name) })
	return parts, err
}

// write adds the part's text. A text that another part has already is named only.
func (p part) write(b *bytes.Buffer, texts map[string]string) error {
	var kinds []string
	var body strings.Builder
	for _, path := range p.files {
		content, err := os.ReadFile(path)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		text := strings.TrimSpace(strings.ReplaceAll(string(content), "\r\n", "\n"))
		for _, kind := range kindsOf(text) {
			if !slices.Contains(kinds, kind) {
				kinds = append(kinds, kind)
			}
		}
		if first, ok := texts[text]; ok {
			fmt.Fprintf(&body, "\nThe text is that of %s.\n", first)
			continue
		}
		texts[text] = p.name
		fmt.Fprintf(&body, "\n%s\n", text)
	}
	if len(kinds) == 0 {
		if p.name == "candor" {
			return nil
		}
		return fmt.Errorf(
			"%s %s has no licence that this program knows: look at it, and add its kind if Candor may contain it (files: %q)", p.name,
			p.version, p.files)
	}
	title := strings.TrimSpace(p.name+" "+p.version) + " (" + strings.Join(kinds, ", ") + ")"
	fmt.Fprintf(b, "\n%s\n%s\n%s\n%s", strings.Repeat("=", 78), title, p.source+"\n", strings.TrimPrefix(body.String(), "\n"))
	return nil
}

// kinds are the licences that Candor may contain, each with words of its text. The
// MPL asks to say where the source is, which each part's address does.
var kinds = []struct{ name, words string }{
	{"MIT", "Permission is hereby granted, free of charge, to any person obtaining a copy of this software"},
	{"ISC", "for any purpose with or without fee is hereby granted, provided that the above"},
	{"0BSD", "Zero-Clause BSD"},
	{"BSD", "Redistribution and use in source and binary forms"},
	{"Apache-2.0", "Apache License Version 2.0"},
	{"MPL-2.0", "subject to the terms of the Mozilla Public License, v. 2.0"},
	{"OFL-1.1", "SIL Open Font License, Version 1.1"},
	{"Bitstream Vera", "Bitstream Vera"},
}

// kindsOf returns the licences whose words a text has, however its lines are broken.
func kindsOf(text string) (names []string) {
	text = strings.ToLower(strings.Join(strings.Fields(text), " "))
	for _, k := range kinds {
		if strings.Contains(text, strings.ToLower(k.words)) {
			names = append(names, k.name)
		}
	}
	return names
}
