package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"candor/cmd/candor/cli"
	"candor/cmd/candor/config"
)

// readEnvFile reads the variables of the file that --env-file names before the
// command, and returns the command line without it. So a command run by hand has the
// service's settings. A variable of the environment wins.
func (p *process) readEnvFile(args []string) ([]string, error) {
	if len(args) == 0 || args[0] != "--env-file" && !strings.HasPrefix(args[0], "--env-file=") {
		return args, nil
	}
	_, path, ok := strings.Cut(args[0], "=")
	args = args[1:]
	if !ok && len(args) > 0 {
		path, args = args[0], args[1:]
	}
	if path == "" {
		return nil, cli.Usagef("--env-file needs the path of a file")
	}
	file, err := os.Open(path) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, fmt.Errorf("can't read the settings: %w", err)
	}
	defer file.Close()
	variables, err := config.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("can't read the settings in %s: %w", path, err)
	}
	env, environ := p.env, p.environ
	p.env = func(name string) (string, bool) {
		if value, ok := env(name); ok {
			return value, true
		}
		value, ok := variables[name]
		return value, ok
	}
	p.environ = func() []string {
		all := environ()
		for _, name := range slices.Sorted(maps.Keys(variables)) {
			all = append(all, name+"="+variables[name])
		}
		return all
	}
	return args, nil
}
