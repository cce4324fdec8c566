package domain

// Topics are kinds of changes in an account and mode. A page of the dashboard
// follows some of them: it hears that something changed, never what.
type Topics uint8

// The topics.
const (
	SessionChanged  Topics = 1 << iota // a session was created, or its state changed
	DeliveryChanged                    // a webhook is due, was attempted or was stopped
	EventRecorded                      // an event
	RequestLogged                      // an API request
	InvoiceChanged                     // an invoice was issued, or its payment changed
)

// AllTopics are all of them.
const AllTopics = SessionChanged | DeliveryChanged | EventRecorded | RequestLogged | InvoiceChanged

// TopicInfo is a topic's name in notifications and streams, and who may follow it.
type TopicInfo struct {
	Topic     Topics
	Name      string
	May       Capability
	OfSession Capability // for the changes of one session; "" is May
}

// TopicTable has every topic.
var TopicTable = []TopicInfo{
	{Topic: SessionChanged, Name: "session", May: UseSessions},
	{Topic: DeliveryChanged, Name: "delivery", May: ManageWebhooks, OfSession: UseSessions}, // a session's page lists its deliveries
	{Topic: EventRecorded, Name: "event", May: ManageWebhooks},
	{Topic: RequestLogged, Name: "request", May: ReadRequests},
	{Topic: InvoiceChanged, Name: "invoice", May: UseBilling},
}

// Names are the names of the topics.
func (t Topics) Names() (out []string) {
	for _, info := range TopicTable {
		if t&info.Topic != 0 {
			out = append(out, info.Name)
		}
	}
	return out
}

// TopicsNamed are the topics of those names. Unknown names are left out.
func TopicsNamed(names []string) (out Topics) {
	for _, name := range names {
		for _, info := range TopicTable {
			if info.Name == name {
				out |= info.Topic
			}
		}
	}
	return out
}

// Follows are those of the topics that the staff user may follow, in one session
// or in all of the mode.
func (s *Staff) Follows(t Topics, ofSession bool) (out Topics) {
	for _, info := range TopicTable {
		may := info.May
		if ofSession && info.OfSession != "" {
			may = info.OfSession
		}
		if t&info.Topic != 0 && s.Sees(may) {
			out |= info.Topic
		}
	}
	return out
}
