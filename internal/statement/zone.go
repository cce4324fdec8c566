package statement

import (
	"sync"
	"time"
	_ "time/tzdata" // the program runs on machines without a zone database
)

// zones are the time zones of the states, by their codes.
var zones = sync.OnceValue(func() map[string]*time.Location {
	out := map[string]*time.Location{}
	for state, name := range map[string]string{
		"ACT": "Australia/Sydney", "NSW": "Australia/Sydney", "NT": "Australia/Darwin", "QLD": "Australia/Brisbane",
		"SA": "Australia/Adelaide", "TAS": "Australia/Hobart", "VIC": "Australia/Melbourne", "WA": "Australia/Perth",
	} {
		zone, err := time.LoadLocation(name)
		if err != nil {
			panic(err) // the program has all zones
		}
		out[state] = zone
	}
	return out
})

// Zone returns the time zone of the address's state. If the state isn't known,
// it is Sydney's, and known is false.
func (a *Address) Zone() (zone *time.Location, known bool) {
	if zone, known = zones()[a.State]; known {
		return zone, true
	}
	return zones()["NSW"], false
}

// HomeZone returns the time zone of the customer's home: by the address that was saved, else
// by the one that the partner gave or a former session left, which the form offers. known is
// false without an address in Australia.
func (s *Statement) HomeZone() (zone *time.Location, known bool) {
	zone, known = s.Personal.Address.Zone()
	if known || s.Personal.Address.Abroad() {
		return zone, known
	}
	var offered Statement
	if answers := s.Offers[PersonalDetailsSection].Answers; answers != nil {
		_ = offered.Read(PersonalDetailsSection, answers) // answers of an earlier form have no zone
	}
	section := offered.Section(PersonalDetailsSection, time.Time{})
	if draft := s.Offers[PersonalDetailsSection].Draft; draft != nil {
		section.Read(draft)
	}
	section.Prefill(s.Prefill[PersonalDetailsSection])
	if a := &offered.Personal.Address; a.State == "" && !a.Abroad() {
		a.State = stateOf(a.Postcode)
	}
	return offered.Personal.Address.Zone()
}
