package main

import (
	"context"
	"fmt"
	"runtime"
	"runtime/debug"
	"time"

	"candor/cmd/candor/cli"
	"candor/internal/form"
)

// version is set at release by -ldflags "-X main.version=1.2.3".
var version string

// build describes this binary.
type build struct {
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the source; "" if the build didn't record it
	Modified bool   `json:"modified"` // the source had uncommitted changes
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

func (p *process) version(_ context.Context, args []string) error {
	flags := cli.NewJSONFlags("version")
	if err := flags.Parse(args); err != nil {
		return err
	}
	return flags.Print(p.stdout, readVersion())
}

// Text is one line.
func (b build) Text() string {
	revision := b.Revision
	if b.Modified {
		revision += " with changes"
	}
	return fmt.Sprintln("candor", b.Version, revision, b.Go)
}
