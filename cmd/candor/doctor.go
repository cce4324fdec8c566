package main

import (
	"context"
	"errors"

	"candor/cmd/candor/cli"
	"candor/cmd/candor/config"
	"candor/cmd/candor/doctor"
	"candor/internal/domain"
	"candor/internal/platform/pdfsign"
	"candor/internal/platform/postgres"
	"candor/internal/webhook"
)

// doctor examines the service by the configuration that serve uses.
func (p *process) doctor(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("doctor")
	url := flags.Text("url")
	if err := flags.Parse(args); err != nil {
		return err
	}
	report := p.examine(ctx, *url)
	return errors.Join(flags.Print(p.stdout, report), report.Err())
}

// examine opens what there is, each part by itself: openApp stops at the first one
// that is missing.
func (p *process) examine(ctx context.Context, url string) doctor.Report {
	c, err := config.Read(p.env)
	if err != nil {
		return doctor.NewReport(doctor.Finding{Check: "configuration", Status: doctor.Failed, Result: err.Error(),
			Remedy: "correct these variables; candor help lists all"})
	}
	var a app
	defer a.close()
	client := webhook.NewClient(targets(c))
	defer client.Close()
	d := doctor.Config{
		Version: readVersion().Version, Development: c.Development, Connections: c.DBConnections, PDFFont: c.PDFFont,
		RedisURL: c.RedisURL, Client: client, URL: url, Clock: domain.SystemClock, Timeout: doctor.Timeout, Readable: readable(c),
		Signer: func() (*pdfsign.Signer, error) { return openSigner(c) },
	}
	if d.BlobsErr = openDataDir(c.DataDir); d.BlobsErr == nil {
		d.Ring, d.BlobsErr = openKeys(c)
	}
	connecting, cancel := context.WithTimeout(ctx, doctor.Timeout)
	defer cancel()
	logger := newLogger(c, p.stderr, p.stderr)
	if d.BlobsErr == nil {
		if d.BlobsErr = a.openBlobs(connecting, c, logger); d.BlobsErr == nil {
			d.Blobs = a.blobs
		}
	}
	if d.DBErr = a.openDatabase(connecting, "doctor", c); d.DBErr == nil {
		d.DB, d.Ready = a.db, func(ctx context.Context) error { return schemaReady(ctx, a.db) }
		d.Pooler = a.checkPooler
	}
	if err := a.openMail(c, logger); err == nil {
		d.Mail = a.mail
	}
	return doctor.Examine(ctx, d)
}

// readable lists the variables whose connections the network can read or redirect.
func readable(c config.Config) (variables []string) {
	for _, one := range []struct{ variable, dsn string }{{"DATABASE_URL", c.DatabaseURL},
		{"CANDOR_DATABASE_DIRECT_URL", c.DirectURL}, {"CANDOR_MIGRATE_URL", c.MigrateURL}} {
		if one.dsn == "" {
			continue
		}
		if yes, err := postgres.Readable(one.dsn); err == nil && yes {
			variables = append(variables, one.variable)
		}
	}
	return variables
}
