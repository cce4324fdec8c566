package statement

import (
	"slices"

	"candor/internal/form"
)

// Limits of uploads (D23).
const (
	MaxDocuments     = 20
	MaxDocumentBytes = 10 << 20
	// MaxUploadedBytes is what a session can upload in total, with rejected
	// and removed files: twice what it can keep.
	MaxUploadedBytes = 2 * MaxDocuments * MaxDocumentBytes
	// MaxRemovedBytes is what of a session's removed files waits to be deleted (D87).
	MaxRemovedBytes = 5 * MaxDocumentBytes
)

// The customer's messages for a rejected file.
const (
	NoFile          = "Select a file"
	NoCategory      = "Select what this document is"
	TooManyFiles    = "You can upload 20 files. Remove one before you add another"
	FileEmpty       = "The selected file is empty"
	FileTooLarge    = "The selected file must be 10 MB or smaller"
	FileTypeUnknown = "The selected file must be a PDF, JPEG, PNG or HEIC"
	FileDamaged     = "The selected file is damaged. Take the photo again or choose another file"
	UploadRunning   = "Another file is being uploaded. Wait until it is done"
	TooMuchUploaded = "No more files can be uploaded here. Send them in another way"
	PictureTooLarge = "The selected picture is too large. Take a smaller photo"
)

// CategoryField is the name of the input with the category of a stored document.
// A document has none until its section is completed.
func CategoryField(document string) string { return "category." + document }

// RestField is the name of the input with the category of all documents that have none
// and none chosen (D84).
const RestField = "category.rest"

// ShownField is the name of our page's input with the category that it showed of a
// stored document: the stored one, or a guess.
func ShownField(document string) string { return CategoryField(document) + ".was" }

// Document is an uploaded file as the data object shows it (D23).
type Document struct {
	ID          string           `json:"id" pattern:"^doc_[0-7][0-9a-hjkmnp-tv-z]{25}$" doc:"Document id, doc_…; its bytes are at /v1/sessions/:id/documents/:document_id."`
	Category    DocumentCategory `json:"category" doc:"What the customer says it is."`
	FileName    string           `json:"file_name" doc:"The name the customer’s device gave it, with an ending that fits the content."`
	ContentType string           `json:"content_type" enum:"application/pdf,image/jpeg,image/png,image/heic" doc:"Found from the content."`
	SizeBytes   int64            `json:"size_bytes" doc:"Size in bytes, at most 10485760."`
	SHA256      string           `json:"sha256" pattern:"^[0-9a-f]{64}$" doc:"Lower-case hex."`
	UploadedAt  form.Timestamp   `json:"uploaded_at" doc:"When it was uploaded, UTC."`
}

// DocumentsDescribed reports whether every document has a category.
func (s *Statement) DocumentsDescribed() bool {
	return !slices.ContainsFunc(s.Documents, func(d Document) bool { return d.Category == "" })
}

// DocumentCategories are the categories of documents (D23).
var DocumentCategories = []form.Option{
	{Code: "identification", Label: "Identification"},
	{Code: "income_evidence", Label: "Payslip or proof of income"},
	{Code: "bank_statement", Label: "Bank statement"},
	{Code: "tax_return", Label: "Tax return"},
	{Code: "loan_statement", Label: "Loan or credit card statement"},
	{Code: "other", Label: "Something else"},
}

// KnownCategory reports whether there is a category with the code.
func KnownCategory(code string) bool {
	return slices.ContainsFunc(DocumentCategories, func(o form.Option) bool { return o.Code == code })
}

// A DocumentCategory is the code of one of DocumentCategories.
type DocumentCategory string

// Enum lists the codes of the categories.
func (DocumentCategory) Enum() []string {
	var out []string
	for _, o := range DocumentCategories {
		out = append(out, o.Code)
	}
	return out
}

// Label is the category as the customer reads it.
func (c DocumentCategory) Label() string {
	for _, o := range DocumentCategories {
		if o.Code == string(c) {
			return o.Label
		}
	}
	return string(c)
}
