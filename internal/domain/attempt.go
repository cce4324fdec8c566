package domain

// An AttemptOutcome is the outcome of an attempt to sign in or to confirm a
// password.
type AttemptOutcome string

// The outcomes.
const (
	AttemptSucceeded     AttemptOutcome = "succeeded"
	AttemptWrongPassword AttemptOutcome = "wrong_password"
	AttemptWrongCode     AttemptOutcome = "wrong_code"
	AttemptWrongPasskey  AttemptOutcome = "wrong_passkey"
	AttemptNotConfirmed  AttemptOutcome = "not_confirmed" // a wrong password of someone who is signed in
	AttemptThrottled     AttemptOutcome = "throttled"     // after too many failures
	AttemptLimited       AttemptOutcome = "limited"       // too many posts from its network
	AttemptShed          AttemptOutcome = "shed"          // the queue for hashing passwords was full
)

// AttemptOutcomes lists the outcomes.
var AttemptOutcomes = []AttemptOutcome{
	AttemptSucceeded, AttemptWrongPassword, AttemptWrongCode, AttemptWrongPasskey, AttemptNotConfirmed, AttemptThrottled, AttemptLimited, AttemptShed,
}
