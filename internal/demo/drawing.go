package demo

import (
	"context"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/views/pdf"
)

// drawing is a PDF that is drawn while the history is played: that is half of
// all the work. Its event has its number already.
type drawing struct {
	*journey
	at     time.Time
	number int64
	done   chan drawn
}

type drawn struct {
	pdf.Result
	err error
}

// draw begins to make the session's PDF.
func (j *journey) draw(context.Context, *db.Tx) error {
	in := pdf.Statement{
		AccountName: partnerName, Logo: j.office.logo, Livemode: j.scope.Livemode, SessionID: j.session.ID.String(),
		CreatedAt: j.session.CreatedAt, SubmittedAt: *j.session.CompletedAt, Answers: j.answers,
	}
	if j.session.ReferenceID != nil {
		in.ReferenceID = *j.session.ReferenceID
	}
	j.events++
	d := &drawing{journey: j, at: j.clock.at, number: int64(j.events), done: make(chan drawn, 1)}
	j.drawings = append(j.drawings, d)
	go func() {
		j.drawers <- struct{}{}
		result, err := pdf.Render(in, j.fonts)
		if err == nil { // the certificate may be younger than the story
			result.Bytes, err = j.Signer.Sign(result.Bytes, j.now)
		}
		<-j.drawers
		d.done <- drawn{result, err}
	}()
	return nil
}

// keep stores the PDF, and that it was made when it was begun.
func (d *drawing) keep(ctx context.Context, tx *db.Tx) error {
	made := <-d.done
	if made.err != nil {
		return made.err
	}
	signed := domain.PDF{Content: made.Bytes, Pages: made.Pages, Signer: d.Signer.Subject(), SignerIssuer: d.Signer.Issuer()}
	if _, err := d.Vault.InsertPDF(ctx, tx, d.session.ID, signed, d.at); err != nil {
		return err
	}
	return d.recordAs(ctx, tx, d.number, d.at, &d.session.ID, domain.PDFReadyPayload{
		SessionID: d.session.ID, PDFURL: d.BaseURL + "/v1/sessions/" + d.session.ID.String() + "/pdf",
		FileSizeBytes: int64(len(made.Bytes)), PageCount: made.Pages,
	}, d.urlOf(d.session))
}
