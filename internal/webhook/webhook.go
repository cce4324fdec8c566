// Package webhook makes one attempt at a delivery: it signs the body, builds the
// headers, checks that the target may be called, sends the request, and computes
// when the next attempt is due.
//
// It must not know sessions, accounts, the database or the job queue. The caller
// provides the body and the secrets and stores the result.
package webhook
