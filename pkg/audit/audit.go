// Package audit is the append-only record of who changed or decided what.
// Each record carries the hash of the one before it, so that a removed or
// edited record shows.
//
// It makes and checks records; pkg/store keeps them, and appends each in the
// transaction of the change that it tells of.
package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// Action says what was done (semantics/entities §12).
type Action string

// The actions.
const (
	Create  Action = "CREATE"
	Update  Action = "UPDATE"
	Delete  Action = "DELETE"
	Start   Action = "START"
	End     Action = "END"
	Abort   Action = "ABORT"
	Pause   Action = "PAUSE"
	Resume  Action = "RESUME"
	Mark    Action = "MARK"
	Approve Action = "APPROVE"
	Reject  Action = "REJECT"
	Retry   Action = "RETRY"
	// Intervene is a person's answer to a manual intervention.
	Intervene Action = "INTERVENE"
	// Answer gives a step or a stage the inputs that it asks for.
	Answer      Action = "ANSWER"
	CreateToken Action = "CREATE_TOKEN"
	RevokeToken Action = "REVOKE_TOKEN"
	RotateToken Action = "ROTATE_TOKEN"
	Login       Action = "LOGIN"
	Logout      Action = "LOGOUT"
	// LoginFailed: an identity provider named somebody who may not log in.
	LoginFailed Action = "LOGIN_FAILED"
	// Reveal gives secrets to a delegate that files name which it has fetched.
	Reveal Action = "REVEAL"
	// CreateLink makes a link by which one person can answer an approval.
	CreateLink Action = "CREATE_LINK"
	// FreezeRejected: a deployment freeze let nothing begin. FreezeOverridden:
	// something began in spite of one.
	FreezeRejected   Action = "FREEZE_REJECTED"
	FreezeOverridden Action = "FREEZE_OVERRIDDEN"
	// PolicyDenied: a governance policy was against a save or a start.
	PolicyDenied Action = "POLICY_DENIED"
	// Rotate makes a new key for the tokens that clouds trust.
	Rotate Action = "ROTATE"
)

// Author is who does something and through which request.
type Author struct {
	Actor   string // the token's
	Request string // the API request's id; empty for what Slipway does by itself
}

// Record is what he did to something, in the words of the trail.
func (a Author) Record(at time.Time, scope ref.Scope, action Action, kind, id, after string) Record {
	return Record{Time: at, Actor: a.Actor, Request: a.Request, Scope: scope, Action: action, Kind: kind, ID: id, After: after}
}

// Record is one entry. Sequence, Previous and Hash are set when it is stored.
type Record struct {
	Sequence int64     `json:"sequence"` // 1, 2, 3, ... within an account
	Time     time.Time `json:"time"`     // UTC
	Actor    string    `json:"actor"`
	Scope    ref.Scope `json:"scope"`
	Action   Action    `json:"action"`
	Kind     string    `json:"kind"` // of what was changed: an entity kind, "execution", "approval", "token"
	ID       string    `json:"id"`
	Before   string    `json:"before,omitempty"` // YAML or a short text; never a secret's value
	After    string    `json:"after,omitempty"`
	Request  string    `json:"request,omitempty"` // the API request's id
	Previous string    `json:"previous"`          // hash of the record before; empty for the first
	Hash     string    `json:"hash"`
}

// Chain gives r its place after the record with the given sequence and hash
// (0 and "" for the first).
func Chain(r Record, sequence int64, previous string) (Record, error) {
	r.Sequence, r.Previous = sequence+1, previous
	r.Time = r.Time.UTC().Truncate(time.Millisecond) // as every store keeps it
	hash, err := sum(r)
	if err != nil {
		return Record{}, err
	}
	r.Hash = hash
	return r, nil
}

// sum is the hash of everything in the record but the hash itself.
func sum(r Record) (string, error) {
	r.Hash = ""
	doc, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("encode audit record %d: %w", r.Sequence, err)
	}
	h := sha256.Sum256(doc)
	return hex.EncodeToString(h[:]), nil
}

// Verifier checks a chain record by record, from the first one on.
type Verifier struct {
	sequence int64
	hash     string
}

// Check says what is wrong with the next record: a gap, a changed record or
// a broken link. After an error the chain can't be trusted from there on.
func (v *Verifier) Check(r Record) error {
	if r.Sequence != v.sequence+1 {
		return fmt.Errorf("audit record %d follows %d: records are missing", r.Sequence, v.sequence)
	}
	if r.Previous != v.hash {
		return fmt.Errorf("audit record %d doesn't continue record %d: one of them was changed", r.Sequence, v.sequence)
	}
	want, err := sum(r)
	if err != nil {
		return err
	}
	if r.Hash != want {
		return fmt.Errorf("audit record %d was changed: its hash is %s, its content's is %s", r.Sequence, r.Hash, want)
	}
	v.sequence, v.hash = r.Sequence, r.Hash
	return nil
}
