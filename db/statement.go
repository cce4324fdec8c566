package db

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"candor/form"
	"candor/intake"
	"candor/statement"
)

// Statement returns a session's valid answers and documents; sections
// without answers are empty.
func (d *DB) Statement(ctx context.Context, id intake.SessionID) (*statement.Statement, error) {
	return loadStatement(ctx, d, id)
}

// Statement returns a session's valid answers and documents.
func (tx *Tx) Statement(ctx context.Context, id intake.SessionID) (*statement.Statement, error) {
	return loadStatement(ctx, tx, id)
}

func loadStatement(ctx context.Context, q Queryer, id intake.SessionID) (*statement.Statement, error) {
	stored, err := sections(ctx, q, id)
	if err != nil {
		return nil, err
	}
	var out statement.Statement
	for _, s := range stored {
		section := out.Section(s.Name, time.Time{})
		if section == nil || s.Answers == nil {
			continue
		}
		if err := section.UnmarshalJSON(s.Answers); err != nil {
			return nil, fmt.Errorf("db: read section %s: %w", s.Name, err)
		}
	}
	files, err := documents(ctx, q, id)
	for _, f := range files {
		out.Documents = append(out.Documents, statement.Document{
			ID: f.ID.String(), Category: f.Category, FileName: f.FileName, ContentType: f.ContentType,
			SizeBytes: f.SizeBytes, SHA256: hex.EncodeToString(f.SHA256), UploadedAt: form.At(f.UploadedAt),
		})
	}
	return &out, err
}
