package main

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"time"

	"candor/internal/domain"
	"candor/internal/statement"
	"candor/internal/statement/statementtest"
	"candor/tools/harness"
)

const (
	officeNetwork = "198.51.100.200"
	officeForms   = 50
	// officeSaves is how many saves a second one network may make in the long run.
	officeSaves = 100
	officeBurst = 1200
)

// forms floods forms from one network: without their cookies, and by browsers that
// opened them.
func (a *attack) forms(ctx context.Context) error {
	stranger := saveRequest(a.Addr, "/f/"+domain.NewSessionID().String()+"/"+statement.IncomeSection, "198.51.100.201", "")
	text, met, o, err := a.floodForRows(ctx, func() []byte { return stranger })
	if err != nil {
		return err
	}
	a.add(met && o.statuses[http.StatusOK] == 0, fmt.Sprintf("%d connections flood a form without its cookie", floodConnections),
		fmt.Sprintf("%s; at most %d rows", unharmed, mostRows), "%s", text)
	harness.Pause(ctx, time.Second)

	var saves [][]byte
	for range officeForms {
		c, err := a.newCustomer(ctx, officeNetwork)
		if err != nil {
			return err
		}
		path := c.path(statement.IncomeSection)
		saves = append(saves, saveRequest(a.Addr, path, officeNetwork, c.Cookies(path)))
	}
	o, seen := a.besideVictim(ctx, func() []byte { return saves[rand.IntN(len(saves))] })
	text, met = a.judge(seen)
	most := officeBurst + officeSaves*(int(a.span.Seconds())+1)
	a.add(met && o.statuses[http.StatusOK] <= most, fmt.Sprintf("%d connections of one network save %d forms that it opened",
		floodConnections, officeForms),
		fmt.Sprintf("%s; at most %d saves", unharmed, most), "%s; %s", text, o)
	return nil
}

// saveRequest saves a section as the form's script does.
func saveRequest(addr, path, network, cookies string) []byte {
	values := url.Values{"action": {"autosave"}}
	maps.Copy(values, statementtest.Values(statement.IncomeSection))
	return formRequest(addr, network, path, values.Encode(), cookies)
}
