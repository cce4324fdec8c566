package dashboard

import (
	"candor/internal/form"
	"candor/views/ui"
)

// ErrorItems returns validation errors as a page lists them.
func ErrorItems(errs form.Errors) []ui.ErrorItem {
	var out []ui.ErrorItem
	for _, e := range errs {
		out = append(out, ui.ErrorItem{Target: e.Field, Message: Words.Say(e)})
	}
	return out
}

// Words are the dashboard's sentences for broken rules.
var Words = form.Words{Rules: sentences, Subjects: map[string]string{ //nolint:gosec // it takes "passkey" for a secret
	"customer_name": "The customer’s name",
	"reference_id":  "The reference",
	"name":          "The name",
	"company":       "The name of your company",
	"person":        "Your name",
	"passkey":       "The passkey’s name",

	"buyer_name":     "The business name",
	"address":        "Each line of the address",
	"purchase_order": "The purchase order",
	"reason":         "The reason",
	"note":           "The note",
}}

var sentences = map[form.RuleCode]string{ //nolint:gosec // it takes texts about passwords for secrets
	form.RuleReadable:  "{subject} {rule}",
	form.RuleOneLine:   "{subject} {rule}",
	form.RuleMaxLength: "{subject} {rule}",
	form.RuleNoLink:    "{subject} {rule}",
	form.RuleEmail:     "Enter an e-mail address such as name@example.com",
	form.RuleRange:     "Enter a number of days from {min} to {max}",

	"longer_link": "The link works longer than that already",
	"chosen":      "Choose at least one session",
	"typed_email": "Enter the customer’s e-mail address, exactly as it is shown above",

	"help_email":   "Enter an e-mail address such as help@example.com",
	"help_phone":   "Enter a telephone number such as 1300 123 456",
	"money_help":   "Enter what the link is for, such as Hardship team",
	"https":        "Enter an address that starts with https://",
	"colour":       "Enter a colour as six hex digits, such as #0d5748",
	"language":     "Choose a language of the list",
	"languages":    "Choose languages of the list",
	"has_factor":   "Set up two-step sign-in or add a passkey on My account first. Then require it of the team.",
	"uses_passkey": "Sign in with your passkey first, so that you know that it works. Then require it of the team.",
	"time_zone":    "Choose a time zone from the list",
	"days_or_none": "Enter a number of days from {min} to {max}, or leave it empty",
	"logo_empty":   "The selected file is empty",
	"logo_bytes":   "The logo must be 512 KB or smaller",
	"logo_sides":   "The logo must be at least {min} pixels wide and high",
	"logo_pixels":  "The logo has too many pixels. 960 × 192 is plenty; 4,000 wide or high and 4 million in all is the most",
	"logo_damaged": "The picture is damaged. Export it again as PNG",
	"logo_format":  "The logo must be a PNG or JPEG",
	"logo_svg":     "SVG files can hold programs, so they aren’t taken. Export the logo as PNG and upload that",

	"account_name": "Enter the name that customers know you by",
	"company_name": "Enter the name of your company",
	"key_name":     "Enter a name, such as the program that will use the key",
	"person_name":  "Enter your name",

	"permissions":    "Choose at least one permission, or full access",
	"permission":     "There is no permission {value}",
	"expiry_ahead":   "Choose a day after today",
	"expiry_near":    "Choose a day within the next {max} years, or none",
	"network":        "{value} is no address such as 203.0.113.7 and no network such as 203.0.113.0/24",
	"mapped_network": "{value} holds more than IPv4 addresses; write the IPv4 network as in 203.0.113.0/24",
	"network_count":  "A key can have at most {max} addresses and networks",
	"overlap":        "Choose for how long the old key works",
	"typed_name":     "Type the key’s name as it is shown, “{value}”",

	"plan":              "Choose one of the plans",
	"plan_unchanged":    "This is how it is already",
	"plan_by_agreement": "This plan is by agreement: talk to us",
	"plan_cancelled":    "The subscription is cancelled. Take the cancellation back first",
	"reason":            "Say why, in a few words",
	"note":              "Say what it is by: a reference or a reason",
	"billing_email":     "Enter an e-mail address such as accounts@example.com",
	"abn":               "Check the ABN: it has 11 digits, such as 51 824 753 556",
	"address_lines":     "Write the address in {max} lines or fewer",

	"staff_email":     "Enter an e-mail address, such as name@example.com",
	"wrong_password":  "That isn’t your password. Try again.",
	"wrong_passkey":   "That passkey didn’t work. It may have been removed, or the page was open for too long. Try again.",
	"wrong_code":      "That code isn’t right, or was used already. Wait for the app to show the next one and try again.",
	"code_unchecked":  "The app’s codes can’t be checked now. Use a recovery code, or try again later.",
	"last_factor":     "Your account requires two-step sign-in, and this is all you have for it. Set up another way first: two-step sign-in or a passkey.",
	"password":        "Enter a password",
	"password_short":  "The password must have at least {min} characters",
	"password_long":   "The password must have at most {max} characters",
	"password_common": "This password is among the first that others would try. Choose another one",
	"password_own":    "The password must not be your name, your company’s or your e-mail address",
	"password_same":   "Choose a password other than your current one",
	"role":            "Choose a role",
	"in_team":         "{value} is in the team already",
	"invitations":     "Until your account is approved for live mode, you can send {max} invitations a day",
	"last_owner":      "The team needs an owner: make another person one first",
	"oneself":         "You can’t take yourself out of the team. Another owner can",

	"target":          "{value}", // the sentence of internal/webhook, which attempts store, too
	"test_url":        "This account has no default webhook URL in test mode. Give a URL.",
	"delivery_state":  "state must be pending, delivered, failed or cancelled.",
	"event_type":      "type must be an event's name such as session.completed.",
	"delivery_status": "status must be one of {value}.",
	"until":           "until must be later than since.",
	"endpoint":        "There is no such endpoint in this account and mode.",
	"endpoint_url":    "endpoint must be a URL such as https://example.com.",
	"endpoint_at":     "There is no endpoint {value} in this account and mode.",
	"page_limit":      "limit must be {min} to {max}.",
	"rate":            "rate must be {min} to {max} deliveries a second.",
	"failed_only":     "Only failed deliveries can be made again together.",
	"since":           "since is needed: the time from which on failed deliveries are made again.",
	"one_by_one":      "A session's deliveries are made again one by one.",
}
