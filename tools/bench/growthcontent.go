package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"time"

	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/internal/testkit/client"
)

const (
	wholeSessions = 40
	documentBytes = 500_000
)

// growthContents completes sessions as customers do, each with one document, and prints
// what a session's content takes in each table, and the processor time for all of it.
func (b *bench) growthContents(ctx context.Context, e *environment) error {
	receiver := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer receiver.Close()
	body := fmt.Sprintf(
		`{"form_type":"financial_statement","customer_email":"jessica@example.com","customer_name":"Jessica Example","reference_id":"LOAN-2026","webhook_url":"%s/hook"}`, receiver.URL)
	before := e.cpu()
	var ids []string
	for range wholeSessions {
		id, err := e.completeSession(ctx, body)
		if err != nil {
			return err
		}
		ids = append(ids, id)
	}
	all := "{" + strings.Join(ids, ",") + "}" // as PostgreSQL writes an array
	if err := e.until(ctx, time.Minute, `
		SELECT count(*) = $2::int * 10 FROM delivery WHERE state = 'delivered'
			AND session_id = ANY ($1::uuid[])`, all, wholeSessions); err != nil {
		return err
	}
	used := e.cpu().since(before)
	b.add(row{
		what: "A session from creation to PDF and 10 webhooks", figure: fmt.Sprintf("CPU of candor %.0f ms, of PostgreSQL %.0f ms",
			ms(used.candor)/wholeSessions, ms(used.postgres)/wholeSessions),
		target: "stated", met: true,
	})
	var sizes []struct {
		Name  string  `db:"name"`
		Rows  float64 `db:"rows"`
		Bytes float64 `db:"bytes"`
	}
	const of = ` WHERE session_id = ANY ($1::uuid[])`
	err := e.DB.Raw().SelectContext(ctx, &sizes, `
		SELECT 'session' AS name, count(*)::float8 AS rows, sum(pg_column_size(t.*))::float8 AS bytes FROM session t
			WHERE id = ANY ($1::uuid[])
		UNION ALL SELECT 'section', count(*), sum(pg_column_size(t.*)) FROM section t`+of+`
		UNION ALL SELECT 'session_key', count(*), sum(pg_column_size(t.*)) FROM session_key t`+of+`
		UNION ALL SELECT 'statement_pdf', count(*), sum(pg_column_size(t.*)) FROM statement_pdf t`+of+`
		UNION ALL SELECT 'document', count(*), sum(pg_column_size(t.*)) FROM document t`+of+`
		UNION ALL SELECT 'link_use', count(*), sum(pg_column_size(t.*)) FROM link_use t`+of+`
		UNION ALL SELECT 'event', count(*), sum(pg_column_size(t.*)) FROM event t`+of+`
		UNION ALL SELECT 'delivery', count(*), sum(pg_column_size(t.*)) FROM delivery t`+of+`
		UNION ALL SELECT 'delivery_attempt', count(*), sum(pg_column_size(t.*)) FROM delivery_attempt t
			WHERE delivery_id IN (SELECT id FROM delivery`+of+`)
		UNION ALL SELECT 'api_request', count(*), sum(pg_column_size(t.*)) FROM api_request t`+of, all)
	for _, s := range sizes {
		b.add(row{what: "Content in " + s.Name, figure: fmt.Sprintf("%.0f bytes a session", s.Bytes/wholeSessions),
			yardstick: fmt.Sprintf("%.1f rows", s.Rows/wholeSessions), target: "stated", met: true})
	}
	return err
}

// completeSession creates a session and fills in its form. It returns the id as the
// database has it.
func (e *environment) completeSession(ctx context.Context, body string) (string, error) {
	created, err := e.createSession(ctx, body)
	if err != nil {
		return "", err
	}
	browser := client.New("http://" + e.Addr)
	form, _, err := browser.Open(ctx, created.URL)
	if err != nil {
		return "", err
	}
	upload, header := client.Document("tax_return", "return.pdf", append([]byte("%PDF-1.7\n"), make([]byte, documentBytes)...))
	if a, err := browser.Send(ctx, http.MethodPost, form+"/"+statement.DocumentsSection, bytes.NewReader(upload),
		header); err != nil || a.Status != http.StatusSeeOther {
		return "", fmt.Errorf("upload: %d, %v", a.Status, err) //nolint:errorlint // there may be none
	}
	for _, section := range statement.SectionNames {
		values := statementtest.Values(section)
		if values == nil {
			values = url.Values{"action": {"continue"}}
		}
		if a, err := browser.Post(ctx, form+"/"+section, values); err != nil || a.Status != http.StatusSeeOther {
			return "", fmt.Errorf("section %s: %d, %v", section, a.Status, err) //nolint:errorlint // there may be none
		}
	}
	return created.ID.UUID.String(), nil
}
