package delivery

// places bound the attempts that run at once: each puts a token into the channel.
// Endpoint workers that wait to put one in get the free places in turn.
type places chan struct{}

// A share is an account's places, with how many endpoint workers use them.
type share struct {
	places  places
	workers int
}

// joinShare gives the worker its account's share.
func (w *endpointWorker) joinShare() {
	w.mu.Lock()
	defer w.mu.Unlock()
	account := w.endpoint.AccountID
	if w.shares[account] == nil {
		w.shares[account] = &share{places: make(places, w.perAccount)}
	}
	w.share = w.shares[account]
	w.share.workers++
}

// leaveShare deletes the share if the worker was the last one that used it. The
// dispatcher's mutex is locked, and no attempt of the worker runs.
func (w *endpointWorker) leaveShare() {
	if w.share == nil {
		return
	}
	w.share.workers--
	if w.share.workers == 0 {
		delete(w.shares, w.endpoint.AccountID)
	}
}

// takeRoom takes the places that an attempt needs. free returns them. If one is
// missing, it takes none, and wait is granted the next one there.
func (w *endpointWorker) takeRoom() (free func(), ok bool) {
	needed := []places{w.share.places, w.running}
	if w.isFailing() {
		needed = append(needed, w.failing)
	}
	var taken []places
	free = func() {
		for _, p := range taken {
			<-p
		}
	}
	for _, p := range needed {
		if p == w.granted {
			w.granted = nil
		} else {
			select {
			case p <- struct{}{}:
			default:
				free()
				w.full = p
				return nil, false
			}
		}
		taken = append(taken, p)
	}
	return free, true
}

// giveBack returns a place that was granted and isn't needed.
func (w *endpointWorker) giveBack() {
	if w.granted != nil {
		<-w.granted
		w.granted = nil
	}
}
