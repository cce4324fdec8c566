package main

import (
	"context"
	"flag"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"candor/internal/form"
)

// version is set at release by -ldflags "-X main.version=1.2.3".
var version string

// build is what is known of this binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source; "" where the build didn't know it
	Modified bool   `json:"modified"` // the source had changes beyond the revision
	Time     string `json:"time"`     // of the revision, as in the API
	Go       string `json:"go"`
}

func readVersion() build {
	b := build{Version: version, Go: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				b.Revision = s.Value
			case "vcs.modified":
				b.Modified = s.Value == "true"
			case "vcs.time":
				if at, err := time.Parse(time.RFC3339, s.Value); err == nil {
					b.Time = at.UTC().Format(form.TimestampLayout)
				}
			}
		}
	}
	if b.Version == "" {
		b.Version = "development"
	}
	return b
}

func runVersion(_ context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("version", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	b := readVersion()
	if *asJSON {
		return writeJSON(p.stdout, b)
	}
	revision := b.Revision
	if b.Modified {
		revision += " with changes"
	}
	_, err := fmt.Fprintln(p.stdout, "candor", b.Version, revision, b.Go)
	return err
}
