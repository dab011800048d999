package task

// Session is where the steps of a group, or of a stage, that run programs run:
// a folder and a host on a machine (see pkg/session). As a payload it opens one.
type Session struct {
	ID        string `json:"id"`
	Execution string `json:"execution"`
	// Node is the group or the stage with whose end the session ends.
	Node string `json:"node"`
}

// Sessions are those that are open on a delegate's machine: it asks which are to
// be closed.
type Sessions struct {
	Open []Session `json:"open" maxItems:"200"`
}

// MaxSessions bounds the sessions that a delegate asks about at once.
const MaxSessions = 200

// SessionsOver answers Sessions: the ids of those whose part of their execution
// has ended.
type SessionsOver struct {
	Over []string `json:"over" nullable:"false"`
}

// Opened is what a session is found by; it is the output of opening it.
type Opened struct {
	ID      string `json:"id"`
	Machine string `json:"machine"`
}
