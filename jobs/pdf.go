package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/riverqueue/river"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/outbox"
	"candor/internal/platform/pdfsign"
	"candor/internal/vault"
	"candor/views/pdf"
)

// pdfArgs draws the PDF of a completed session.
type pdfArgs struct {
	SessionID domain.SessionID `json:"session_id" river:"unique"`
}

// Kind names the job.
func (pdfArgs) Kind() string { return "statement_pdf" }

// InsertOpts allows one unfinished job for each session.
func (pdfArgs) InsertOpts() river.InsertOpts {
	return river.InsertOpts{Queue: queuePDF, MaxAttempts: maxRuns, UniqueOpts: unfinished}
}

// fontWait is how long a statement that can't be drawn waits for its next try. It is
// less than the hour that the alert looks back (D80).
const fontWait = 10 * time.Minute

// pdfTimeout is far above the milliseconds that a statement takes.
const pdfTimeout = 30 * time.Second

// PDF draws a completed session's PDF.
func (i *Inserter) PDF(ctx context.Context, tx *db.Tx, id domain.SessionID) error {
	return i.insert(ctx, tx, pdfArgs{SessionID: id})
}

type pdfWorker struct {
	river.WorkerDefaults[pdfArgs]
	db      *db.DB
	vault   *vault.Vault
	outbox  *outbox.Outbox
	fonts   *pdf.Fonts
	signer  *pdfsign.Signer
	baseURL string
	clock   domain.Clock
	logger  *slog.Logger

	observer Observer
}

// Timeout bounds one run.
func (w *pdfWorker) Timeout(*river.Job[pdfArgs]) time.Duration { return pdfTimeout }

// NextRetry spaces failed runs.
func (w *pdfWorker) NextRetry(job *river.Job[pdfArgs]) time.Time { return retryAt(job.Attempt) }

// Work draws and signs the PDF (D81), then stores it and records session.pdf_ready in one
// transaction. A second run changes nothing. A PDF that lacks a character is not
// stored: it is drawn when a font has it.
func (w *pdfWorker) Work(ctx context.Context, job *river.Job[pdfArgs]) error {
	session, err := w.db.SessionByID(ctx, job.Args.SessionID)
	if errors.Is(err, db.ErrNotFound) {
		return river.JobCancel(err)
	}
	if err != nil {
		return err
	}
	if session.Status != domain.Completed || session.PDFReadyAt != nil || session.ErasedAt != nil {
		return nil
	}
	account, err := w.db.Account(ctx, session.AccountID)
	if err != nil {
		return err
	}
	answers, err := w.vault.Statement(ctx, w.db, session.ID)
	if err != nil {
		return err
	}
	in := pdf.Of(account, session, answers)
	if in.Logo, err = w.logo(ctx, account); err != nil {
		return err
	}
	result, err := pdf.Render(in, w.fonts)
	if err != nil {
		return err
	}
	if len(result.Uncovered) > 0 {
		w.observer.Undrawn()
		w.logger.ErrorContext(ctx, "a statement waits for a font: set CANDOR_PDF_FONT to one that has these characters", "session_id",
			session.ID, "blocks", blocks(result.Uncovered))
		return river.JobSnooze(fontWait)
	}
	now := w.clock.Now()
	content, err := w.signer.Sign(result.Bytes, now)
	if err != nil {
		return err
	}
	made := domain.PDF{Content: content, Pages: result.Pages, Signer: w.signer.Subject(), SignerIssuer: w.signer.Issuer()}
	return w.db.InTx(ctx, func(tx *db.Tx) error {
		first, err := w.vault.InsertPDF(ctx, tx, session.ID, made, now)
		if err != nil || !first {
			return err
		}
		return w.outbox.SessionEvent(ctx, tx, session, domain.PDFReadyPayload{
			SessionID: session.ID, PDFURL: w.baseURL + "/v1/sessions/" + session.ID.String() + "/pdf",
			FileSizeBytes: int64(len(content)), PageCount: result.Pages,
		}, now)
	})
}

// blocks are the rows of characters that have no font, such as "U+1F98x": an operator can
// look for a font, and no name is in the log.
func blocks(uncovered []rune) []string {
	var out []string
	for _, r := range uncovered {
		out = append(out, fmt.Sprintf("U+%03Xx", r>>4))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// logo returns the account's logo, or nil if it has none.
func (w *pdfWorker) logo(ctx context.Context, account *domain.Account) ([]byte, error) {
	if account.LogoName == nil {
		return nil, nil
	}
	content, err := w.db.Logo(ctx, *account.LogoName)
	if errors.Is(err, db.ErrNotFound) { // replaced just now
		return nil, nil
	}
	return content, err
}
