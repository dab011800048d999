// Package session is where steps that run a program run: a workspace, a host
// that owns it, and an entry for each step, which runs the step's command. Both
// are the program slipway-step, on the machine of a delegate or in a container.
//
//	delegate --HTTP over a carrier--> host --steps.sock--> entry -- command
//	                                   journal              one for each step
//
// A step is started once for each attempt: who asks again gets the same run, so
// that a delegate may die and another one go on. What a session is opened on, and
// by which carrier the host is reached, is delegate/session's.
package session

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// Protocol is the version of what a delegate and a host say to each other. What
// is added later is new fields.
const Protocol = 1

// Info is what a host says of itself.
type Info struct {
	ID       string    `json:"id"`
	Protocol int       `json:"protocol"`
	Started  time.Time `json:"started"`
	// LastContact is when a delegate was last heard of.
	LastContact time.Time `json:"lastContact"`
	Steps       []Run     `json:"steps"`
}

// Run is one attempt of a step.
type Run struct {
	Step    string `json:"step"` // see Step
	Attempt int    `json:"attempt"`
	State   State  `json:"state"`
}

// Start is what an attempt of a step runs.
type Start struct {
	// Digest is that of what is run: a start with another is another's. The
	// environment isn't in it, since who asks again may have other credentials.
	Digest string `json:"digest"`
	// Args are the command. With a Script they are the script's arguments.
	Args []string `json:"args"`
	// Script is run by Shell, which is given it in memory.
	Script string `json:"script,omitempty"`
	Shell  string `json:"shell,omitempty"`
	// Env is all that the command's environment has, as NAME=value.
	Env []string `json:"env"`
	// Dir is where it runs, below the workspace.
	Dir string `json:"workDir,omitempty"`
	// Seconds are how long it may run, even if no delegate is there to end it.
	Seconds int `json:"timeoutSeconds,omitempty"`
	// Grace is how long it has between being told to stop and being killed, in
	// seconds, and Signal by what it is told: SIGTERM, or SIGINT.
	Grace     int  `json:"grace,omitempty"`
	Interrupt bool `json:"interrupt,omitempty"`
	// Fence grows with each delegate that the step's task is given to.
	Fence int64 `json:"fence"`
}

// Sealed is the start with its digest.
func (s Start) Sealed() (Start, error) {
	doc, err := json.Marshal(Start{Args: s.Args, Script: s.Script, Shell: s.Shell, Dir: s.Dir})
	if err != nil {
		return s, fmt.Errorf("encode a start: %w", err)
	}
	sum := sha256.Sum256(doc)
	s.Digest = hex.EncodeToString(sum[:])
	return s, nil
}

// Phase is where an attempt is.
type Phase string

// The phases.
const (
	Waiting Phase = "waiting" // its entry hasn't begun it
	Running Phase = "running"
	Ended   Phase = "ended"
)

// State is how far an attempt is.
type State struct {
	Version int       `json:"version"` // grows with each change
	Phase   Phase     `json:"state"`
	Exit    *Exit     `json:"exit,omitempty"` // of one that has ended
	Started time.Time `json:"started,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	LogSize int64     `json:"logSize"`
}

// Exit is how an attempt has ended.
type Exit struct {
	Code   int    `json:"code"`
	Signal int    `json:"signal,omitempty"` // that ended it, if one did
	Reason string `json:"reason,omitempty"` // why it couldn't be run, or by whom it was ended
}

// Frame is a piece of what a command has written.
type Frame struct {
	Stream int       `json:"stream"` // 1: its output, 2: its errors
	Time   time.Time `json:"time"`
	Bytes  []byte    `json:"bytes"`
}

// Log is a part of a log.
type Log struct {
	Frames []Frame `json:"frames"`
	// Next is where the next part begins; Dropped is how much isn't kept any more
	// of what was asked for.
	Next    int64 `json:"next"`
	Dropped int64 `json:"dropped,omitempty"`
	// Ended says that nothing comes after this.
	Ended bool `json:"ended,omitempty"`
}

// Stop asks a host to end something.
type Stop struct {
	Grace int   `json:"grace,omitempty"` // in seconds; 0: as the start says
	Fence int64 `json:"fence"`
}

// Credentials are what an attempt's command may ask for while it runs, as SDKs of
// AWS know it from containers. Its keys are those of AWS's own documents.
type Credentials struct {
	AccessKeyID     string    `json:"AccessKeyId"`
	SecretAccessKey string    `json:"SecretAccessKey"`
	Token           string    `json:"Token"`
	Expiration      time.Time `json:"Expiration"`
}

// Lent is where a command finds credentials, and what it must show there.
type Lent struct {
	URL   string `json:"url"`
	Token string `json:"token"`
}

// refusal is the body of an answer that says no.
type refusal struct {
	Error string `json:"error"`
}

// Step is a step's name in a session: its node's id is too long for folders.
func Step(node string) string { return short("step", node) }

func short(parts ...string) string {
	doc, _ := json.Marshal(parts) // texts always encode
	sum := sha256.Sum256(doc)
	return hex.EncodeToString(sum[:8])
}
