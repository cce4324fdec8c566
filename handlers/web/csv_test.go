package web_test

import (
	"testing"

	"candor/handlers/web"
)

func TestNoCellIsAFormula(t *testing.T) {
	t.Parallel()
	for cell, want := range map[string]bool{
		"=1": true, "+1": true, "-1": true, "@a": true, "\tx": true, "\r=1": true, "\nx": true,
		"＝cmd|' /C calc'!A0": true, "＋1": true, "－1": true, "＠a": true,
		" =1": true, "\u00a0=1": true, "\u3000＝1": true, " \t＠a": true, "\ufeff=1": true, "\u200b=1": true,
		"": false, " ": false, "Jo=1": false, "a＝1": false, "\u00e9": false, "1": false,
	} {
		got := web.CSVSafe([]string{cell})[0]
		if guarded := got == "'"+cell; guarded != want || !guarded && got != cell {
			t.Errorf("%q is exported as %q; guarded: want %t", cell, got, want)
		}
	}
}
