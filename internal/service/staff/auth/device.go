package auth

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"candor/db"
	"candor/internal/domain"
	"candor/internal/service/staff/attempts"
)

// DeviceLife is how long a browser is known after its user signed in.
const DeviceLife = 180 * 24 * time.Hour

// devicesKept is how many users a browser is known for.
const devicesKept = 5

// A device is a browser in which a staff user has signed in completely. Its
// attempts are counted apart from those of strangers (OWASP, "Slow Down Online
// Guessing Attacks with Device Cookies"). It signs no one in.
type device struct {
	Staff    domain.StaffID `json:"staff"`
	Email    []byte         `json:"email"` // emailDigest of the user's address; nil before November 2026
	Nonce    string         `json:"nonce"`
	Password []byte         `json:"password"` // digest of the password's hash: a new password ends it
	Until    time.Time      `json:"until"`
}

const deviceOwner = "staff device"

// counter counts the attempts of the device.
func (d *device) counter(free int, kind string) db.Counter {
	return attempts.Counter(free, "device "+kind, d.Staff.String(), d.Nonce)
}

// passwordDigest changes with the password. The hash has a random salt, so the
// digest tells nothing of it.
func passwordDigest(hash string) []byte {
	sum := sha256.Sum256([]byte("device " + hash))
	return sum[:16]
}

// devices are those of a cookie that we made and that haven't expired, the
// latest first.
func (s *Service) devices(cookie string) []device {
	var out []device
	for i, text := range strings.Split(cookie, ".") {
		if i == devicesKept {
			break
		}
		var d device
		sealed, err := base64.RawURLEncoding.DecodeString(text)
		if err != nil {
			continue
		}
		plain, err := s.Ring.Open(deviceOwner, sealed)
		if err == nil && json.Unmarshal(plain, &d) == nil && s.Clock.Now().Before(d.Until) {
			out = append(out, d)
		}
	}
	return out
}

// deviceOf is the device of that user among those of the visitor, nil for a
// browser that isn't known.
func (s *Service) deviceOf(staff *db.StaffPassword, from domain.Visitor) *device {
	for _, d := range s.devices(from.Device) {
		if d.Staff == staff.ID && string(d.Password) == string(passwordDigest(staff.Hash)) {
			return &d
		}
	}
	return nil
}

// KnownFor reports whether the user with that address has signed in in the browser with
// that cookie. It asks no database.
func (s *Service) KnownFor(cookie, email string) bool {
	for _, d := range s.devices(cookie) {
		if bytes.Equal(d.Email, emailDigest(email)) {
			return true
		}
	}
	return false
}

// emailDigest is that of a user's address, in any case.
func emailDigest(email string) []byte {
	return attempts.Subject("device email", strings.ToLower(strings.TrimSpace(email)))[:16]
}

// KnownDevice names the staff user who signed in last in the browser with that
// cookie, "" if it isn't known. It asks no database.
func (s *Service) KnownDevice(cookie string) string {
	for _, d := range s.devices(cookie) {
		return d.Staff.String()
	}
	return ""
}

// KeepDevice returns the cookie by which the browser of a full session is known
// later, "" for a session of another stage.
func (s *Service) KeepDevice(ctx context.Context, token string, from domain.Visitor) (cookie string, err error) {
	session, err := s.Session(ctx, token)
	if err != nil || session.Stage != domain.SignInFull {
		return "", err
	}
	staff, err := s.DB.StaffPassword(ctx, session.ID)
	if err != nil {
		return "", db.MissingAs(err, domain.ErrSignedOut)
	}
	return s.keepDevice(staff, from)
}

// keepDevice puts a device of the user in front of the browser's others.
func (s *Service) keepDevice(staff *db.StaffPassword, from domain.Visitor) (cookie string, err error) {
	own := device{Staff: staff.ID, Email: emailDigest(staff.Email), Password: passwordDigest(staff.Hash)}
	list := make([]device, 1, devicesKept)
	for _, d := range s.devices(from.Device) {
		switch {
		case d.Staff != staff.ID:
			list = append(list, d)
		case string(d.Password) == string(own.Password):
			own.Nonce = d.Nonce // the same browser keeps its counters
		}
	}
	if own.Nonce == "" {
		random := make([]byte, 16)
		_, _ = rand.Read(random) // never fails
		own.Nonce = hex.EncodeToString(random)
	}
	own.Until = s.Clock.Now().Add(DeviceLife)
	list[0] = own
	var texts []string
	for _, d := range list[:min(len(list), devicesKept)] {
		plain, err := json.Marshal(d)
		if err != nil {
			return "", fmt.Errorf("auth: device: %w", err)
		}
		texts = append(texts, base64.RawURLEncoding.EncodeToString(s.Ring.Seal(deviceOwner, plain)))
	}
	return strings.Join(texts, "."), nil
}
