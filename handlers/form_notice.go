package handlers

import (
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"candor/internal/domain"
	"candor/views/dashboard"
	view "candor/views/form"
	"candor/views/i18n"
)

// noticeCookie carries what was just done over a redirect, to be announced
// once by the next page.
const noticeCookie = "candor_notice"

// noticeSeconds is how long a notice waits for the next page.
const noticeSeconds = 30

// notices are the texts by the code that the cookie holds.
var notices = map[string]string{ //nolint:gosec // it takes words about passkeys for one
	"saved":    view.SavedNotice,
	"uploaded": view.UploadedNotice,
	"removed":  view.RemovedNotice,

	"name_changed":        "That is how you are called from now on",
	"password_changed":    "Your password is changed. Other browsers are signed out.",
	"password_reset":      "Your password is changed. Sign in with the new one.",
	"two_step_off":        "Two-step sign-in is off",
	"passkey_added":       "Passkey added. You can sign in with it.",
	"passkey_removed":     "Passkey removed. Browsers that signed in with it are signed out. Delete it in your browser or phone, too.",
	"own_passkey_removed": "Passkey removed. This browser had signed in with it: sign in another way. Delete it in your browser or phone, too.",
	"browser_signed_out":  "That browser is signed out",
	"browsers_signed_out": "All other browsers are signed out",
	"welcome":             "Welcome to Candor",
	"signed_out_first":    "You were signed out, so nothing was done. Sign in and send it again.",
	"duty_first":          "Nothing was done. Finish this first, then send it again.",
	"prompt_cancelled":    "Cancelled. Nothing was done.",

	"session_created":        "Session created. Give its link to the customer.",
	"session_cancelled":      "Session cancelled",
	"session_extended":       "The link works longer now",
	"session_closed":         "It was too late for that: the session isn’t open any more",
	"customer_erased":        "The customer’s data are deleted. This is the receipt.",
	"billing_email_saved":    "Saved. Invoices go there from now on.",
	"card_stored":            "Your card is stored. It shows here in a moment.",
	"card_not_stored":        "No card was stored. Everything is as it was.",
	"subscribed":             "Subscribed. Live sessions can be created.",
	"reactivated":            "The subscription goes on",
	"plan_changed":           "The plan is changed as it says here",
	"subscription_cancelled": "The subscription is cancelled",
	"webhook_url_set":        "Saved. Events go there from now on.",
	"secret_switched":        "Switched. The next secret is the current one now.",
	"secret_restored":        "The previous secret is the current one again",
	"secret_abandoned":       "The next secret is erased",
	"secret_moved_on":        "That couldn’t be done: somebody else has changed the secrets. This is how they are now.",
	"redelivered":            "It is sent again, under the same id",
	"redelivery_started":     "Started. They are sent again, oldest first.",
	"redelivery_stopped":     "Stopped. What wasn’t sent again stays failed.",
	"redelivery_ended":       "It had come to an end already",
	"delivery_cancelled":     "Stopped. It isn’t tried any more.",
	"delivery_ended":         "It had come to an end already",
	"key_renamed":            "Key renamed",
	"key_deleted":            "Key deleted. It works no more.",
	"settings_saved":         "Settings saved. Forms that are opened from now on show them.",
	"logo_saved":             "Logo saved. Forms show it from now on.",
	"logo_removed":           "Logo removed",
	"expiry_saved":           "Saved. New sessions get it; those that are there keep theirs.",
	"two_step_required":      "Saved. Everyone in the team now needs two-step sign-in or a passkey.",
	"two_step_released":      "Saved. Two-step sign-in is each person’s choice again.",
	"retention_saved":        "Saved. It counts from now on, for what is stored, too.",
	"languages_saved":        "Saved. Forms offer these languages from now on.",
	"retention_moved_on":     "Somebody else has changed it meanwhile. Nothing was done; this is how it would be now.",
	"invited":                "Invitation sent",
	"invitation_revoked":     "Invitation withdrawn: its link works no more",
	"role_changed":           "Role changed. It counts at once.",
	"staff_removed":          "Removed from the team and signed out everywhere",
	"pdf_not_ready":          "The PDF is still being made. Try again in a few seconds.",
}

// leaveNotice leaves a notice for the form's next page, with the id of the
// element that takes the focus there, "" for the page's title.
func (s *Server) leaveNotice(c echo.Context, id domain.SessionID, code, focus string) {
	c.SetCookie(s.cookie(noticeCookie, code+"#"+focus, formURL(id), noticeSeconds))
}

// takeNotice returns the text that was left, in the form's language, and what
// takes the focus, and forgets both.
func (s *Server) takeNotice(c echo.Context, id domain.SessionID) (text, focus string) {
	code, focus, _ := strings.Cut(s.takeNoticeCode(c, formURL(id)), "#")
	return i18n.T(c.Request().Context(), notices[code]), focus
}

// leaveStaffNotice leaves a notice for the dashboard's next page.
func (s *Server) leaveStaffNotice(c echo.Context, code string) {
	c.SetCookie(s.cookie(noticeCookie, code, dashboard.Root, noticeSeconds))
}

func (s *Server) takeStaffNotice(c echo.Context) string {
	return notices[s.takeNoticeCode(c, dashboard.Root)]
}

func (s *Server) takeNoticeCode(c echo.Context, path string) string {
	code := s.sentCookie(c, noticeCookie, path)
	if code == "" || c.Request().Method != http.MethodGet {
		return ""
	}
	c.SetCookie(s.cookie(noticeCookie, "", path, -1))
	return code
}
