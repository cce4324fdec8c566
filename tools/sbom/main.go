// Sbom writes the software bill of materials of a built service: the Go modules
// that the binary names, the Go standard library, and the npm packages of the front
// end. The format is CycloneDX 1.6 JSON.
//
// The same binary gives the same bytes, because the only time in it is the
// commit's. So two builds can be compared.
package main

import (
	"debug/buildinfo"
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"runtime/debug"
	"slices"
	"strings"
)

func main() {
	binary := flag.String("binary", "bin/candor", "the built service")
	version := flag.String("version", "", "the release; the commit if empty")
	out := flag.String("o", "bin/candor.cdx.json", "where to write")
	flag.Parse()
	if err := run(*binary, "package-lock.json", *version, *out); err != nil {
		fmt.Fprintln(os.Stderr, "sbom:", err)
		os.Exit(1)
	}
}

func run(binary, lockFile, version, out string) error {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return err
	}
	lock, err := os.ReadFile(lockFile)
	if err != nil {
		return err
	}
	packages, err := bundled(lock)
	if err != nil {
		return fmt.Errorf("%s: %w", lockFile, err)
	}
	text, err := json.MarshalIndent(describe(info, packages, version), "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(out, append(text, '\n'), 0o644)
}

// bom is a CycloneDX document. The names are the standard's.
type bom struct {
	Schema       string       `json:"$schema"`
	Format       string       `json:"bomFormat"`
	SpecVersion  string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

type metadata struct {
	Timestamp string    `json:"timestamp,omitempty"` // of the commit, RFC 3339
	Component component `json:"component"`
}

type component struct {
	Ref      string    `json:"bom-ref"`
	Type     string    `json:"type"`
	Name     string    `json:"name"`
	Version  string    `json:"version"`
	PURL     string    `json:"purl,omitempty"`
	Licenses []license `json:"licenses,omitempty"`
}

type license struct {
	Expression string `json:"expression"` // SPDX
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn"`
}

// describe makes the document. It leaves out the licences of Go modules, which no
// program can read from them.
func describe(info *debug.BuildInfo, packages []component, version string) bom {
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if version == "" {
		version = settings["vcs.revision"]
	}
	if version == "" {
		version = "unknown"
	}
	components := []component{library("golang", "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		components = append(components, library("golang", m.Path, m.Version))
	}
	components = append(components, packages...)
	slices.SortFunc(components, func(a, b component) int { return strings.Compare(a.Ref, b.Ref) })

	service := component{Ref: "candor", Type: "application", Name: "candor", Version: version}
	refs := make([]string, len(components))
	for i, c := range components {
		refs[i] = c.Ref
	}
	return bom{
		Schema: "http://cyclonedx.org/schema/bom-1.6.schema.json", Format: "CycloneDX", SpecVersion: "1.6", Version: 1,
		Metadata:   metadata{Timestamp: settings["vcs.time"], Component: service},
		Components: components, Dependencies: []dependency{{Ref: service.Ref, DependsOn: refs}},
	}
}

// library is a component with the package URL that scanners need.
func library(kind, name, version string) component {
	parts := strings.Split(name, "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(url.PathEscape(p), "@", "%40")
	}
	purl := "pkg:" + kind + "/" + strings.Join(parts, "/") + "@" + url.QueryEscape(version)
	return component{Ref: purl, Type: "library", Name: name, Version: version, PURL: purl}
}

// bundled reads the npm packages of the front end from npm's lock file. They are
// its dependencies without the development ones. static/build.mjs fails if it
// bundles anything else.
func bundled(lock []byte) ([]component, error) {
	type entry struct {
		Version      string            `json:"version"`
		License      string            `json:"license"`
		Dependencies map[string]string `json:"dependencies"`
	}
	var file struct {
		Packages map[string]entry `json:"packages"`
	}
	if err := json.Unmarshal(lock, &file); err != nil {
		return nil, err
	}
	var out []component
	for name := range file.Packages[""].Dependencies {
		e, ok := file.Packages["node_modules/"+name]
		if !ok {
			return nil, fmt.Errorf("%s is a dependency, but no version is locked", name)
		}
		c := library("npm", name, e.Version)
		if e.License != "" {
			c.Licenses = []license{{e.License}}
		}
		out = append(out, c)
	}
	return out, nil
}
