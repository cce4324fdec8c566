package scripts

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The units of the web server and of the workers are candor.service, but for these lines.
func TestUnits(t *testing.T) {
	t.Parallel()
	lines := func(name string) []string {
		content, err := os.ReadFile("../packaging/" + name)
		if err != nil {
			t.Fatal(err)
		}
		return slices.DeleteFunc(strings.Split(string(content), "\n"), func(line string) bool {
			return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "Description=")
		})
	}
	whole := lines("candor.service")
	for _, role := range []string{"web", "worker"} {
		got := lines("candor-" + role + ".service")
		for _, own := range []string{"Conflicts=candor.service candor.socket", "After=candor.service candor.socket",
			"EnvironmentFile=/etc/candor/" + role + ".env"} {
			at := slices.Index(got, own)
			if at < 0 {
				t.Fatalf("candor-%s.service has no %s", role, own)
			}
			got = slices.Delete(got, at, at+1)
		}
		want := slices.Clone(whole)
		want[slices.Index(want, "ExecStart=/usr/lib/candor/candor serve")] = "ExecStart=/usr/lib/candor/candor " + role
		if !slices.Equal(got, want) {
			t.Errorf("candor-%s.service differs from candor.service:\n%s", role, strings.Join(got, "\n"))
		}
	}
}

var (
	changesUnit = regexp.MustCompile(`systemctl (?:restart|edit) (candor[a-z -]*)`)
	unitName    = regexp.MustCompile(`candor(?:-web|-worker)?\b`)
)

// candor.service and the two others stop each other: no command of the runbooks names both,
// and each that names one says which it is on a machine with the other.
func TestRunbooksStartOneKindOfUnit(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../doc/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for line := range strings.Lines(string(text)) {
		command := changesUnit.FindStringSubmatch(line)
		if command == nil || !strings.HasPrefix(line, "    ") {
			continue
		}
		found++
		whole := func(text string) (whole, part bool) {
			names := unitName.FindAllString(text, -1)
			return slices.Contains(names, "candor"), slices.ContainsFunc(names, func(name string) bool { return name != "candor" })
		}
		if both, parts := whole(command[1]); both && parts {
			t.Errorf("the second stops the first: %s", line)
		}
		if one, parts := whole(line); !one || !parts {
			t.Errorf("it doesn't say what to type on the other kind of machine: %s", line)
		}
	}
	if found < 3 {
		t.Errorf("%d commands", found)
	}
}
