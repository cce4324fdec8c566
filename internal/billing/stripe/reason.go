package stripe

// declined says no more than a bank would tell its customer: we must not
// reveal that a card was reported stolen.
const declined = "The bank declined the card."

// reasons are why payments fail, by Stripe's decline codes and error codes.
var reasons = map[string]string{
	"authentication_required":               "The bank wants the cardholder to confirm the payment. Add the card again, and confirm it there.",
	"authentication_not_handled":            "The bank wants the cardholder to confirm the payment. Add the card again, and confirm it there.",
	"payment_intent_authentication_failure": "The cardholder's confirmation failed. Add the card again, and confirm it there.",
	"insufficient_funds":                    "The card has insufficient funds.",
	"withdrawal_count_limit_exceeded":       "The card's limit is reached.",
	"card_velocity_exceeded":                "The card's limit is reached.",
	"expired_card":                          "The card has expired.",
	"invalid_expiry_month":                  "The card's expiry date is wrong.",
	"invalid_expiry_year":                   "The card's expiry date is wrong.",
	"incorrect_cvc":                         "The card's security code is wrong.",
	"invalid_cvc":                           "The card's security code is wrong.",
	"incorrect_number":                      "The card's number is wrong.",
	"invalid_number":                        "The card's number is wrong.",
	"card_not_supported":                    "The card can't be used for this kind of payment.",
	"currency_not_supported":                "The card can't be charged in this currency.",
	"not_permitted":                         "The card can't be used for this kind of payment.",
	"transaction_not_allowed":               "The card can't be used for this kind of payment.",
	"issuer_not_available":                  "The card's bank couldn't be reached.",
	"processing_error":                      "The card's bank couldn't process the payment.",
	"reenter_transaction":                   "The card's bank couldn't process the payment.",
	"try_again_later":                       "The card's bank couldn't process the payment.",
}

// reasonOf returns why a payment failed, for the account's staff; "" if Stripe
// doesn't say.
func reasonOf(e *apiError) string {
	if e == nil {
		return "The payment failed."
	}
	for _, code := range []string{e.DeclineCode, e.Code} {
		if text, ok := reasons[code]; ok {
			return text
		}
	}
	return declined
}
