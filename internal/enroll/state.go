package enroll

// State is how far a run has come from being written to being put away.
type State string

// The states of a run. It goes through them in this order and never back.
const (
	Draft     State = "draft"     // for organisers of its course only
	Published State = "published" // for everybody
	Archived  State = "archived"  // over or called off, and in no list
)

// ParseState returns the state, or an error of code Invalid whose fault names the
// field "state".
func ParseState(s string) (State, error) {
	switch State(s) {
	case Draft, Published, Archived:
		return State(s), nil
	}
	return "", FaultIn("state", Invalid, "unknown", "must be draft, published or archived")
}

// MayPublish returns an error unless the run can be published as it is: of code
// WrongState if it is no draft, and of code Invalid with everything that it lacks.
func (r RunState) MayPublish() error {
	switch {
	case r.State != Draft:
		return Errorf(WrongState, "the run is %s: only a draft can be published", r.State)
	case r.CalledOff:
		return Errorf(WrongState, "the run has been called off: it cannot be published any more")
	}
	var faults []Fault
	if r.Location == "" {
		faults = append(faults, Fault{"location", "required", "is required before a run is published"})
	}
	if !r.Now.Before(r.EndsAt) {
		faults = append(faults, Fault{"ends_at", "range", "must be in the future when a run is published"})
	}
	if !r.Now.Before(r.ClosesAt) {
		faults = append(faults, Fault{"closes_at", "range", "must be in the future when a run is published"})
	}
	if faults != nil {
		return &Error{Code: Invalid, Faults: faults}
	}
	return nil
}

// MayArchive returns an error of code WrongState unless the run can be archived.
func (r RunState) MayArchive() error {
	switch life := r.Life(); {
	case r.State != Published:
		return Errorf(WrongState, "the run is %s: only a published run can be archived", r.State)
	case life.Window != Over && life.Window != WindowCalledOff:
		return Errorf(WrongState, "the run is neither over nor called off: it can be archived after that")
	}
	return nil
}

// MayChange returns an error of code WrongState unless the settings of the run
// can be changed.
func (r RunState) MayChange() error {
	if r.State == Archived {
		return Errorf(WrongState, "the run is archived: its settings stay as they are")
	}
	return nil
}

// MayDelete returns an error of code WrongState unless the run can be deleted: a
// draft for which nobody has asked anything.
func (r RunState) MayDelete() error {
	if r.State != Draft || r.LastTicket > 0 {
		return Errorf(WrongState, "only a draft without requests in its line can be deleted")
	}
	return nil
}
