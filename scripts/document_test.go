package scripts

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSecurityDocument compares doc/security.md and doc/asvs.md with the standard and with the
// tests: each requirement of levels 1 and 2 is in one row, each row names a
// test or a document or says why it names none, and each named test exists.
func TestSecurityDocument(t *testing.T) {
	t.Parallel()
	var text, table []byte
	for name, content := range map[string]*[]byte{"../doc/security.md": &text, "../doc/asvs.md": &table} {
		var err error
		if *content, err = os.ReadFile(name); err != nil {
			t.Fatal(err)
		}
	}
	tests := testNames(t)
	for _, name := range regexp.MustCompile("`((?:Test|Fuzz)[A-Z]\\w*)`").FindAllStringSubmatch(string(text)+string(table), -1) {
		if !tests[name[1]] {
			t.Errorf("there is no test %s", name[1])
		}
	}
	numbers, err := os.ReadFile("testdata/asvs-5.0.0-level-2.txt")
	if err != nil {
		t.Fatal(err)
	}
	wanted := strings.Fields(string(numbers))
	covered := map[string]int{}
	for line := range strings.Lines(string(table)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 4 || !regexp.MustCompile(`^ \d`).MatchString(cells[0]) {
			continue
		}
		for part := range strings.SplitSeq(strings.TrimSpace(cells[0]), ", ") {
			for _, number := range numbersOf(part, wanted) {
				covered[number]++
			}
		}
		reason := regexp.MustCompile(`^ (Doesn't apply|Not met|Operator)\b`).MatchString(cells[2])
		if strings.TrimSpace(cells[3]) == "" && !reason {
			t.Errorf("%s names neither a test nor a reason", strings.TrimSpace(cells[0]))
		}
	}
	for _, number := range wanted {
		if covered[number] != 1 {
			t.Errorf("requirement %s stands in %d rows, want 1", number, covered[number])
		}
	}
	for number := range covered {
		if !slices.Contains(wanted, number) {
			t.Errorf("%s is no requirement of level 1 or 2", number)
		}
	}
}

// numbersOf reads a part of the first cell of a row: 1.2.3, 1.2.3–1.2.5, or 1.2.* for
// all that start with 1.2.
func numbersOf(cell string, all []string) (out []string) {
	if prefix, ok := strings.CutSuffix(cell, "*"); ok {
		for _, number := range all {
			if strings.HasPrefix(number, prefix) {
				out = append(out, number)
			}
		}
		return out
	}
	first, last, ok := strings.Cut(cell, "–")
	if !ok {
		return []string{cell}
	}
	section, from, _ := cutLast(first)
	_, to, _ := cutLast(last)
	for i := from; i <= to; i++ {
		out = append(out, section+"."+strconv.Itoa(i))
	}
	return out
}

func cutLast(number string) (section string, last int, err error) {
	i := strings.LastIndex(number, ".")
	last, err = strconv.Atoi(number[i+1:])
	return number[:i], last, err
}

// testNames returns the names of all tests of the module.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	out := map[string]bool{}
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() && slices.Contains([]string{"node_modules", ".git", ".data"}, entry.Name()) {
			if err == nil {
				err = fs.SkipDir
			}
			return err
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		source, err := os.ReadFile(path)
		for _, name := range declared.FindAllStringSubmatch(string(source), -1) {
			out[name[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestScriptsKeepToWhatIsSafe reads our own scripts: they run no text as code,
// write no HTML and use no other window. Only ondevice.js stores something in the
// browser: what is typed and not saved yet.
func TestScriptsKeepToWhatIsSafe(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../static/js/*.js")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	unsafe := regexp.MustCompile(
		`\beval\b|\bnew Function\b|innerHTML|outerHTML|insertAdjacentHTML|document\.write|document\.cookie|` +
			`localStorage|sessionStorage|indexedDB|postMessage|__proto__|addEventListener\("message"`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if filepath.Base(file) == "ondevice.js" {
			source = bytes.ReplaceAll(source, []byte("indexedDB"), nil)
		}
		if found := unsafe.Find(source); found != nil {
			t.Errorf("%s uses %s", file, found)
		}
	}
}
