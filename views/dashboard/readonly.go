package dashboard

import (
	"bytes"
	"context"
	"io"
	"regexp"

	"github.com/a-h/templ"
)

// onlyReads reports whether the page's forms are disabled: those of an auditor (D135),
// but the person's own.
func (p Page) onlyReads() bool {
	return p.Staff.OnlyReads() && p.Current != "me" && p.Title != Forbidden
}

// Forbidden is the title of the page on which anyone may ask an owner.
const Forbidden = "You can’t do this"

// Forms that act, as templ writes them; forms are never within forms.
var (
	actingForm   = regexp.MustCompile(`(?s)(<form\b[^>]*\bmethod="post"[^>]*>)(.*?)(</form>)`)
	disabledForm = []byte(`$1<fieldset class="read-only" disabled>$2</fieldset>$3`)
)

// readOnly draws its children with the fields and buttons of forms that act disabled, so
// that they show what is set and change nothing.
func readOnly() templ.Component {
	return templ.ComponentFunc(func(ctx context.Context, w io.Writer) error {
		children := templ.GetChildren(ctx)
		var b bytes.Buffer
		if err := children.Render(templ.ClearChildren(ctx), &b); err != nil {
			return err
		}
		_, err := w.Write(actingForm.ReplaceAll(b.Bytes(), disabledForm))
		return err
	})
}
