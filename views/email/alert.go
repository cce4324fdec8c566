package email

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"candor/internal/domain"
)

// maxAlertSubjects is how many endpoints an email lists.
const maxAlertSubjects = 10

// Alert tells developers what needs them. root is the dashboard's address,
// zone the account's.
func Alert(a *domain.Alert, root string, zone *time.Location) Email {
	mode := "test"
	if a.Livemode {
		mode = "live"
	}
	first, many := subjectHost(a.Subjects[0]), len(a.Subjects) > 1
	e := Email{
		Button: "Open outage", URL: root + "/" + mode + "/webhooks",
		After: []string{"You can turn these emails off under My account: " + root + "/" + mode + "/me#emails"},
	}
	if many {
		first = strconv.Itoa(len(a.Subjects)) + " webhook endpoints"
	}
	switch a.Kind {
	case domain.AlertKeyNetwork:
		return keyNetwork(e, a, root+"/"+mode+"/keys", zone)
	case domain.AlertEndpointFailing:
		e.Subject = fmt.Sprintf("Webhooks to %s fail", first)
		e.Lines = []string{"Candor’s webhooks in " + mode + " mode have failed for an hour or more:"}
		e.After = append([]string{
			"Candor keeps trying: each delivery is attempted seven times. Failed deliveries can be retried in the dashboard when your server answers with 2xx again."}, e.After...)
	case domain.AlertEndpointFailingLong:
		e.Subject = fmt.Sprintf("Webhooks to %s have failed for 3 days", first)
		e.Lines = []string{"Candor’s webhooks in " + mode + " mode have failed for three days or more:"}
		e.After = append([]string{
			"Deliveries have begun to fail for good. Mend your server, then retry them in the dashboard. There is no further reminder."},
			e.After...)
	case domain.AlertEndpointRecovered:
		e.Subject = fmt.Sprintf("Webhooks to %s arrive again", first)
		e.Lines = []string{"Candor’s webhooks in " + mode + " mode arrive again:"}
		e.After = append([]string{"Deliveries that failed in the meantime are not sent by themselves. Retry them in the dashboard."},
			e.After...)
	}
	switch outage := a.Subjects[0].Outage; {
	case many:
		e.Button, e.URL = "Show endpoints", e.URL+"#endpoints"
	case outage != "":
		e.URL += "/outages/" + outage
	default:
		e.Button, e.URL = "Show deliveries", e.URL+"?endpoint="+a.Subjects[0].ID
	}
	for i, s := range a.Subjects {
		if i == maxAlertSubjects {
			e.Lines = append(e.Lines, fmt.Sprintf("and %d others", len(a.Subjects)-i))
			break
		}
		line := subjectHost(s) + ", since " + s.Since.In(zone).Format("2 January 2006, 3:04 pm MST")
		if s.Detail != "" && a.Kind != domain.AlertEndpointRecovered {
			line += ", last result: " + s.Detail
		}
		e.Lines = append(e.Lines, line)
	}
	return e
}

// subjectHost is an endpoint as people know it.
func subjectHost(s domain.AlertSubject) string { return strings.TrimPrefix(s.Name, "https://") }

// keyNetwork says which keys were used from where.
func keyNetwork(e Email, a *domain.Alert, keys string, zone *time.Location) Email {
	e.Subject = "API key " + a.Subjects[0].Name + " was used from a new network"
	e.Lines = []string{"Requests came from a network that the key was not used from before:"}
	e.Button, e.URL = "Check API keys", keys
	one := true
	for i, s := range a.Subjects {
		one = one && s.ID == a.Subjects[0].ID
		if i < maxAlertSubjects {
			e.Lines = append(e.Lines, s.Name+", from "+s.Detail+", since "+s.Since.In(zone).Format("2 January 2006, 3:04 pm MST"))
		}
	}
	if one {
		e.Button, e.URL = "Check this key", keys+"/"+a.Subjects[0].ID
	} else {
		e.Subject = "API keys were used from a new network"
	}
	if more := len(a.Subjects) - maxAlertSubjects; more > 0 {
		e.Lines = append(e.Lines, fmt.Sprintf("and %d others", more))
	}
	e.After = append([]string{
		"If that was your server, there is nothing to do. If not, the key has leaked: rotate or delete it now."}, e.After...)
	return e
}
