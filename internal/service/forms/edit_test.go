package forms_test

import (
	"net/url"
	"slices"
	"testing"

	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/service/forms"
	"candor/internal/statement"
)

// edit does a change as a page whose last known inputs are was, nil for a script.
func (b *fixture) edit(id domain.SessionID, name string, was url.Values, change forms.Change) (*forms.Edited, error) {
	if was != nil {
		change.Bases = []url.Values{was}
	}
	return b.Forms.Edit(b.Ctx, &forms.State{Session: &domain.Session{ID: id}}, name, change)
}

// draft keeps a section's inputs unchecked.
func (b *fixture) draft(id domain.SessionID, name string, typed url.Values) error {
	_, err := b.edit(id, name, nil, forms.Change{Edit: form.Edit{Ours: typed}, Action: forms.Keep})
	return err
}

// What became of a change is a value: what is stored, what was refused, what collided.
func TestEdited(t *testing.T) {
	t.Parallel()
	b := newFixture(t)
	id := b.Opened().ID
	stored := func() url.Values {
		state, err := b.Forms.Get(b.Ctx, id)
		b.OK(err)
		return state.Section(statement.PersonalDetailsSection).Inputs()
	}
	blank := stored()
	jo, jess := url.Values{"full_name": {"Jo"}}, url.Values{"full_name": {"Jess"}, "occupation": {"Baker"}}
	done, err := b.edit(id, statement.PersonalDetailsSection, blank, forms.Change{Edit: form.Edit{Ours: jo}, Action: forms.Complete})
	b.OK(err)
	if done.Refused.For("phone") == "" || done.Refused.For("full_name") != "" || done.Section.Inputs().Get("full_name") != "Jo" ||
		stored().Get("full_name") != "Jo" {
		t.Errorf("refused %v of %v; stored %v", done.Refused, done.Section.Inputs(), stored())
	}
	done, err = b.edit(id, statement.PersonalDetailsSection, blank, forms.Change{Edit: form.Edit{Ours: jess},
		Action: forms.Complete})
	b.OK(err)
	if !slices.Equal(done.Conflicts, []string{"full_name"}) || done.Refused != nil || done.Section.Inputs().
		Get("full_name") != "Jess" ||
		done.Stored.Inputs().Get("full_name") != "Jo" || stored().Get("full_name") != "Jo" || stored().Get("occupation") != "Baker" {
		t.Errorf("%v collided: %v; stored %v", done.Conflicts, done.Section.Inputs(), stored())
	}

	cars := url.Values{"vehicles.0.description": {"Mazda"}, "vehicles.1.description": {"Boat"}}
	done, err = b.edit(id, statement.AssetsSection, nil, forms.Change{Edit: form.Edit{Ours: cars}, Action: forms.Remove,
		Target: "vehicles.0"})
	b.OK(err)
	if done.List == nil || !done.Removed || done.Item != 0 || done.List.Len() != 1 {
		t.Errorf("removed: %+v", done)
	}
	if done, err = b.edit(id, statement.AssetsSection, nil, forms.Change{Edit: form.Edit{Ours: cars}, Action: forms.Add,
		Target: "vehicles"}); err != nil || done.Removed || done.Item != 2 {
		t.Errorf("added: %+v, %v", done, err)
	}
	for _, action := range []forms.Action{forms.Add, forms.Remove, forms.FillIn} {
		_, err := b.edit(id, statement.AssetsSection, nil, forms.Change{Action: action, Target: "yachts.0"})
		b.Code("a target that isn't there", err, domain.CodeInvalidRequest)
	}
}
