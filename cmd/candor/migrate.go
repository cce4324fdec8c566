package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"

	"candor/db"
)

func runMigrate(ctx context.Context, p *process, args []string) error {
	flags := flag.NewFlagSet("migrate", flag.ContinueOnError)
	asJSON := flags.Bool("json", false, "")
	if err := parseFlags(flags, args); err != nil {
		return err
	}
	c, err := readConfig(p.env)
	if err != nil {
		return err
	}
	changed, err := migrate(ctx, c)
	if err != nil {
		return err
	}
	schema, err := db.SchemaFingerprint()
	if err != nil {
		return err
	}
	if *asJSON {
		return writeJSON(p.stdout, map[string]any{"changed": changed, "schema": schema})
	}
	text := "The database is up to date."
	if changed {
		text = "The database has been brought up to date."
	}
	_, err = fmt.Fprintln(p.stdout, text)
	return err
}

// migrate reports whether there was anything to do. Where the tables' owner is
// another role than the service's, that one is given what it needs.
func migrate(ctx context.Context, c Config) (changed bool, err error) {
	role := ""
	if c.MigrateURL != "" {
		if role, err = db.RoleOf(c.DatabaseURL); err != nil {
			return false, fmt.Errorf("CANDOR_MIGRATE_URL is set, so DATABASE_URL must name the service's own role: %w", err)
		}
		c.DatabaseURL = c.MigrateURL
	}
	var a app
	defer a.close()
	if err := a.openDatabase(ctx, c); err != nil {
		return false, err
	}
	changed, err = db.MigrationsPending(ctx, a.db)
	if err != nil {
		return false, err
	}
	if err := db.Migrate(ctx, a.dsn); err != nil || role == "" {
		return changed, err
	}
	return changed, a.db.Grant(ctx, role)
}

func writeJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
