package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"candor/internal/statement/statementtest"
	"candor/internal/testkit/client"
	"candor/tools/harness"
)

// A thousand customers type at once for a minute. Each page saves one changed
// field every 2 to 4 seconds, with all of the section's fields and those that
// they replace, as the form's script sends them.
const (
	typists       = 1000
	typingSeconds = 60
	typingPause   = 2 * time.Second // and up to as much again
	typingRamp    = 5 * time.Second // while the first saves don't count
	slowSave      = 100 * time.Millisecond
)

// typed are the sections in which the typists are, in turn, with the field that
// each changes.
var typed = []struct{ section, field string }{
	{"personal_details", "occupation"}, {"income", "employment_income.gross_salary"}, {"assets", "vehicles.0.value"},
	{"liabilities", "credit_cards.0.balance"}, {"expenses", "living.groceries"},
}

// A typist is a page of the form that saves what is typed in it.
type typist struct {
	address, cookies, field string

	inputs url.Values // as they are stored
	number int
	times  []time.Duration
}

// autosaves measures the saves of many pages at once, and webhooks beside them.
func (b *bench) autosaves(ctx context.Context, e *environment) error {
	all := make([]*typist, typists)
	for i := range all {
		var err error
		if all[i], err = e.newTypist(ctx, i); err != nil {
			return err
		}
	}
	const events = typingSeconds * fairRate / 2 // half of the time
	alone, err := e.commitToWebhook(ctx, events, time.Second/fairRate)
	if err != nil {
		return err
	}
	before := e.cpu()
	typing, stop := context.WithTimeout(ctx, typingRamp+typingSeconds*time.Second)
	defer stop()
	var wait sync.WaitGroup
	failures := make([]error, typists)
	for i, t := range all {
		wait.Go(func() { failures[i] = t.work(typing, e.Addr) })
	}
	harness.Pause(ctx, 2*typingRamp)
	beside, err := e.commitToWebhook(ctx, events, time.Second/fairRate)
	wait.Wait()
	if err := errors.Join(append(failures, err)...); err != nil {
		return err
	}
	used := e.cpu().since(before).sum()
	b.addAutosaves(all, alone, beside)
	burning, err := e.besideBurning(ctx, used/time.Duration((typingRamp+typingSeconds*time.Second)/time.Second), events)
	if err != nil {
		return err
	}
	b.add(row{
		what:   "The same beside a program that has nothing to do with candor and uses as much processor time",
		figure: spread(burning), target: "stated", met: true,
	})
	return nil
}

// besideBurning measures webhooks while another process uses that much processor
// time a second.
func (e *environment) besideBurning(ctx context.Context, used time.Duration, events int) ([]time.Duration, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	burning := exec.CommandContext(ctx, os.Args[0], "-burn", used.String())
	if err := burning.Start(); err != nil {
		return nil, err
	}
	times, err := e.commitToWebhook(ctx, events, time.Second/fairRate)
	stop()
	_ = burning.Wait() // was killed
	return times, err
}

// burn uses that much processor time a second, in pieces about as long as a save's
// that begin at random.
func burn(ctx context.Context, used time.Duration) {
	const (
		piece = 4 * time.Millisecond
		own   = 0 // RUSAGE_SELF
		one   = 1 // RUSAGE_THREAD, which package syscall doesn't name
	)
	pause := float64(time.Second) * float64(piece) / float64(used)
	began := time.Now()
	var wait sync.WaitGroup
	defer wait.Wait()
	for next := began; ; next = next.Add(time.Duration(rand.ExpFloat64() * pause)) {
		if harness.Pause(ctx, time.Until(next)); ctx.Err() != nil {
			return
		}
		if usedBy(own).Seconds() > used.Seconds()*time.Since(began).Seconds() {
			continue // pieces are longer than meant: a thread's time is counted in ticks
		}
		wait.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			for end := usedBy(one) + piece; usedBy(one) < end; {
			}
		})
	}
}

func usedBy(whose int) time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(whose, &used) // fails only for other targets
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

func (b *bench) addAutosaves(all []*typist, alone, beside []time.Duration) {
	var times []time.Duration
	for _, t := range all {
		times = append(times, t.times...)
	}
	slices.Sort(times)
	p99 := quantile(times, 0.99)
	b.add(row{
		what:   fmt.Sprintf("Saves while %d customers type at once, %d a second, p99 (p50)", typists, len(times)/typingSeconds),
		figure: fmt.Sprintf("%.1f ms (%.1f ms)", ms(p99), ms(quantile(times, 0.5))), target: "< 100 ms", met: p99 < slowSave,
	})
	b.add(row{
		what:   fmt.Sprintf("Commit to first byte at %d events/s beside these saves, p50 / p99", fairRate),
		figure: spread(beside), yardstick: "without: " + spread(alone),
		target: "p99 < 100 ms", met: quantile(beside, 0.99) < slowSave,
	})
}

var wasOfPage = regexp.MustCompile(`name="was" value="([^"]*)"`)

// newTypist opens a section that has answers.
func (e *environment) newTypist(ctx context.Context, i int) (*typist, error) {
	f, err := e.openForm(ctx)
	if err != nil {
		return nil, err
	}
	at := typed[i%len(typed)]
	t := &typist{address: "/f/" + f.id + "/" + at.section, cookies: f.cookies, field: at.field}
	answers := statementtest.Values(at.section)
	answers.Set("action", "save")
	c, err := client.Dial(ctx, e.Addr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	if err := do(c, t.request(e.Addr, answers), http.StatusSeeOther); err != nil {
		return nil, fmt.Errorf("save %s: %w", at.section, err)
	}
	page, err := fetch(ctx, f.browser, t.address)
	if err != nil {
		return nil, err
	}
	found := wasOfPage.FindSubmatch(page)
	if found == nil {
		return nil, fmt.Errorf("the page of %s doesn't say what is stored", at.section)
	}
	if t.inputs, err = url.ParseQuery(html.UnescapeString(string(found[1]))); err != nil || !t.inputs.Has(t.field) {
		return nil, fmt.Errorf("the page of %s has no field %s: %w", at.section, t.field, err)
	}
	return t, nil
}

func (t *typist) request(addr string, values url.Values) []byte {
	return client.Request("POST", addr, t.address, values.Encode(), "Content-Type: application/x-www-form-urlencoded",
		"Cookie: "+t.cookies)
}

// work saves until the time is over. The connection stays, as a browser's does.
func (t *typist) work(ctx context.Context, addr string) error {
	c, err := client.Dial(context.WithoutCancel(ctx), addr)
	if err != nil {
		return err
	}
	defer c.Close()
	counts := time.Now().Add(typingRamp)
	pause := time.Duration(rand.Int64N(int64(2 * typingPause)))
	for {
		if harness.Pause(ctx, pause); ctx.Err() != nil {
			return nil
		}
		pause = typingPause + time.Duration(rand.Int64N(int64(typingPause)))
		was := t.inputs.Encode()
		t.number++
		t.inputs.Set(t.field, strconv.Itoa(t.number))
		values, err := url.ParseQuery(t.inputs.Encode())
		if err != nil {
			return err
		}
		values.Set("was", was)
		values.Set("action", "autosave")
		request := t.request(addr, values)
		began := time.Now()
		if err := do(c, request, http.StatusOK); err != nil {
			return fmt.Errorf("autosave: %w", err)
		}
		if began.After(counts) {
			t.times = append(t.times, time.Since(began))
		}
	}
}
