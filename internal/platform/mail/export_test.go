package mail

import "time"

// SetTimeouts sets how long the server has for a step, and to take a text.
func (s *SMTP) SetTimeouts(step, take time.Duration) { s.stepTimeout, s.takeTimeout = step, take }
