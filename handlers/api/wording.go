package api

import "candor/internal/form"

// Words are the API's sentences for broken rules, which name fields as requests do.
var Words = form.Words{Rules: map[form.RuleCode]string{
	form.RuleReadable:  "{subject} {rule}.",
	form.RuleOneLine:   "{subject} {rule}.",
	form.RuleMaxLength: "{subject} {rule}.",
	form.RuleEmail:     "{subject} {rule}.",
	form.RuleRange:     "{subject} {rule}.",
	form.RuleNoLink:    "{subject} {rule}.",
	form.RuleGiven:     "{subject} {rule}.",

	"form_type":      "form_type must be financial_statement.",
	"metadata_count": "metadata can have at most {max} keys.",
	"metadata_key":   "{subject} must have a key of 1 to {max} whole characters.",
	"metadata_value": "{subject} must be a string, a number or a boolean.",
	"language":       "language must be {value}: this account offers its forms in no other language.",
	"note_controls":  "{subject} must not contain control characters.",
	"note_lines":     "{subject} must have at most {max} lines.",
	"bytes":          "{subject} must have at most {max} bytes.",
	"target":         "{subject}: {value}", // the sentence of internal/webhook, which attempts store, too

	"previous_missing":  "prefill_from must be the id of a session of this account and mode.",
	"previous_erased":   "The answers of the session in prefill_from are not kept any more. Leave prefill_from out.",
	"previous_customer": "The session in prefill_from is another customer’s. customer_email must be that session’s.",
	"previous_name":     "The session in prefill_from is of another name. Give that as customer_name, or leave prefill_from out.",
	"previous_open":     "The session in prefill_from can still be filled in: pass on its link again, or cancel it first.",

	"created_order": "created_before must not be before created_after: are the two swapped?",
	"beyond_end":    "after is above the number of the last event, {max}. Use next_after of an answer to a key of the same account and mode.",

	"usage_period": "period must be current_month, last_month, last_30_days or last_90_days.",
	"usage_dates":  "start_date and end_date must both be given as YYYY-MM-DD.",
	"usage_order":  "end_date must not be before start_date.",
	"usage_length": "The range must be {max} days or shorter.",

	"one_of":        "{subject} must be {value}.",
	"test_mode":     "{subject} is for test keys only: leave it out, or use a test key.",
	"beyond_goal":   "{subject} is a section after {value}: leave it out, or set to to a later goal.",
	"no_reminder":   "{subject} can’t be reminder: no reminder follows for this session. If deliver has remind, they follow its first email, until the last one 2 days before the link’s end.",
	"reminder_sent": "{subject} can’t be reminder yet: the reminder before is being sent. Ask again in a few seconds.",
	"billing_event": "{subject} must be one of {value}. Events of a session come from POST /v1/test/sessions/{id}/advance.",

	"event_types":    "{subject} must have at most {max} names.",
	"event_type":     "{subject} must be the name of an event, such as session.completed.",
	"endpoint_count": "There are {max} webhook endpoints in this account and mode, which is the most. Delete one first.",

	// Of the operators' commands.
	"missing":     "{subject} must not be empty.",
	"email_taken": "A staff user with this email address exists already.",
}}
