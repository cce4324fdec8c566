package main

import (
	"context"
	"fmt"

	"candor/cmd/candor/cli"
	"candor/cmd/candor/config"
	"candor/db"
	"candor/internal/platform/postgres"
)

// migration is the outcome of candor migrate.
type migration struct {
	Changed bool   `json:"changed"`
	Schema  string `json:"schema"` // its fingerprint
}

// Text says whether there was anything to do.
func (m migration) Text() string {
	if m.Changed {
		return "The database was migrated.\n"
	}
	return "The database is up to date.\n"
}

func (p *process) migrate(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("migrate")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := config.Read(p.env)
	if err != nil {
		return err
	}
	var m migration
	if m.Changed, err = migrate(ctx, c); err != nil {
		return err
	}
	if m.Schema, err = db.SchemaFingerprint(); err != nil {
		return err
	}
	return flags.Print(p.stdout, m)
}

// migrate reports whether there was anything to do. If CANDOR_MIGRATE_URL is set,
// it grants DATABASE_URL's role what the service needs.
func migrate(ctx context.Context, c config.Config) (changed bool, err error) {
	role := ""
	if c.MigrateURL != "" {
		if role, err = postgres.RoleOf(c.DatabaseURL); err != nil {
			return false, fmt.Errorf("CANDOR_MIGRATE_URL is set, so DATABASE_URL must name the service's own role: %w", err)
		}
	}
	variable := "DATABASE_URL"
	if c.DirectURL != "" {
		variable, c.DatabaseURL, c.DirectURL = "CANDOR_DATABASE_DIRECT_URL", c.DirectURL, ""
	}
	if c.MigrateURL != "" {
		variable, c.DatabaseURL = "CANDOR_MIGRATE_URL", c.MigrateURL
	}
	var a app
	defer a.close()
	if err := a.openDatabase(ctx, "migrate", c); err != nil {
		return false, err
	}
	if err := refuseSharing(ctx, a.dsn, variable,
		"migrations need PostgreSQL itself; set CANDOR_DATABASE_DIRECT_URL or CANDOR_MIGRATE_URL to it"); err != nil {
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
