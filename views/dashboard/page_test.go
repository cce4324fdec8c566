package dashboard

import (
	"os"
	"strings"
	"testing"
)

// TestPlaces: each line of the menu has an icon that the build draws, and a key of its own.
func TestPlaces(t *testing.T) {
	t.Parallel()
	build, err := os.ReadFile("../../static/build.mjs")
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for _, group := range places {
		for _, p := range group.places {
			if !strings.Contains(string(build), "\n  "+p.icon+": ") {
				t.Errorf("the icon %q of %s isn't in static/build.mjs", p.icon, p.title)
			}
			if other := keys[p.key]; p.key != "" && other != "" {
				t.Errorf("the key %q leads to %s and %s", p.key, other, p.title)
			}
			keys[p.key] = p.title
		}
	}
}
