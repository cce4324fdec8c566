package handlers

import "candor/internal/domain"

// info heads the API's description.
var info = openAPIInfo{
	Title: "Candor", Version: "1",
	Summary: "Collect a financial statement from your customer.",
	Description: "Create a session, give its session_url to your customer, and receive events by webhook while the form is filled in. " +
		"After completion, fetch the data as JSON and as a PDF.\n\n" +
		"Money in form data is a number of Australian dollars with at most two decimals; amounts in billing events are whole cents. " +
		"Timestamps are ISO 8601, UTC. New fields are added without notice: ignore those you don't know.",
}

var tags = []openAPITag{
	{"Sessions", "One session is one customer's form."},
	{"Form data", "What a customer submitted."},
	{"Billing", "Your subscription and usage."},
	{"Webhooks", "What we send to you."},
}

func createSessionDoc() operationDoc {
	return operationDoc{
		id: "createSession", tag: "Sessions", summary: "Create a session",
		description: "Makes a session and the link that opens its form. Unknown fields are ignored; null is the same as leaving a field out.",
		errors:      []domain.Code{domain.CodeInvalidFormType, domain.CodeInvalidEmail, domain.CodeValidation},
	}
}

func listSessionsDoc() operationDoc {
	return operationDoc{
		id: "listSessions", tag: "Sessions", summary: "List sessions",
		description: "The sessions of the key's account and mode, newest first.",
	}
}

func getSessionDoc() operationDoc {
	return operationDoc{
		id: "getSession", tag: "Sessions", summary: "Get a session",
		description: "A session as it stands, with the customer's progress. Its link opens what the customer has entered so far, " +
			"so once the customer has opened it, `session_url` is null for a key without data:read.",
		errors: []domain.Code{domain.CodeSessionNotFound},
	}
}

func cancelSessionDoc() operationDoc {
	return operationDoc{
		id: "cancelSession", tag: "Sessions", summary: "Cancel a session",
		description: "Ends a pending or in_progress session: its link shows that it was cancelled. No event is sent.",
		errors:      []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionCompleted, domain.CodeSessionCancelled, domain.CodeSessionExpired},
	}
}

func sessionDataDoc() operationDoc {
	return operationDoc{
		id: "getSessionData", tag: "Form data", summary: "Get the data",
		description: "The answers of a completed session. They are kept until they are erased on request, or for as long as the account has set.",
		errors:      []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionNotCompleted, domain.CodeDataErased, domain.CodeDataExpired, domain.CodeServiceUnavailable},
	}
}

func sessionPDFDoc() operationDoc {
	return operationDoc{
		id: "getSessionPDF", tag: "Form data", summary: "Download the PDF",
		description: "The statement of a completed session as a PDF, kept for 90 days after completion, or the fewer that the account has set. It is made within seconds of completion; until then the answer is 202.",
		errors:      []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionNotCompleted, domain.CodePDFNotReady, domain.CodePDFExpired, domain.CodeServiceUnavailable},
		files:       []string{"application/pdf"},
	}
}

func sessionDocumentDoc() operationDoc {
	return operationDoc{
		id: "getSessionDocument", tag: "Form data", summary: "Download a document",
		description: "A file that the customer uploaded, as an attachment. Its id is in the session's data; it is kept for 90 days after completion, or the fewer that the account has set.",
		errors:      []domain.Code{domain.CodeSessionNotFound, domain.CodeSessionNotCompleted, domain.CodeDocumentNotFound, domain.CodeServiceUnavailable},
		files:       []string{"application/pdf", "image/jpeg", "image/png", "image/heic"},
	}
}

func listEventsDoc() operationDoc {
	return operationDoc{
		id: "listEvents", tag: "Webhooks", summary: "List events",
		description: "What happened in the key's account and mode, in order, whether or not a webhook could be delivered. " +
			"Sequence numbers have no gap, and no event appears below one that was listed before: ask again with `next_after` and you miss none. Events are kept for 90 days. " +
			"Where a customer's data were erased on request, the `data` of the session's events are `session_id` and `data_erased_at` alone.",
	}
}

func subscriptionDoc() operationDoc {
	return operationDoc{
		id: "getSubscription", tag: "Billing", summary: "Get the subscription",
		description: "The account's plan and what was used of it in the running billing period.",
		errors:      []domain.Code{domain.CodeSubscriptionNotFound},
	}
}

func usageDoc() operationDoc {
	return operationDoc{
		id: "getUsage", tag: "Billing", summary: "Get usage",
		description: "What became of the sessions created in a range of days, UTC. Live keys see live sessions, test keys test sessions.",
		errors:      []domain.Code{domain.CodeInvalidDateRange},
	}
}
