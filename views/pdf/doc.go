// Package pdf draws submitted financial statements and invoices as A4 documents.
//
// A statement's sections are walked through their form.Section description,
// so a question is drawn with the label it was asked with. The package does no
// I/O but reading a fallback font, knows no database and no HTTP, and takes
// every time from its input: the same input gives the same bytes.
//
// The files, from the bottom up: face.go holds the fonts and subset.go cuts them;
// arabic.go, bidi.go and text.go turn a string into lines of glyphs; document.go
// keeps the pages; words.go says its texts in a language; metadata.go ends the file and embed.go puts the fonts in;
// block.go, table.go, columns.go, sheet.go and watermark.go draw on them; part.go
// keeps sections whole; first.go and statement.go draw the statement and
// invoice.go the invoice.
package pdf
