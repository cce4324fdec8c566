package admin

import (
	"context"
	"errors"
	"fmt"
	"time"

	"candor/cmd/candor/cli"
	"candor/internal/domain"
	"candor/internal/platform/blob"
)

var (
	errNowhere = errors.New(
		"there is one place for documents: configure the bucket (CANDOR_S3_BUCKET and the others), and name with CANDOR_BLOBS where documents go")
	errDiffers = errors.New(
		"some documents are in both places with different bytes: both copies are kept, and the service uses the new place's")
)

// progressEvery is the time between lines about a running move.
const progressEvery = 10 * time.Second

// movedBlobs is what blobs move did.
type movedBlobs struct {
	From    string `json:"from"`
	To      string `json:"to"`
	DryRun  bool   `json:"dry_run"`
	Moved   int    `json:"moved"`
	Bytes   int64  `json:"bytes"`
	Left    int    `json:"left"`
	Differs int    `json:"differs"`
}

// Text says what was moved.
func (m movedBlobs) Text() string {
	did := "Moved"
	if m.DryRun {
		did = "Would move"
	}
	text := fmt.Sprintf("%s %d documents (%d MiB) from %s to %s.\n", did, m.Moved, m.Bytes>>20, m.From, m.To)
	if m.Left > 0 {
		text += fmt.Sprintf(
			"%d files without a document stay: uploads that are under way, which the next run moves, and garbage, which the worker deletes.\n", m.Left)
	}
	return text
}

// blobsMove moves documents to the place that CANDOR_BLOBS names.
func (c commands) blobsMove(ctx context.Context, args []string) error {
	flags := cli.NewJSONFlags("blobs move")
	dry := flags.Bool("dry-run", false, "")
	app, err := c.open(ctx, flags, args)
	if err != nil {
		return err
	}
	defer app.Close()
	if app.Moving == nil {
		return errNowhere
	}
	kept := func(ctx context.Context, id string) (bool, error) {
		document, err := domain.ParseDocumentID(id)
		if err != nil {
			return false, nil //nolint:nilerr // not a document's
		}
		return app.DB.DocumentKept(ctx, document)
	}
	moved, err := app.Moving.Move(ctx, kept, *dry, c.progress())
	result := movedBlobs{
		From: fmt.Sprint(app.Moving.From), To: fmt.Sprint(app.Moving.To), DryRun: *dry,
		Moved: moved.Moved, Bytes: moved.Bytes, Left: moved.Left, Differs: moved.Differs,
	}
	if moved.Differs > 0 {
		err = errors.Join(err, errDiffers)
	}
	return errors.Join(flags.Print(c.Out, result), err)
}

// progress returns a function that says now and then how many were moved.
func (c commands) progress() func(blob.Moved) {
	last := time.Now()
	return func(m blob.Moved) {
		if time.Since(last) >= progressEvery {
			last = time.Now()
			fmt.Fprintf(c.Err, "%d documents, %d MiB\n", m.Moved, m.Bytes>>20)
		}
	}
}
