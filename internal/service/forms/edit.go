package forms

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/form"
	"candor/internal/statement"
)

// A Change is what a page sends of a section: what is typed there, and what is to be done
// with it.
type Change struct {
	form.Edit
	Action Action
	Target string // the field, list or item that the action is about
}

// An Action is what is done with a section after an edit was merged with what is stored.
type Action int

// The actions. Only Complete completes a section for the first time. Autosave and Keep leave
// no draft of the answers with which it was completed.
const (
	Autosave   Action = iota // keep what was typed, if that changes an answer
	Keep                     // keep what was typed
	Save                     // Keep; a completed section stays completed if its answers are still valid
	Complete                 // check the answers, and complete the section if none is left for later
	FillIn                   // answer the field with the only value that it suggests
	Add                      // add an item to the list, or an amount to the field
	Remove                   // remove the item: "vehicles.0"
	AddMissing               // add the item that is missing
)

var errNoTarget = domain.Errorf(domain.CodeInvalidRequest, "The section has nothing of that name.")

// An Edited is what became of a change.
type Edited struct {
	Stored  *form.Section
	Section *form.Section // Stored, with what was typed of what is in conflict
	Refused form.Errors   // why the section wasn't completed, but kept as a draft
	// Conflicts are the fields and lists that were changed here and elsewhere. If there are
	// any, the action wasn't done, and the page's next edit replaces Base.
	Conflicts []string
	Base      url.Values
	// At is the field or list that the action was about, or the input of an added amount.
	At string
	// List is where the item with the number Item was added, or Removed; nil for nowhere.
	List    *form.List
	Item    int
	Removed bool

	// Followed is true if repayments in Expenses changed with these answers.
	Followed bool

	checked, complete, unchanged bool
}

// Edit merges what a page sends of the named section with what is stored, does the
// action, and stores the result, all in one transaction, in which it reads the state.
// The first completion of a section sends session.section_completed (D15). Errors:
// invalid_request for a target that the section doesn't have, and those of a session
// that isn't open.
func (s *Service) Edit(ctx context.Context, state *State, name string, change Change) (*Edited, error) {
	var done *Edited
	err := s.change(ctx, state.Session, func(tx *db.Tx, session *domain.Session, now time.Time) error {
		state.Session, state.now = session, now
		if err := s.read(ctx, tx, state); err != nil {
			return err
		}
		offered := state.Statement.SuggestExpenses()
		var err error
		if done, err = state.edit(name, change); err != nil || done.unchanged {
			return err
		}
		err = s.storeEdited(ctx, tx, state, done, now)
		if err != nil || !done.complete || name == statement.ExpensesSection || len(change.Bases) == 0 {
			return err
		}
		done.Followed, err = s.followRepayments(ctx, tx, state, offered, now)
		return err
	})
	return done, err
}

func (s *Service) storeEdited(ctx context.Context, tx *db.Tx, state *State, done *Edited, now time.Time) error {
	name := done.Stored.Name
	if done.complete && name == statement.DeclarationSection {
		return errors.New("forms: the declaration is saved by submitting")
	}
	if done.complete {
		answers, err := done.Stored.Stored()
		if err != nil {
			return err
		}
		if err := s.completeSection(ctx, tx, state.Session, state.stored, name, answers, now); err != nil {
			return err
		}
		return state.completed(name, answers)
	}
	draft, err := json.Marshal(done.Stored.Inputs())
	if err != nil {
		return err
	}
	var refused []domain.FailedRule
	if done.checked {
		refused = domain.FailedRules(done.Refused)
	}
	return s.Vault.SaveDraft(ctx, tx, state.Session.ID, state.stored, name, draft, refused, now)
}

// completed takes a section's new answers, and reads the expenses again, which depend on others.
func (f *State) completed(name string, answers []byte) error {
	f.Sections[name] = SectionState{Completed: true, answers: answers}
	if err := f.Statement.Read(name, answers); err != nil {
		return err
	}
	if own := f.Sections[statement.ExpensesSection]; own.answers != nil {
		return f.Statement.Read(statement.ExpensesSection, own.answers)
	}
	return nil
}

// edit decides what a change comes to.
func (f *State) edit(name string, c Change) (*Edited, error) {
	theirs := f.Section(name).Inputs()
	_, begun := f.Sections[name]
	if !begun && len(c.Bases) > 0 {
		theirs = c.Bases[0] // nothing is stored: what is offered now isn't what someone has saved
	}
	merged := form.Merge(func() *form.Section { return f.Empty(name) }, c.Edit, theirs)
	section := f.Empty(name)
	section.Read(merged.Store)
	done := &Edited{Stored: section, Section: section, At: c.Target}
	// What is offered and wasn't touched stays an offer.
	done.unchanged = !merged.Changed && (c.Action == Autosave || c.Action == Save && !begun)
	if len(merged.Conflicts) > 0 {
		done.Conflicts, done.Base, done.Section = merged.Conflicts, merged.Base, f.Empty(name)
		done.Section.Read(merged.Show)
		done.unchanged = !merged.Changed
		return done, nil
	}
	switch c.Action {
	case Autosave, Keep, Save:
		if whole := f.asCompleted(name, merged.Store); whole != nil {
			done.Stored, done.complete = whole, true
		} else if c.Action == Save {
			done.check(f, c, merged.Store)
		}
	case Complete:
		done.check(f, c, merged.Store)
	case FillIn:
		if !section.FillIn(c.Target) {
			return nil, errNoTarget
		}
	case AddMissing: // which can have been added in another tab, or be gone
		done.At = ""
		done.List, done.Item = section.AddMissing(c.Target)
	case Add:
		return done, done.add(c.Target)
	case Remove:
		return done, done.remove(c)
	}
	return done, nil
}

// asCompleted returns the section if the inputs are the answers with which it was
// completed, so that a change that was taken back leaves nothing to finish; else nil. Lists
// must have their versions of then, by which pages know their items.
func (f *State) asCompleted(name string, values url.Values) *form.Section {
	own, whole := f.Sections[name], f.Empty(name)
	if !own.Completed || len(whole.Decode(values))+len(whole.Left()) > 0 {
		return nil
	}
	typed := whole.Inputs()
	whole.SetVersions()
	answers, err := whole.Stored()
	if err != nil || !bytes.Equal(answers, own.answers) || !maps.EqualFunc(typed, whole.Inputs(), slices.Equal) {
		return nil
	}
	return whole
}

// check decides whether the section is complete. Answers that are left for later are no
// mistakes, but they keep the section a draft.
// Save says nothing of mistakes, since the customer may not be finished.
func (e *Edited) check(f *State, c Change, values url.Values) {
	whole := f.Empty(e.Section.Name)
	whole.FromPage = len(c.Bases) > 0
	errs, left := whole.Decode(values), whole.Left()
	valid := len(errs)+len(left) == 0
	if c.Action == Complete || valid && f.Sections[whole.Name].Completed {
		e.Stored, e.Section, e.complete = whole, whole, valid
	}
	if c.Action == Complete {
		e.checked = true
		e.Refused = slices.DeleteFunc(errs, func(e form.Error) bool { return slices.Contains(left, e.Field) })
	}
}

// add adds an amount to a field, or an item to a list.
func (e *Edited) add(target string) error {
	if input, added := e.Section.AddAmount(target); added {
		e.At = input
		return nil
	}
	list := e.Section.List(target)
	if list == nil {
		return errNoTarget
	}
	if i, added := list.Add(); added {
		e.List, e.Item = list, i
	}
	return nil
}

// remove removes an item. If items were added or removed elsewhere, its number means
// another one.
func (e *Edited) remove(c Change) error {
	name, number, _ := strings.Cut(c.Target, ".")
	list := e.Section.List(name)
	if list == nil {
		return errNoTarget
	}
	e.At = name
	i, err := strconv.Atoi(number)
	if same := len(c.Bases) == 0 || list.Version == c.Ours.Get(name+".version"); err != nil || !same || !list.Remove(i) {
		return nil
	}
	if list.Len() == 0 {
		e.Section.Untick(name)
	}
	e.List, e.Item, e.Removed = list, i, true
	return nil
}
