package policy

import (
	"encoding/json"
	"time"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// How long evaluations are kept: those that denied or warned, and those of runs that
// passed. Others that passed aren't.
const (
	KeptFor       = 183 * 24 * time.Hour
	KeptForPassed = 30 * 24 * time.Hour
)

// Evaluation is what sets came to that were asked at one moment. What they were asked
// about, their input, is kept beside it.
type Evaluation struct {
	ID        string         `json:"id"`
	Scope     ref.Scope      `json:"-"`
	Org       string         `json:"org,omitempty"`
	Project   string         `json:"project,omitempty"`
	Type      string         `json:"type" doc:"Of the sets, e.g. pipeline"`
	Action    string         `json:"action" doc:"When they were asked, e.g. onrun"`
	Entity    string         `json:"entity" doc:"What they were asked about, e.g. pipeline web"`
	Execution string         `json:"execution,omitempty" doc:"In which they were asked"`
	Node      string         `json:"node,omitempty" doc:"Of the step"`
	Attempt   int            `json:"attempt,omitempty" doc:"Of the step"`
	Actor     string         `json:"actor,omitempty" doc:"Whose doing it was"`
	Status    Status         `json:"status" enum:"pass,warning,error"`
	Sets      []EvaluatedSet `json:"sets" nullable:"false"`
	CreatedAt time.Time      `json:"createdAt"`
	ExpiresAt time.Time      `json:"expiresAt" doc:"When it is forgotten"`
}

// EvaluatedSet is what a set came to.
type EvaluatedSet struct {
	Set      string      `json:"set" doc:"As a reference"`
	Status   Status      `json:"status" enum:"pass,warning,error"`
	Policies []Evaluated `json:"policies" nullable:"false"`
}

// Evaluated is what a policy came to.
type Evaluated struct {
	Policy   string   `json:"policy" doc:"As a reference"`
	Severity Severity `json:"severity" enum:"warning,error"`
	Status   Status   `json:"status" enum:"pass,warning,error"`
	Messages []string `json:"messages,omitempty"`
}

// MaxShown is how many bytes of an input are shown with its evaluation.
const MaxShown = 4 << 20

// WithInput is an evaluation with what was asked about.
type WithInput struct {
	Evaluation
	Input json.RawMessage `json:"input,omitempty" doc:"What was asked about; left out if it has more than 4 MiB"`
	Bytes int             `json:"inputBytes" doc:"How many bytes that has"`
}

// EvaluationList is a part of the list of evaluations.
type EvaluationList struct {
	Evaluations   []Evaluation `json:"evaluations" nullable:"false"`
	NextPageToken string       `json:"nextPageToken,omitempty"`
}

// Evaluated are the sets of a verdict as they are kept.
func (v Verdict) Evaluated() []EvaluatedSet {
	out := make([]EvaluatedSet, len(v))
	for i, s := range v {
		out[i] = EvaluatedSet{Set: s.Name, Status: s.Status(), Policies: make([]Evaluated, len(s.Policies))}
		for k, r := range s.Policies {
			out[i].Policies[k] = Evaluated{Policy: r.Name, Severity: r.Severity, Status: r.Status(), Messages: r.Messages()}
		}
	}
	return out
}

// Judged is a verdict and the evaluation that is kept of it.
type Judged struct {
	Verdict
	Evaluation string // its id; empty: none is kept
}

// Denied is the error of Verdict.Denied, which also names the evaluation.
func (j Judged) Denied(what string) error {
	note := ""
	if j.Evaluation != "" {
		note = " (evaluation " + j.Evaluation + ")"
	}
	return j.Verdict.denied(what, note)
}

// Told is Verdict.Told with the evaluation.
func (j Judged) Told() string {
	said := j.Verdict.Told()
	if said != "" && j.Evaluation != "" {
		said += " (evaluation " + j.Evaluation + ")"
	}
	return said
}
