package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"candor/cmd/candor/cli"
	"candor/cmd/candor/config"
	"candor/internal/domain"
	"candor/views/pdf"
)

// configCheck reports every error of the settings at once, as serving would report
// them one after the other, and what a start warns of. It connects to nothing, so it
// can run beside the service, or before there is a database.
func (p *process) configCheck(_ context.Context, args []string) error {
	if err := cli.NewFlags("config check").Parse(args); err != nil {
		return err
	}
	var wrong config.Errors
	c, err := config.Read(p.env)
	if err != nil && !errors.As(err, &wrong) {
		return err
	}
	for _, e := range append(checkSettings(c), p.unknownVariables()...) {
		variable, _, _ := strings.Cut(e, " ")
		if !slices.ContainsFunc(wrong, func(w string) bool { return strings.HasPrefix(w, variable+" ") }) {
			wrong = append(wrong, e)
		}
	}
	if len(wrong) > 0 {
		return wrong
	}
	fmt.Fprintln(p.stdout, "The settings have no errors.")
	if !c.Development {
		for _, warning := range settingWarnings(c) {
			if warning != nil {
				fmt.Fprintf(p.stdout, "Warning: %s\n", warning)
			}
		}
	}
	return nil
}

// checkSettings returns the errors that Read leaves to the part of the program which
// uses a setting.
func checkSettings(c config.Config) (wrong config.Errors) {
	add := func(variable string, err error) {
		if err != nil {
			wrong = append(wrong, variable+" "+strings.TrimPrefix(err.Error(), variable+" "))
		}
	}
	add("CANDOR_ADDR", checkAddr("CANDOR_ADDR", c.Addr))
	if c.MetricsAddr != "" {
		add("CANDOR_METRICS_ADDR", checkAddr("CANDOR_METRICS_ADDR", c.MetricsAddr))
	}
	if _, err := os.Stat(c.DataDir); err == nil { // otherwise the start creates it
		if err := openDataDir(c.DataDir); err != nil {
			add("CANDOR_DATA_DIR", fmt.Errorf("can't be used: %w", err))
		}
	}
	if c.PDFFont != "" {
		_, err := pdf.LoadFonts(c.PDFFont)
		add("CANDOR_PDF_FONT", err)
	}
	signer, err := openSigner(c)
	if err != nil {
		wrong = append(wrong, err.Error())
	}
	if signer != nil {
		add("CANDOR_PDF_CERT", signer.Check(domain.SystemClock.Now()))
	}
	return wrong
}

// unknownVariables returns an error for each variable that looks like a setting and
// is none, because a mistyped name would be left out silently.
func (p *process) unknownVariables() (wrong config.Errors) {
	known := map[string]bool{}
	for _, v := range new(config.Config).Variables() {
		known[v.Name], known[v.File()] = true, true
	}
	for _, v := range p.environ() {
		name, _, _ := strings.Cut(v, "=")
		if strings.HasPrefix(name, "CANDOR_") && !known[name] {
			wrong = append(wrong, name+" is not a setting of Candor: correct its name, or remove it; candor help lists all")
		}
	}
	return wrong
}
