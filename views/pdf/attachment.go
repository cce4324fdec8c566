package pdf

import (
	"fmt"
	"time"
)

// An attachment is a file in a document.
type attachment struct {
	name    string // ASCII; "" for no attachment
	kind    string // its media type, as the name of a PDF
	content []byte
	made    time.Time
}

// attachData attaches the exact bytes of the statement's data (D81).
func (d *document) attachData(in Statement, data []byte) {
	d.attached = attachment{
		name: "financial_statement_" + in.SessionID + ".json", kind: "application#2Fjson", content: data, made: in.SubmittedAt,
	}
}

// noNames is the empty directory of attachments that fpdf writes. fpdf could fill it,
// but it compresses each one with a compressor of its own, and has no place for a type
// and a date.
const noNames = "/Names <<\n/EmbeddedFiles << /Names [\n  \n] >>\n>>"

// pdfTime is the layout of a time in UTC.
const pdfTime = "D:20060102150405+00'00'"

// attach writes an attachment, and what the catalogue says of it.
func (r *repacked) attach(a attachment) {
	if a.name == "" {
		return
	}
	file, entry := r.number(), r.number()
	made := a.made.UTC().Format(pdfTime)
	r.stream(file, fmt.Sprintf(" /Type /EmbeddedFile /Subtype /%s /Params <</Size %d /CreationDate (%s) /ModDate (%s)>>",
		a.kind, len(a.content), made, made), a.content)
	r.write(entry, fmt.Appendf(nil, "<</Type /Filespec /F <%x> /UF <%x> /EF <</F %d 0 R>>>>", a.name, a.name, file))
	r.names = fmt.Appendf(nil, "/Names <</EmbeddedFiles <</Names [<%x> %d 0 R]>>>>", a.name, entry)
}
