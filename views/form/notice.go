package form

import (
	"context"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/a-h/templ"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/views/i18n"
)

// What is announced after a change, in English.
const (
	SavedNotice    = "Your answers are saved"
	UploadedNotice = "Document uploaded"
	RemovedNotice  = "Document removed"
	FollowedNotice = "Your repayments in Expenses have changed, too. Check them before you sign."
)

// ItemAdded announces item i of a list.
func ItemAdded(ctx context.Context, l *form.List, i int) string {
	return i18n.T(ctx, "{item} added", itemName(ctx, l, i))
}

// ItemRemoved announces that what was item i of a list is gone.
func ItemRemoved(ctx context.Context, l *form.List, i int) string {
	return i18n.T(ctx, "{item} removed", itemNumber(ctx, l, i))
}

// AlreadyAdded announces that a file is stored already as this document, and which
// category it keeps if it was sent with another one (D84).
func AlreadyAdded(ctx context.Context, d statement.Document, otherCategory bool) string {
	if otherCategory {
		return i18n.T(ctx, "You already added this file as {file}, under “{category}”.", d.FileName, i18n.T(ctx, d.Category.Label()))
	}
	return i18n.T(ctx, "You already added this file as {file}.", d.FileName)
}

// PrefilledNotice says where the first answers come from.
func PrefilledNotice(ctx context.Context, partner string) string {
	return i18n.T(ctx, "{partner} gave us these answers. Change any that are wrong.", partner)
}

// OfferedNotice says that answers of a former session were filled in (D101), in Expenses also whether
// repayments followed the debts of today.
func OfferedNotice(ctx context.Context, followed bool) string {
	if followed {
		return i18n.T(ctx, "These are your answers from last time, with the repayments from Liabilities. Change any that are wrong, then continue.")
	}
	return i18n.T(ctx, "These are your answers from last time. Change any that are wrong, then continue.")
}

// SuggestedNotice says where the first debts come from (D20).
func SuggestedNotice(ctx context.Context) string {
	return i18n.T(ctx, "We added your part of each loan from Assets.")
}

// RepaymentsNotice says where the first expenses come from (D55). The form asks for no
// repayment of a card.
func RepaymentsNotice(ctx context.Context, cards bool) string {
	if cards {
		return i18n.T(ctx, "We added repayments, without cards.")
	}
	return i18n.T(ctx, "We added your repayments.")
}

// itemInSentence is itemName inside a sentence.
func itemInSentence(ctx context.Context, l *form.List, i int) string {
	if name := l.ItemName(i); name != "" {
		return name
	}
	return lower(itemName(ctx, l, i))
}

// itemName is what the page calls item i of a list: by its name, else "Bank account 2".
func itemName(ctx context.Context, l *form.List, i int) string {
	if name := l.ItemName(i); name != "" {
		return name
	}
	return itemNumber(ctx, l, i)
}

// itemNumber is what the page calls item i without its name: "Bank account 2".
func itemNumber(ctx context.Context, l *form.List, i int) string {
	return upper(i18n.T(ctx, l.Singular)) + " " + strconv.Itoa(i+1)
}

// translated are errors in the page's language.
func translated(ctx context.Context, errs form.Errors) form.Errors {
	out := make(form.Errors, len(errs))
	for i, e := range errs {
		w := e.Wording
		if w.Text == "" {
			w.Text = e.Message
		}
		out[i] = form.Error{Field: e.Field, Message: w.Say(func(text string) string { return i18n.T(ctx, text) })}
	}
	return out
}

// sentence draws a text whose {names} are parts of the page, in the order of
// the English text.
func sentence(text string, parts ...templ.Component) templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		for _, p := range i18n.Parts(ctx, text) {
			var err error
			if p.Place < 0 {
				_, err = io.WriteString(w, templ.EscapeString(p.Text))
			} else {
				err = parts[p.Place].Render(ctx, w)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// upper and lower change the first letter alone.
func upper(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return strings.ToUpper(s[:size]) + s[size:]
}

func lower(s string) string {
	_, size := utf8.DecodeRuneInString(s)
	return strings.ToLower(s[:size]) + s[size:]
}
