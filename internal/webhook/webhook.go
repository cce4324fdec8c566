// Package webhook delivers events to the receivers of partners: it signs a
// body, builds the headers of an attempt, decides which targets may be called,
// makes one HTTP attempt and says when the next one is due.
//
// It must not know of sessions, accounts, the database or the job queue. What
// a body says, which secrets sign it and where a result is kept is the
// caller's business.
package webhook
