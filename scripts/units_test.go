package scripts

import (
	"os"
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
		for _, own := range []string{"Conflicts=candor.service candor.socket", "EnvironmentFile=/etc/candor/" + role + ".env"} {
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
