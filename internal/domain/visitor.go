package domain

// A Visitor is the browser that a request came from.
type Visitor struct {
	UserAgent, IPAddress string
	StaffToken           string // of the browser's staff session, which a sign-in ends; "" if there is none
	RequestID            string // of the request, for logs; "" for none
	Device               string // the cookie by which the browser is known; "" if it isn't
}
