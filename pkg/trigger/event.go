// Package trigger reads events: what Git hosts and others deliver, whether they
// sent it, and what its expressions (`<+trigger...>`, `<+eventPayload...>`)
// mean (semantics/pipeline §11.2).
//
// It is pure. Which triggers want an event is pkg/trigger/match's, and what a
// fitting one starts pkg/trigger/firing's.
package trigger

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// The sources of events, spelled as in a trigger.
const (
	Github    = "Github"
	Gitlab    = "Gitlab"
	Bitbucket = "Bitbucket"
	Custom    = "Custom"
	Scheduled = "Scheduled"
	ECR       = "Ecr"
	AmazonS3  = "AmazonS3"

	AmazonMachineImage = "AmazonMachineImage"
)

// MaxBytes bounds the body of a delivery. A Lambda function gets 6 MB at most.
const MaxBytes = 5 << 20

// Event is what may start pipelines. An execution keeps the one that started
// it, for its expressions.
type Event struct {
	Source  string `json:"source"`
	Trigger string `json:"trigger,omitempty"` // that it fired, by its identifier
	// Types are the events of the host that it counts as, as triggers spell
	// them: a push of a tag to GitLab is a Push and a Tag. None: no trigger can
	// want it, e.g. that a branch was deleted.
	Types  []string `json:"types,omitempty"`
	Action string   `json:"action,omitempty"` // as triggers spell it, else as the host does
	// Repository is where it happened: every URL that the host gives.
	Repository []string `json:"repository,omitempty"`

	Ref          string `json:"ref,omitempty"` // of a push, in full
	SourceBranch string `json:"sourceBranch,omitempty"`
	TargetBranch string `json:"targetBranch,omitempty"` // of a push, the branch or the tag
	Tag          string `json:"tag,omitempty"`
	PullRequest  int64  `json:"pullRequest,omitempty"`
	Title        string `json:"title,omitempty"`
	User         string `json:"user,omitempty"`
	Email        string `json:"email,omitempty"`
	CommitSHA    string `json:"commitSha,omitempty"`
	BaseSHA      string `json:"baseCommitSha,omitempty"`
	// Files changed with it; FilesKnown is false where the host doesn't say, or
	// not of all commits.
	Files      []string `json:"files,omitempty"`
	FilesKnown bool     `json:"filesKnown,omitempty"`

	Artifact *Artifact `json:"artifact,omitempty"` // a new version; nil of other events

	Header Header `json:"header,omitempty"` // without what proves the sender
	Body   string `json:"body,omitempty"`   // JSON, as it came
}

// Header is a delivery's, under lower-case names.
type Header map[string]string

// Get finds a header by its name, in any case; empty if there is none.
func (h Header) Get(name string) string { return h[strings.ToLower(name)] }

// Public is the header without what proves who the sender is.
func (h Header) Public() Header {
	out := Header{}
	for name, value := range h {
		switch name {
		case "authorization", "x-api-key", "x-gitlab-token", "x-hub-signature", "x-hub-signature-256", "cookie", "proxy-authorization":
		default:
			out[name] = value
		}
	}
	return out
}

// Decode reads an event that was kept.
func Decode(doc []byte) (Event, error) {
	var e Event
	if err := json.Unmarshal(doc, &e); err != nil {
		return Event{}, fmt.Errorf("decode the event of a trigger: %w", err)
	}
	return e, nil
}

// Encode is the event for keeping.
func (e Event) Encode() ([]byte, error) {
	doc, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode the event of a trigger: %w", err)
	}
	return doc, nil
}

// Document is what a step that listens reads below <+event>: the payload and
// the header.
func (e Event) Document() (json.RawMessage, error) {
	body := json.RawMessage(e.Body)
	if !json.Valid(body) {
		text, err := json.Marshal(e.Body)
		if err != nil {
			return nil, fmt.Errorf("encode the event: %w", err)
		}
		body = text
	}
	doc, err := json.Marshal(map[string]any{"payload": body, "header": e.Header})
	if err != nil {
		return nil, fmt.Errorf("encode the event: %w", err)
	}
	return doc, nil
}

// TriggerType is what <+pipeline.triggerType> says.
func (e Event) TriggerType() string {
	switch {
	case e.Artifact != nil:
		return "ARTIFACT"
	case e.Source == Custom:
		return "WEBHOOK_CUSTOM"
	case e.Source == Scheduled:
		return "SCHEDULER_CRON"
	}
	return "WEBHOOK"
}

// Subject is what the event is about: events of one trigger with the same
// subject supersede each other (semantics/pipeline §11.2, auto-abort). Empty:
// it supersedes nothing.
func (e Event) Subject() string {
	if len(e.Repository) == 0 {
		return ""
	}
	where := Location(e.Repository[0])
	switch {
	case e.PullRequest != 0:
		return fmt.Sprintf("%s#%d %s → %s", where, e.PullRequest, e.SourceBranch, e.TargetBranch)
	case e.Ref != "":
		return where + " " + e.Ref
	}
	return ""
}

// names is what trigger and eventPayload mean to expressions.
type names struct {
	event   Event
	payload expr.Value
	read    bool
}

// Names gives the meaning of the event's expressions (expr.Scope). It reads
// the payload when it is first asked for, so it is for one goroutine.
func (e Event) Names() expr.Scope { return &names{event: e} }

// Lookup finds the longest part of a path that names something (expr.Scope).
// What a delivery doesn't have is null.
func (n *names) Lookup(path []string) (expr.Value, int, error) {
	switch {
	case path[0] == "eventPayload":
		return n.below(path, 1)
	case path[0] != "trigger":
		return expr.Null(), 0, expr.ErrUnknown
	case len(path) == 1:
		return expr.Null(), 1, nil
	}
	switch path[1] {
	case "artifact":
		v, used := n.event.artifact(path)
		return v, used, nil
	case "payload":
		return n.below(path, 2)
	case "eventPayload":
		return text(n.event.Body), 2, nil
	case "header":
		if len(path) == 2 {
			return headers(n.event.Header), 2, nil
		}
		return text(n.event.Header.Get(path[2])), 3, nil
	case "prNumber":
		if n.event.PullRequest == 0 {
			return expr.Null(), len(path), nil
		}
		return expr.Int(n.event.PullRequest), 2, nil
	}
	v := text(n.event.field(path[1]))
	if v.IsNull() {
		return v, len(path), nil
	}
	return v, 2, nil
}

// Call knows no functors (expr.Scope).
func (n *names) Call(string, []expr.Value) (expr.Value, error) {
	return expr.Null(), expr.ErrUnknown
}

// field is a named part of the event; empty if it has none such.
func (e Event) field(name string) string {
	switch name {
	case "type":
		switch {
		case e.Artifact != nil:
			return "Artifact"
		case e.Source == Scheduled:
			return Scheduled
		}
		return "Webhook"
	case "sourceRepo":
		return e.Source
	case "event":
		return e.shortType()
	case "sourceBranch":
		return e.SourceBranch
	case "targetBranch", "branch":
		return e.TargetBranch
	case "tag":
		return e.Tag
	case "prTitle":
		return e.Title
	case "gitUser":
		return e.User
	case "commitSha":
		return e.CommitSHA
	case "baseCommitSha":
		return e.BaseSHA
	case "repoUrl":
		if len(e.Repository) > 0 {
			return e.Repository[0]
		}
	}
	return ""
}

// shortType is the event as <+trigger.event> spells it, e.g. PR or PUSH.
func (e Event) shortType() string {
	if len(e.Types) == 0 {
		return ""
	}
	switch t := e.Types[0]; t {
	case "PullRequest", "MergeRequest":
		return "PR"
	case "IssueComment", "MRComment", "PRComment":
		return "ISSUE_COMMENT"
	default:
		return strings.ToUpper(t)
	}
}

// below reads the payload as far as a path names something in it.
func (n *names) below(path []string, from int) (expr.Value, int, error) {
	if !n.read {
		n.payload, n.read = payload(n.event.Body), true
	}
	v := n.payload
	for i := from; i < len(path); i++ {
		if v.Kind() != expr.KindMap {
			return v, i, nil // e.g. the length of a text
		}
		next, ok := v.Field(path[i])
		if !ok {
			return expr.Null(), len(path), nil
		}
		v = next
	}
	return v, len(path), nil
}

// payload is a body as a value. One that isn't JSON is a text.
func payload(body string) expr.Value {
	v, err := expr.FromJSON([]byte(body))
	if err != nil {
		return text(body)
	}
	return v
}

func text(s string) expr.Value {
	if s == "" {
		return expr.Null()
	}
	return expr.String(s)
}

func headers(h Header) expr.Value {
	m := make(map[string]expr.Value, len(h))
	for k, v := range h {
		m[k] = expr.String(v)
	}
	return expr.Map(m)
}

func invalid(format string, args ...any) error { return fault.New(fault.Invalid, format, args...) }
