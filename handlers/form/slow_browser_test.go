package form_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"candor/internal/testkit"
	"candor/internal/testkit/browsertest"
)

var (
	slowWalks = flag.Int("slow-walks", 1, "how often the form is filled in on a slow, broken connection")
	slowSeed  = flag.Uint64("slow-seed", 1795369568993626441, "seed of the first of these; 0 for another each time")
)

// An entry is a field with what is typed into its inputs (name, text, …).
type entry struct {
	section, tick string
	inputs        []string
}

var slowEntries = []entry{
	{"personal_details", "", []string{"date_of_birth.day", "27", "date_of_birth.month", "3", "date_of_birth.year", "1985"}},
	{"personal_details", "", []string{"occupation", "Nurse"}},
	{"personal_details", "", []string{"employer", "City Hospital"}},
	{"personal_details", "", []string{"address.street", "5 Hill St"}},
	{"personal_details", "", []string{"address.suburb", "Newtown"}},
	{"personal_details", "", []string{"phone", "0412 345 678"}},
	{"income", "employment_income", []string{"employment_income.gross_salary", "98,500"}},
	{"income", "employment_income", []string{"employment_income.bonuses", "3,200"}},
	{"income", "employment_income", []string{"employment_income.allowances", "1,875"}},
}

// A slowWalk is a customer on a slow connection that is cut twice and whose
// browser is killed twice, at random keystrokes.
type slowWalk struct {
	*typing
	t      *testing.T
	tab    *browsertest.Tab
	random *rand.Rand

	keys        int
	cuts, kills []int // at which key
	whole       int   // the key at which a cut ends
}

func newSlowWalk(t *testing.T, seed uint64) *slowWalk {
	t.Helper()
	t.Logf("-slow-seed=%d repeats this", seed)
	w := &slowWalk{typing: newTyping(t), t: t, random: rand.New(rand.NewPCG(seed, 0))}
	total := 0
	for _, e := range slowEntries {
		for i := 1; i < len(e.inputs); i += 2 {
			total += len(e.inputs[i])
		}
	}
	for range 2 {
		w.cuts, w.kills = append(w.cuts, w.random.IntN(total)), append(w.kills, w.random.IntN(total))
	}
	w.tab = w.device(t, slowEntries[0].section)
	w.tab.Slow()
	return w
}

// open opens a section, again if it was killed. The connection may be lost
// before what the device kept is sent.
func (w *slowWalk) open(section string) {
	w.line.state.Store(whole)
	w.tab.Open(w.base + w.Path(section))
	if w.random.IntN(2) == 0 {
		w.cut()
	}
}

func (w *slowWalk) cut() {
	state := []int32{cut, answerCut}[w.random.IntN(2)]
	w.line.state.Store(state)
	w.whole = w.keys + 3 + w.random.IntN(10)
	w.t.Logf("key %d: cut (%d) until key %d", w.keys, state, w.whole)
}

// enter types a field. A field during which the browser is killed is typed
// again: it is the one that may be lost.
func (w *slowWalk) enter(e entry) {
	w.t.Helper()
	if e.tick != "" && !browsertest.Eval[bool](w.tab, fmt.Sprintf("document.getElementById(%q).checked", e.tick)) {
		w.tab.Click(input(e.tick))
	}
	for i := 0; i < len(e.inputs); i += 2 {
		browsertest.Eval[bool](w.tab, fmt.Sprintf("((f) => (f.focus(), f.select(), true))(document.getElementById(%q))", e.inputs[i]))
		for _, key := range e.inputs[i+1] {
			if w.key(e.section) {
				w.enter(e)
				return
			}
			w.tab.Press(string(key))
		}
	}
}

// key cuts or restores the connection or kills the browser, if that is due, and
// reports whether it killed it.
func (w *slowWalk) key(section string) (killed bool) {
	if slices.Contains(w.cuts, w.keys) {
		w.cut()
	}
	w.keys++
	if w.keys == w.whole {
		w.line.state.Store(whole)
	}
	at := slices.Index(w.kills, w.keys-1)
	if at < 0 {
		return false
	}
	w.t.Logf("key %d: killed", w.keys)
	w.kills[at] = -1
	w.tab = w.tab.Kill()
	w.open(section)
	return true
}

// TestBrowserSlowAndBroken types on a slow connection, with it cut and the browser
// killed: at most the field that is being typed is lost.
func TestBrowserSlowAndBroken(t *testing.T) {
	t.Parallel()
	testkit.Slow(t)
	first := *slowSeed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	for i := range *slowWalks {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			w := newSlowWalk(t, first+uint64(i))
			at := slowEntries[0].section
			for _, e := range slowEntries {
				if e.section != at {
					w.finish(at)
					at = e.section
					w.open(at)
				}
				w.enter(e)
			}
			w.finish(at)
		})
	}
}

// finish waits until a section is saved and settles what collides: a customer
// who types a field again at once collides with the part that was kept of it.
func (w *slowWalk) finish(section string) {
	w.t.Helper()
	w.line.state.Store(whole)
	again := time.Now().Add(12 * time.Second)
	testkit.Await(w.t, section+": what the device keeps is never sent", func() bool {
		if keptOnDevice(w.tab) == 0 {
			return true
		}
		if browsertest.Eval[bool](w.tab, `!!document.querySelector("button[value^='keep:']")`) {
			w.t.Logf("%s: a collision: %s", section, w.tab.Text(".collision"))
			w.tab.Click(`button[value^="keep:"]`)
			w.tab.WaitGone(".collision")
		}
		if now := time.Now(); now.After(again) { // what collided while something else was typed waits for that
			again = now.Add(time.Minute)
			w.tab.Open(w.base + w.Path(section))
		}
		return false
	})
	var want []string
	for _, e := range slowEntries {
		if e.section == section {
			want = append(want, e.inputs...)
		}
	}
	stored(w.Customer, section, want...)
}
