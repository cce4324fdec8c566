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
	"next_steps":    "What happens next",
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
	form.RuleEmail:     "Enter an email address such as name@example.com",
	form.RuleRange:     "Enter a number of days from {min} to {max}",

	"note_controls":     "The note must not contain control characters",
	"note_lines":        "Write the note in {max} lines or fewer",
	"previous_missing":  "The former session is gone",
	"previous_erased":   "The former answers are not kept any more. Create the session without them",
	"previous_customer": "The former answers belong to another email address. Keep that, or leave them out",
	"previous_name":     "The former answers are of another name. Keep that, or leave them out",
	"previous_open":     "The former session can still be filled in. Send its link again, or cancel it first",

	"view_name":    "Enter a name for the view",
	"view_address": "The name can’t have an email address: views are kept when a customer’s data are deleted",
	"view_count":   "You have {max} views in this mode, which is the most. Delete one first",

	"longer_link":    "The link already expires later than that",
	"endpoint_count": "You have {max} endpoints, which is the most. Delete one first.",

	"chosen":      "Choose at least one session",
	"typed_email": "Enter the customer’s email address exactly as shown above",

	"help_email":   "Enter an email address such as help@example.com",
	"help_phone":   "Enter a phone number such as 1300 123 456",
	"money_help":   "Enter what the link is for, such as Hardship team",
	"https":        "Enter an address that starts with https://",
	"colour":       "Enter a colour as six hex digits, such as #0d5748",
	"language":     "Choose a language from the list",
	"languages":    "Choose languages from the list",
	"has_factor":   "Set up two-step sign-in or a passkey for yourself first, under My account.",
	"uses_passkey": "Sign in with your passkey first to check that it works.",
	"time_zone":    "Choose a time zone from the list",
	"days_or_none": "Enter a number of days from {min} to {max}, or leave it empty",
	"logo_empty":   "The selected file is empty",
	"logo_blank":   "The picture has one colour and nothing on it",
	"logo_bytes":   "The logo must be 512 KB or smaller",
	"logo_sides":   "The logo must be at least {min} pixels wide and high without its border",
	"logo_pixels":  "The logo must be at most 4,000 pixels wide and high, and 4 million pixels in total. 960 × 192 is enough",
	"logo_damaged": "The file is damaged. Export it again as PNG",
	"logo_format":  "The logo must be a PNG or JPEG",
	"logo_svg":     "SVG files can contain scripts. Export the logo as PNG and upload that",

	"account_name": "Enter the name that customers know you by",
	"company_name": "Enter the name of your company",
	"key_name":     "Enter a name, such as the system that uses the key",
	"person_name":  "Enter your name",

	"permissions":        "Choose at least one permission, or full access",
	"permission":         "There is no permission {value}",
	"permission_of_role": "Your role can’t give a key {value}. Ask an owner",
	"expiry_ahead":       "Choose a day after today",
	"expiry_near":        "Choose a day within the next {max} years, or none",
	"network":            "{value} isn’t an address such as 203.0.113.7 or a network such as 203.0.113.0/24",
	"mapped_network":     "{value} covers more than IPv4 addresses. Enter the IPv4 network, such as 203.0.113.0/24",
	"network_count":      "A key can have at most {max} addresses and networks",
	"overlap":            "Choose how long to keep the old key valid",
	"key_count":          "There are {max} keys in this mode, which is the most. Delete one that you no longer use first",
	"typed_name":         "Type the key’s name exactly: “{value}”",

	"plan":              "Choose one of the plans",
	"plan_unchanged":    "This is your current plan",
	"plan_pending":      "The change to this plan on {value} is already saved",
	"plan_by_agreement": "Contact us for this plan",
	"plan_cancelled":    "The subscription is cancelled. Reactivate it first",
	"reason":            "Enter a reason",
	"note":              "Enter a reference or a reason",
	"billing_email":     "Enter an email address such as accounts@example.com",
	"spend_cap":         "Enter the spend cap in dollars, such as 500, or leave it empty",
	"spend_cap_stops":   "This period has cost {value} so far, so this cap stops live sessions at once. Confirm that below, or enter a higher cap",
	"spend_alert":       "Enter an amount above $0, such as 250, or leave it empty",
	"abn":               "Check the ABN: it has 11 digits, such as 51 824 753 556",
	"address_lines":     "Write the address in {max} lines or fewer",

	"staff_email":     "Enter an email address, such as name@example.com",
	"wrong_password":  "That isn’t your password. Try again.",
	"wrong_passkey":   "That passkey didn’t work. It may have been removed, or the page was open too long. Try again.",
	"wrong_code":      "That code is wrong or already used. Wait for the next code in the app and try again.",
	"code_unchecked":  "Candor can’t check app codes right now. Use a recovery code, or try again later.",
	"last_factor":     "Your account requires a second step, and this is your only one. Set up two-step sign-in or another passkey first.",
	"password":        "Enter a password",
	"password_short":  "The password must have at least {min} characters",
	"password_long":   "The password must have at most {max} characters",
	"password_common": "This password is too common. Choose another one",
	"password_own":    "The password can’t be your name, your company’s name or your email address",
	"password_same":   "Choose a password different from your current one",
	"role":            "Choose a role",
	"in_team":         "{value} is already in the team",
	"invitations":     "Until your account is approved for live mode, you can send {max} invitations a day",
	"invitation_link": "Until we approve your account for live mode, invitations go by email only: who opens the email shows that the address is theirs",
	"last_owner":      "The team needs an owner. Make someone else an owner first",
	"oneself":         "You can’t remove yourself from the team. Ask another owner",

	"last_password": "This is the last person who keeps the password. Let another owner keep it first, or let passwords in again",

	"sso_unknown":   "No company with this address’s domain signs in to Candor. Check the address, or sign in with your password",
	"sso_join":      "This team signs in only with its company. Go to Sign in and choose “Continue with your company”",
	"sso_elsewhere": "The company of this address signs its people in to another account. Use another address",
	"sso_only":      "Let passwords in first: with another issuer or client, no one could sign in if it is wrong",
	"sso_outside":   "Your team signs in only with its company. Use an address of a verified domain, or let passwords in first",
	"sso_passkey":   "Your company signs you in, so you have no passkeys here",
	"sso_password":  "Your company signed you in here. To change your password, sign in with it first",
	"sso_issuer":    "Enter the issuer’s address, such as https://login.example.com",
	"sso_discovery": "Candor can’t read {issuer}/.well-known/openid-configuration there, or it names another issuer. Copy the issuer exactly, with or without a / at its end",
	"sso_client":    "Enter the client id that your provider gave you",
	"sso_secret":    "Enter the client secret that your provider gave you",
	"sso_claim":     "Enter both the claim and its groups, or neither",
	"sso_groups":    "Write a line for each group, such as “Lending = support”, with a role of the team’s page, 50 lines at most",
	"sso_domain":    "Enter a domain such as example.com",
	"sso_domains":   "You have {max} domains, which is the most",
	"sso_record":    "The DNS record isn’t there, or not yet. It can take an hour until it is seen",
	"sso_taken":     "Another account has this domain. Contact us",
	"sso_first":     "Sign out, sign in with your company, and then turn this on within 15 minutes, so that you don’t lock yourself out",
	"sso_keep":      "Choose at least one owner who keeps the password. Each needs a password and two-step sign-in with an app",

	"target":          "{value}", // the sentence of internal/webhook, which attempts store, too
	"test_url":        "This account has no default webhook URL in test mode. Give a URL.",
	"delivery_state":  "state must be pending, delivered, failed or cancelled.",
	"event_type":      "type must be an event’s name such as session.completed.",
	"event_types":     "Choose at most {max} events.",
	"delivery_status": "status must be one of {value}.",
	"until":           "until must be later than since.",
	"endpoint":        "There is no such endpoint in this account and mode.",
	"endpoint_url":    "endpoint must be a URL such as https://example.com.",
	"endpoints_at":    "There are several endpoints at {value}: give the URL or the id of one.",
	"endpoint_at":     "There is no endpoint {value} in this account and mode.",
	"page_limit":      "limit must be {min} to {max}.",
	"rate":            "rate must be {min} to {max} deliveries a second.",
	"failed_only":     "Only failed deliveries, and those that wait for their next attempt, can be made again together.",
	"since":           "since is needed: the time from which on failed deliveries are made again.",
	"one_by_one":      "A session’s deliveries are made again one by one.",
}
