package ui_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// htmx ignores a modifier that it doesn't know, without a word: pages were
// shown at their foot because htmx 4 has no "show:window:top". What it knows is
// listed here, and compared with its source.
var (
	swapStyles = strings.Fields(`innerHTML outerHTML outerSync innerMorph outerMorph textContent delete none
		beforebegin afterbegin beforeend afterend before prepend append after`)
	swapModifiers = map[string]string{ // with the values that each takes
		"swap": interval, "settle": interval, "transition": boolean, "ignoreTitle": boolean, "focusScroll": boolean,
		"strip": boolean, "swapEmpty": boolean, "scroll": edge, "show": edge, "scrollTarget": selector, "showTarget": selector,
		"target": selector,
	}
	triggerModifiers = map[string]string{
		"delay": interval, "throttle": interval, "once": flag, "changed": flag, "prevent": flag, "stop": flag, "halt": flag,
		"consume": flag,
		"capture": flag, "passive": flag, "from": selector, "target": selector, "root": selector, "rootMargin": selector,
		"threshold": `[0-9.]+`,
	}
	statusMembers = map[string]string{"swap": selector, "target": selector, "select": selector, "push": selector,
		"replace": selector, "transition": boolean}
	syncStrategies = []string{"drop", "abort", "replace", "queue first", "queue last", "queue all"}
	// htmxAttributes are those that pages may use. hx-on is not among them:
	// the Content-Security-Policy refuses it.
	htmxAttributes = strings.Fields(`hx-get hx-post hx-put hx-patch hx-delete hx-target hx-select hx-select-oob hx-swap hx-swap-oob hx-trigger hx-include
		hx-vals hx-headers hx-push-url hx-replace-url hx-confirm hx-disable hx-encoding hx-indicator hx-sync hx-status hx-preserve
		hx-validate hx-ignore hx-config hx-sse`)
)

// Patterns of modifiers' values.
const (
	interval = `[0-9]+(ms|s|m)?`
	boolean  = `true|false`
	edge     = `top|bottom`
	selector = `.+`
	flag     = `` // has no value
)

// unknownToHtmx says what is wrong with an attribute, "" for nothing.
func unknownToHtmx(name, value string) string {
	name, suffix, _ := strings.Cut(name, ":")
	if !slices.Contains(htmxAttributes, name) {
		return "no attribute of ours"
	}
	switch name {
	case "hx-swap":
		return unknownSwap(value)
	case "hx-swap-oob":
		return unknownOutOfBand(value)
	case "hx-select-oob":
		for _, part := range strings.Split(value, ",") {
			if _, swap, ok := strings.Cut(part, ":"); ok && unknownOutOfBand(swap) != "" {
				return unknownOutOfBand(swap)
			}
		}
	case "hx-trigger":
		return unknownTrigger(value)
	case "hx-sync":
		if at := strings.LastIndex(value, ":"); !slices.Contains(syncStrategies, strings.TrimSpace(value[at+1:])) {
			return "no strategy of synchronisation"
		}
	case "hx-status":
		if !regexp.MustCompile(`^[1-5]([0-9x]x|[0-9]{2})$`).MatchString(suffix) {
			return "no status"
		}
		if problem := unknownModifier(value, statusMembers); problem != "" {
			return problem
		}
		if swap, ok := modifiers(value)["swap"]; ok {
			return unknownSwap(swap)
		}
	}
	return ""
}

func unknownSwap(value string) string {
	style, rest, _ := strings.Cut(strings.TrimSpace(value), " ")
	if strings.Contains(style, ":") {
		rest = value
	} else if !slices.Contains(swapStyles, style) {
		return "no style of swap: " + style
	}
	return unknownModifier(rest, swapModifiers)
}

func unknownOutOfBand(value string) string {
	style, _, _ := strings.Cut(value, ":")
	if style == "true" {
		return ""
	}
	return unknownSwap(style)
}

func unknownTrigger(value string) string {
	for _, spec := range strings.Split(value, ",") {
		event, rest, _ := strings.Cut(strings.TrimSpace(spec), " ")
		if strings.Contains(event, "[") {
			return "a filter, which the Content-Security-Policy refuses"
		}
		if event == "every" {
			event, rest, _ = strings.Cut(rest, " ")
			if !matches(interval, event) {
				return "no interval: " + event
			}
		}
		if problem := unknownModifier(rest, triggerModifiers); problem != "" {
			return problem
		}
	}
	return ""
}

func unknownModifier(text string, known map[string]string) string {
	for name, value := range modifiers(text) {
		if pattern, ok := known[name]; !ok || !matches(pattern, value) {
			return fmt.Sprintf("no modifier: %s:%s", name, value)
		}
	}
	return ""
}

func matches(pattern, text string) bool {
	return regexp.MustCompile("^(" + pattern + ")$").MatchString(text)
}

// modifiers reads "a:1 b:'x y' c", htmx's own notation.
func modifiers(text string) map[string]string {
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`([^\s,:]+)(?::("[^"]*"|'[^']*'|[^\s,]*))?`).FindAllStringSubmatch(text, -1) {
		out[m[1]] = strings.Trim(m[2], `"'`)
	}
	return out
}

// An attribute as it stands in a template, or in Go code that makes one.
var (
	inMarkup = regexp.MustCompile(`\s(hx-[a-z-]+(?::[a-z0-9]+)*)(?:="([^"]*)"|(=\{)|[\s/>])`)
	inGo     = regexp.MustCompile(
		"\"(hx-[a-z-]+(?::[a-z0-9]+)*)\"(?:\\]\\s*=|:)\\s*(?:\"((?:[^\"\\\\]|\\\\.)*)\"|`([^`]*)`)?\\s*([^,\\n}]?)")
	// mustBeLiteral are the attributes whose values are checked.
	mustBeLiteral = []string{"hx-swap", "hx-swap-oob", "hx-select-oob", "hx-trigger", "hx-sync", "hx-status"}
)

// unknownIn lists what htmx doesn't know in a file's text.
func unknownIn(text string) []string {
	var out []string
	note := func(name, value string, computed bool) {
		base, _, _ := strings.Cut(name, ":")
		switch problem := unknownToHtmx(name, value); {
		case computed && slices.Contains(mustBeLiteral, base):
			out = append(out, name+" is put together; write it as one text, so that it can be checked")
		case !computed && problem != "" || problem == "no attribute of ours":
			out = append(out, fmt.Sprintf("%s=%q: %s", name, value, problem))
		}
	}
	for _, m := range inMarkup.FindAllStringSubmatch(text, -1) {
		note(m[1], m[2], m[3] != "")
	}
	for _, m := range inGo.FindAllStringSubmatch(text, -1) {
		note(m[1], m[2]+m[3], m[4] != "")
	}
	return out
}

// TestHtmxKnowsEveryAttribute reads every template and every file that can make
// attributes.
func TestHtmxKnowsEveryAttribute(t *testing.T) {
	t.Parallel()
	var found int
	for _, root := range []string{"..", "../../handlers"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			isGo := strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_templ.go") && !strings.HasSuffix(path, "_test.go")
			if err != nil || !isGo && !strings.HasSuffix(path, ".templ") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, problem := range unknownIn(string(text)) {
				t.Errorf("%s: %s", path, problem)
			}
			found += strings.Count(string(text), `"hx-swap"`)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if found < 4 {
		t.Errorf("%d swaps found, want those of components.templ and more: is this the right folder?", found)
	}
}

func TestHtmxRefusesWhatItDoesNotKnow(t *testing.T) {
	t.Parallel()
	for text, known := range map[string]bool{
		`"hx-swap": "outerHTML show:window:top",`:                                  false,
		`"hx-swap":       "outerHTML show:top showTarget:window",`:                 true,
		`"hx-swap": "morph",`:                                                      false,
		`"hx-swap": "outerHTML focus-scroll:true",`:                                false,
		`"hx-swap": "outerHTML " + how,`:                                           false,
		`attrs["hx-swap"] = "innerHTML settle:fast"`:                               false,
		`attrs["hx-confirm"] = question`:                                           true,
		`"hx-status:422": "swap:outerMorph push:false",`:                           true,
		"\"hx-status:422\": `swap:\"outerMorph show:window:top\" push:false`,":     false,
		`"hx-status:4xx": "swap:sideways",`:                                        false,
		`<div hx-get="/x" hx-trigger="load delay:2s" hx-swap="outerHTML"></div>`:   true,
		`<div hx-trigger="keyup changed delay:300ms, every 30s"></div>`:            true,
		`<div hx-trigger="click queue:last"></div>`:                                false,
		`<div hx-trigger="change from:closest form"></div>`:                        false,
		`<div hx-trigger='x'  hx-trigger="click[ctrlKey]"></div>`:                  false,
		`<div hx-sync="this:queue last"></div>`:                                    true,
		`<div hx-sync="this:wait"></div>`:                                          false,
		`<div hx-select-oob="#status:innerHTML,#total"></div>`:                     true,
		`<div hx-select-oob="#status:inner"></div>`:                                false,
		`<div hx-swap-oob="true"></div>`:                                           true,
		`<div hx-swap-oob="replace"></div>`:                                        false,
		`<div hx-swap={ how }></div>`:                                              false,
		`<div hx-disabled-elt="this"></div>`:                                       false,
		`<div hx-on:click="go()"></div>`:                                           false,
		`<div hx-get={ url } hx-ignore>`:                                           true,
		`return templ.Attributes{"hx-get": url, "hx-trigger": "load delay:often"}`: false,
	} {
		if got := unknownIn(text); (len(got) == 0) != known {
			t.Errorf("%s: %q, want known %v", text, got, known)
		}
	}
}

// TestHtmxListsAreItsOwn compares the lists with htmx's source, so that another
// version's differences are seen.
func TestHtmxListsAreItsOwn(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("../../node_modules/htmx.org/dist/htmx.esm.js")
	if err != nil {
		t.Fatal(err)
	}
	source := string(file)
	names := func(pattern string) []string {
		var out []string
		for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(source, -1) {
			out = append(out, m[1])
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	same := func(what string, listed, read []string) {
		t.Helper()
		slices.Sort(listed)
		if !slices.Equal(listed, read) {
			t.Errorf("%s: listed %q, htmx has %q", what, listed, read)
		}
	}
	styles := append(names(`swapStyle === '(\w+)'`), names(`style === '(\w+)' \?`)...)
	slices.Sort(styles)
	same("swap styles", slices.Clone(swapStyles), slices.Compact(styles))
	read := names(`swapSpec\??\.(\w+)`)
	same("swap modifiers", slices.Collect(maps.Keys(swapModifiers)), slices.DeleteFunc(read, func(name string) bool {
		return name == "style"
	}))
	// what htmx keeps beside them
	own := strings.Fields("handler interval listeners name observer split throttled throttledEvent throttleTimeout timeout")
	read = names(`\bspec\.(\w+)`)
	same("trigger modifiers", slices.Collect(maps.Keys(triggerModifiers)), slices.DeleteFunc(read, func(name string) bool {
		return slices.Contains(own, name)
	}))
	for _, strategy := range syncStrategies {
		if !strings.Contains(source, `"`+strategy+`"`) && !strings.Contains(source, strategy+"|") {
			t.Errorf("htmx has no strategy %q", strategy)
		}
	}
	stream, err := os.ReadFile("../../node_modules/htmx.org/dist/ext/hx-sse.js")
	if err != nil {
		t.Fatal(err)
	}
	source += string(stream)
	for _, name := range htmxAttributes {
		if verb, _ := strings.CutPrefix(name, "hx-"); !strings.Contains(source, name) && !strings.Contains(source, `"`+verb+`"`) {
			t.Errorf("htmx has no attribute %q", name)
		}
	}
}
