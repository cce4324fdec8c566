package handlers

import (
	"errors"
	"net/http"

	"github.com/gorilla/sessions"

	"candor/internal/domain"
	"candor/internal/service"
	"candor/views/dashboard"
)

// staffCookie holds the token of a staff session, and nothing else.
const staffCookie = "candor_staff"

// deviceCookie is the name of the cookie by which a browser is known in which a
// staff user signed in before. It signs no one in.
const deviceCookie = "candor_device"

func (s *Server) deviceCookie(value string) *http.Cookie {
	return s.cookie(deviceCookie, value, dashboard.Root, int(service.DeviceLife.Seconds()))
}

// staffValue is where a gorilla session holds its *domain.StaffSession.
const staffValue = "staff"

// staffStore is a sessions.Store over the staff sessions in PostgreSQL: a
// cookie holds a token, all else is a row, which can be ended from anywhere.
type staffStore struct {
	service *service.Service
	secure  bool
}

var _ sessions.Store = (*staffStore)(nil)

func (s *staffStore) cookieName() string { return cookieName(staffCookie, "/", s.secure) }

// Get returns the request's session, the same one each time.
func (s *staffStore) Get(r *http.Request, name string) (*sessions.Session, error) {
	return sessions.GetRegistry(r).Get(s, name)
}

// New returns the session of the request's cookie; one that IsNew where there
// is none, or none any more.
func (s *staffStore) New(r *http.Request, name string) (*sessions.Session, error) {
	session := sessions.NewSession(s, name)
	session.IsNew = true
	session.Options = &sessions.Options{
		Path: "/", MaxAge: int(domain.StaffLifetime.Seconds()), HttpOnly: true, Secure: s.secure, SameSite: http.SameSiteLaxMode,
	}
	cookie, err := r.Cookie(name)
	if err != nil || cookie.Value == "" {
		return session, nil
	}
	staff, err := s.service.StaffSession(r.Context(), cookie.Value)
	if errors.Is(err, &domain.Error{Code: domain.CodeUnauthorized}) {
		return session, nil
	}
	if err != nil {
		return session, err
	}
	session.ID, session.IsNew = cookie.Value, false
	session.Values[staffValue] = staff
	return session, nil
}

// Save sends the cookie with the session's token; with a negative MaxAge it
// takes the cookie away.
func (s *staffStore) Save(_ *http.Request, w http.ResponseWriter, session *sessions.Session) error {
	http.SetCookie(w, sessions.NewCookie(session.Name(), session.ID, session.Options))
	return nil
}
