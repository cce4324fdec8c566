package form_test

import (
	"strings"
	"testing"

	"github.com/a-h/templ"

	"candor/internal/form"
	"candor/internal/statement"
	"candor/internal/testkit/browsertest"
	view "candor/views/form"
)

// TestBrowserAccessibilityTree reads pages as a screen reader does. What the form asks comes in
// its order, between the landmarks, and everything has a name.
func TestBrowserAccessibilityTree(t *testing.T) {
	t.Parallel()
	s := example(t)
	assets := s.Section(statement.AssetsSection, now)
	second := map[string]string{}
	for name, value := range assetsInputs {
		second[name] = value
		second[strings.Replace(name, "real_property.0.", "real_property.1.", 1)] = value
	}
	if errs := answered(t, assets, second); len(errs) > 0 {
		t.Fatal(errs)
	}
	for name, page := range map[string]struct {
		component templ.Component
		want      []string
	}{
		"hub":    {view.Hub(hub(view.Completed, view.InProgress)), hubOutline()},
		"assets": {view.Section(sectionPage(assets)), sectionOutline(assets)},
		"check":  {view.Check(checkPage(s)), checkOutline(s)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			base := serve(t, map[string]templ.Component{name: page.component})
			tab := browsertest.New(t, browsertest.Options{})
			tab.Open(base + "/" + name)
			tree := tab.Tree()
			if missing := notInOrder(tree, page.want); missing != "" {
				t.Errorf("%q isn't where it should be, want in this order\n  %s\nthe page reads\n  %s", missing,
					strings.Join(page.want, "\n  "), strings.Join(tree, "\n  "))
			}
			level := 0
			for _, line := range tree {
				role, text, _ := strings.Cut(line, " ")
				if text == "" && !strings.Contains(" banner main contentinfo list form group status alert definition ", " "+role+" ") {
					t.Errorf("a %s has no name", role)
				}
				if role == "heading" {
					now := int(text[0] - '0')
					if now > level+1 {
						t.Errorf("%q follows a heading of level %d", line, level)
					}
					level = now
				}
			}
		})
	}
}

// notInOrder returns the first wanted line that no line of the tree begins with after
// those before it, "" if there is none.
func notInOrder(tree, want []string) string {
	at := 0
	for _, w := range want {
		for at < len(tree) && !strings.HasPrefix(tree[at], w) {
			at++
		}
		if at++; at > len(tree) {
			return w
		}
	}
	return ""
}

func hubOutline() []string {
	out := []string{"banner", "link Harbour Lending", "main", "heading 1 ", "link Continue", "heading 2 ", "list"}
	for _, name := range statement.SectionNames {
		out = append(out, "link "+statement.Title(name))
	}
	return append(out, "complementary ", "heading 2 ", "contentinfo", "heading 2 ", "link help@")
}

func sectionOutline(section *form.Section) []string {
	out := []string{"banner", "main", "link ", "heading 1 " + section.Title}
	for _, g := range section.Groups {
		if g.Kind() != "" {
			out = append(out, "heading 2 "+g.Title, "checkbox "+g.Title+" (checked)")
			if !section.Has(g.Kind()) {
				out[len(out)-1] = "checkbox " + g.Title
			}
		}
		for i := 0; g.List != nil && i < g.List.Len(); i++ {
			out = append(out, "group ", "heading 3 ", "button ")
			for _, f := range g.List.Item(i) {
				out = append(out, controls(f)...)
				if f.CanWait() {
					out = append(out, "checkbox I don’t know yet "+form.InSentence(f.Label))
				}
			}
		}
		if g.List != nil && g.List.Len() > 0 {
			out = append(out, "button ") // adds one
		}
	}
	return append(out, "checkbox ", "button ", "button ", "contentinfo")
}

// controls are the lines of a question.
func controls(f form.Field) []string {
	switch {
	case !f.Asked():
		return nil
	case f.Kind == form.KindChoice && len(f.Options) <= 4:
		out := []string{"group " + f.Label}
		for _, o := range f.Options {
			out = append(out, "radio "+o.Label)
		}
		return out
	case f.Kind == form.KindChoice:
		return []string{"combobox " + f.Label}
	case f.Suggestions != "" && f.FillButton == "":
		return []string{"combobox " + f.Label} // it offers suggestions
	case f.Kind == form.KindCheckbox:
		return []string{"checkbox " + f.Label}
	}
	return []string{"textbox " + f.Label}
}

func checkOutline(s *statement.Statement) []string {
	out := []string{"banner", "main", "link ", "heading 1 ", "heading 2 ", "term ", "definition"}
	for _, section := range s.Sections(now) {
		if section.Name == statement.DeclarationSection {
			continue
		}
		out = append(out, "region "+section.Title, "heading 2 "+section.Title, "link ")
		for _, g := range section.Groups {
			if g.List != nil && g.List.Len() > 0 {
				out = append(out, "heading 3 "+g.Title)
			}
			for i := 0; g.List != nil && i < g.List.Len(); i++ {
				out = append(out, "heading 4 ")
				for _, f := range g.List.Item(i)[1:] {
					out = append(out, answerLine(f)...)
				}
			}
		}
	}
	out = append(out, "region "+statement.Title(statement.DocumentsSection), "link ")
	return append(out, "heading 2 ", "checkbox ", "textbox ", "button ", "contentinfo")
}

func answerLine(f form.Field) []string {
	if f.Asked() && !f.Value.Empty() && f.Kind != form.KindPercent { // which the amounts say
		return []string{"term ", "definition"}
	}
	return nil
}
