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
	"strconv"
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
	// AccessDenied: somebody came from where the IP allow lists let nobody in.
	AccessDenied Action = "ACCESS_DENIED"
	// Rotate makes a new key for the tokens that clouds trust.
	Rotate Action = "ROTATE"
	// Expire removes the beginning of the trail: ID is the number of the last
	// record that goes, After its hash.
	Expire Action = "EXPIRE"
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
	// Attestation is the signed statement of an approval (pkg/attest), as JSON.
	Attestation string `json:"attestation,omitempty"`
	Previous    string `json:"previous"` // hash of the record before; empty for the first
	Hash        string `json:"hash"`
}

// Place is where a record is in its account's chain. Its zero value is before the
// first one.
type Place struct {
	Sequence int64  `json:"sequence"`
	Hash     string `json:"hash"`
}

// Place is the record's, once it is stored.
func (r Record) Place() Place { return Place{r.Sequence, r.Hash} }

// Expiry is the record that the beginning of a trail was removed, up to a place.
func Expiry(at time.Time, account string, upTo Place) Record {
	return Author{Actor: "slipway"}.Record(at, ref.Scope{Account: account}, Expire, "audit", strconv.FormatInt(upTo.Sequence, 10), upTo.Hash)
}

// Tells says whether r is the record that its trail was removed up to a place.
func (r Record) Tells(upTo Place) bool {
	return r.Action == Expire && r.Kind == "audit" && r.ID == strconv.FormatInt(upTo.Sequence, 10) && r.After == upTo.Hash
}

// TwoYears is how long records are kept unless somebody says otherwise.
const TwoYears = "730"

// Retention reads for how many days records are kept; 0: for ever.
func Retention(text string) (time.Duration, error) {
	const most = 36500
	n, err := strconv.Atoi(text)
	if err != nil || n < 0 || n > most {
		return 0, fmt.Errorf("found %.40q; want a number of days up to %d, or 0 to keep all audit records for ever", text, most)
	}
	return time.Duration(n) * 24 * time.Hour, nil
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
type Verifier struct{ last Place }

// From makes the verifier go on behind a place: what was there before is gone.
func (v *Verifier) From(p Place) { v.last = p }

// Last is the place of the last record that is right.
func (v *Verifier) Last() Place { return v.last }

// Check says what is wrong with the next record: a gap, a changed record or
// a broken link. After an error the chain can't be trusted from there on.
func (v *Verifier) Check(r Record) error {
	if r.Sequence != v.last.Sequence+1 {
		return fmt.Errorf("audit record %d follows %d: records are missing", r.Sequence, v.last.Sequence)
	}
	if r.Previous != v.last.Hash {
		return fmt.Errorf("audit record %d doesn't continue record %d: one of them was changed", r.Sequence, v.last.Sequence)
	}
	if err := r.Genuine(); err != nil {
		return err
	}
	v.last = r.Place()
	return nil
}

// Genuine says what is wrong with a record by itself: its hash is another one's.
func (r Record) Genuine() error {
	want, err := sum(r)
	if err != nil {
		return err
	}
	if r.Hash != want {
		return fmt.Errorf("audit record %d was changed: its hash is %s, its content's is %s", r.Sequence, r.Hash, want)
	}
	return nil
}
