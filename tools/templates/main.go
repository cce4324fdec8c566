// Templates writes the Go code of the templates below views, and removes what deleted
// ones left. It is templ's generator without templ's server for editors and its proxy,
// which take as long to build as most of the service.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/a-h/templ"
	"github.com/a-h/templ/generator"
	"github.com/a-h/templ/parser/v2"
)

const suffix = "_templ.go"

// component is how the code of a component begins.
var component = regexp.MustCompile(`(?m)^func .* templ\.Component \{$`)

func main() {
	if err := filepath.WalkDir("views", write); err != nil {
		fmt.Fprintln(os.Stderr, "templates:", err)
		os.Exit(1)
	}
}

func write(path string, _ fs.DirEntry, err error) error {
	if err != nil {
		return err
	}
	if name, is := strings.CutSuffix(path, suffix); is {
		if _, err := os.Stat(name + ".templ"); errors.Is(err, fs.ErrNotExist) {
			return os.Remove(path)
		}
	}
	name, is := strings.CutSuffix(path, ".templ")
	if !is {
		return nil
	}
	code, err := generate(path)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return os.WriteFile(name+suffix, code, 0o644)
}

func generate(path string) ([]byte, error) {
	template, err := parser.Parse(path)
	if err != nil {
		return nil, err
	}
	var code bytes.Buffer
	within, err := filepath.Rel("views", path)
	if err != nil {
		return nil, err
	}
	if _, err := generator.Generate(template, &code, generator.WithVersion(templ.Version()),
		generator.WithFileName(filepath.ToSlash(within))); err != nil {
		return nil, err
	}
	formatted, err := format.Source(code.Bytes())
	// Each place that a component is inlined into gets a copy of all of it, as it is a
	// closure: that was half of the time that views take to build, and 1.6 MB of the program.
	return component.ReplaceAll(formatted, []byte("//go:noinline\n$0")), err
}
