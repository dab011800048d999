// Package step is the contract of a step type: what its YAML may hold, what
// it starts, and how a result ends it. One folder below this one holds one
// type, or the package of a lane below pkg/swimlane its own; pkg/builtin lists
// them.
//
// A step type does no I/O. It is a function from a resolved spec to one
// action, so it is quick to import in a Lambda and easy to test; the work is
// done by a delegate (see delegate/), a timer or people.
package step

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/mail"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/task/probe"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes one step type.
type Type struct {
	Name string // as in YAML, case included
	// New decodes and checks a spec. It is called on save, where fields may be
	// expressions, and again when the step starts, where they no longer are.
	New func(d *document.Decoder, spec yamldoc.Value) Spec
	// Prepare rewrites a spec as it was saved before its expressions are
	// resolved; nil: it is taken as it is.
	Prepare func(spec *yamldoc.Node) (*yamldoc.Node, error)
	// Finish makes the outcome of a result of the step's task, good or bad, or of
	// an event that it listens for; see Finisher. It is pure, and may be asked
	// twice. A type that Looks sets Again where it found no answer. nil: it is
	// Outcome(result), and the spec isn't decoded for it.
	Finish func(s Spec, in In, r task.Result) (plan.Outcome, error)
	// Timeout is what a step has that says none; 0 means 10 minutes
	// (semantics/pipeline §1.4).
	Timeout time.Duration
	// Lasts is how long the step may well take, and why; nil: nothing is known of
	// that. A shorter timeout is warned about on save.
	Lasts *Lasting
	// Late names top-level keys of the spec whose expressions are left as they
	// are at the start, because Finish evaluates them (e.g. an assertion).
	Late []string
	// Looks says that the step's task only looks at something, again and again
	// until Finish finds an answer. It may be lost with its delegate: it is done
	// again.
	Looks bool
	// Deploys says that the step needs the service, environment and
	// infrastructure of a Deployment stage. Its task is made by Deploy.
	Deploys bool
	// Service says that the step needs the service of a Deployment stage, and
	// deploys nothing itself.
	Service bool
	// Endable says that a person may end the step as a success before its time.
	Endable bool
	// Preview says how it can be seen what the step would change; nil: it can't.
	Preview *Preview
	// Moves says whether a step moves the traffic of what its stage deploys, which steps
	// of no other type do then; nil: it doesn't.
	Moves func(Spec) bool
	// Meets says that steps of the type wait for each other: for all with the same
	// barrierRef in their specs.
	Meets bool
	// Holds says that a step of the type, once it is its turn, keeps the turn for the
	// stage or the pipeline that it is in, by the scope in its spec.
	Holds bool
	// Apart is a key of the spec, where steps of the type in one stage have values of
	// their own; empty: there is none.
	Apart string
	// Outside says that what the step gives was written by others than who wrote the
	// pipeline: by a server that was asked, in an event, in a ticket.
	Outside bool
	// Script says that the spec's source is a script that is run with the spec's
	// environmentVariables, and that makes what the step gives.
	Script bool
	// Session says that the step's task runs where the session of its group or
	// stage is open, with the program Tool (see dispatch.Has) if it isn't empty.
	Session bool
	Tool    string
	// Brings says that the step does no more than bring files into the workspace of its
	// session: previews of steps after it do so, too.
	Brings bool
}

// Lasting is how long a step may well take.
type Lasting struct {
	Time time.Duration
	Why  string // e.g. tasks are drained
}

// Preview is how it can be seen what a step would change.
type Preview struct {
	By string // the step type that looks in its place, and changes nothing
	// Part says how much the step leaves to others of its stage, from 0 on. Of
	// several steps the one with the least shows what the stage comes to.
	Part int
	// Keys are those of the step's spec that the other one has, too.
	Keys []string
	// Own says that By reads the step's own spec: of such steps each is seen, in
	// stages of any type.
	Own bool
}

// Decode decodes and checks a spec, and reports to r what is wrong with it.
func (t Type) Decode(spec *yamldoc.Node, r *yamldoc.Report) Spec {
	return t.New(document.New(r), yamldoc.Sub(spec, ""))
}

// Finisher makes a Type's Finish of a method of its own spec, which is what New
// gives.
func Finisher[S Spec](finish func(S, In, task.Result) (plan.Outcome, error)) func(Spec, In, task.Result) (plan.Outcome, error) {
	return func(s Spec, in In, r task.Result) (plan.Outcome, error) {
		own, ok := s.(S)
		if !ok {
			return plan.Outcome{}, fmt.Errorf("finish a step: its spec is a %T; want a %T", s, own)
		}
		return finish(own, in, r)
	}
}

// Spec is a decoded step.
type Spec interface {
	// Start says what the step does: one Task, one Wait, one Approval, one Turn, one Barrier, or Done.
	// Who runs steps calls Type.Start. An error fails the step with its failure types.
	Start(in In) (Action, error)
}

// In is what a step knows when it starts or finishes.
type In struct {
	Account    string
	Execution  string
	Pipeline   string
	Stage      string // the stage's identifier
	StageNode  plan.NodeID
	Node       plan.NodeID
	Name       string
	Attempt    int
	Rollback   bool // the step is in rollbackSteps
	Now        time.Time
	Timeout    time.Duration // of this attempt
	Selectors  []string
	Deployment *Deployment // nil where the stage deploys nothing
	Session    *Session    // of a step that has one
	// Sibling lists the types of the other steps of the stage, forward and
	// rollback, as far as the plan knows them.
	Siblings []string
	// Others are the specs of the stage's other steps of a type, as they are
	// resolved by now.
	Others func(stepType string) ([]Spec, error)
	// Evaluate evaluates a late expression, with names of its own beside the
	// pipeline's (e.g. httpResponseCode).
	Evaluate func(body string, names map[string]expr.Value) (expr.Value, error)
	// Interpolate does the same for a text.
	Interpolate func(text string, names map[string]expr.Value) (expr.Value, error)
	// InterpolateKnown resolves a late text for people: what can't be resolved
	// stays in it as it was written (semantics/pipeline §3.5, item 4).
	InterpolateKnown func(text string) (expr.Value, error)
	// Server finds the system with an HTTP API that a connector of a type stands
	// for, by its reference as written in the step, and the selectors that a
	// delegate needs besides the step's own.
	Server func(ref, connectorType string) (task.Server, []string, error)
	// Artifact resolves the artifact of the stage's service as far as it is
	// known before its source was asked.
	Artifact func() (Artifact, error)
	// ArtifactVersions asks for the newest versions of one of the service's
	// artifact sources or sidecars; of the primary one without a name.
	ArtifactVersions func(source string, limit int) (Artifact, error)
	// Chart resolves the chart of the stage's service, if its metadata are to be
	// fetched.
	Chart func() (Chart, error)
	// Probe resolves how a connector is tested: one by its reference, or one that
	// isn't saved by its document.
	Probe func(ref, document string) (Probe, error)
	// Cluster is the Kubernetes cluster that the stage deploys to, and the
	// selectors of the delegates that reach it.
	Cluster func() (task.Cluster, []string, error)
	// AWS is how an account of AWS is reached by an Aws connector, by its reference
	// as written in the step, in a region (empty: the connector's), and the
	// selectors that a delegate needs besides the step's own.
	AWS func(ref, region string) (task.AWS, []string, error)
	// Provisioned is what executions have done in the step's project by a
	// provisioner, the newest first.
	Provisioned func(kind task.Kind, identifier, workspace string) ([]Provisioned, error)
	// SSHKey resolves a secret of type SSHKey, by its reference as written in
	// the step: who logs in, with which key, at which port.
	SSHKey func(ref string) (task.SSH, error)
	// Store finds how the files of a store are reached.
	Store func(from *filesource.Store) (task.Store, error)
	// File is the text of a file of the file store, by its path as written in
	// the step, with its expressions resolved.
	File func(path string) (string, error)
	// UserGroup says whether there is a user group, by its reference.
	UserGroup func(ref string) error
	// ServiceAccount says whether there is a service account, by its reference.
	ServiceAccount func(ref string) error
	// GroupMails are the addresses of a user group's members, by its reference.
	GroupMails func(ref string) ([]string, error)
	// Policies asks policy sets, by their references as written in the step, about
	// an input.
	Policies func(sets []string, input any) (policy.Judged, error)
	// MailServer is the installation's; its password is a placeholder.
	MailServer func() (mail.Server, error)
}

// Session is where the steps of a group, or of a stage, that run programs run.
type Session struct {
	ID        string
	Execution string      // whose it is
	Node      plan.NodeID // of that group or stage
	Machine   string      // on which it is open; empty: it isn't
	Tools     []string    // of all its steps, and what the machine must be, such as os=linux
}

// Artifact is a service's primary artifact (semantics/entities §2.2).
type Artifact struct {
	Task      *lookup.Artifact // asks its source; nil: there is nothing to ask
	Selectors []string         // a delegate needs these besides the stage's
	Timeout   time.Duration    // of the task; 0: the step's
}

// Chart is a service's chart whose metadata are asked for.
type Chart struct {
	Kind      task.Kind // of the task that asks
	Spec      any       // of its task.Work; nil: there is nothing to ask
	Selectors []string  // a delegate needs these besides the stage's
}

// Probe is how a connector is tested.
type Probe struct {
	Task      probe.Spec
	Selectors []string // a delegate needs these
}

// Provisioned is what an execution has done by a provisioner.
type Provisioned struct {
	Execution string
	Status    provision.Status
	Place     json.RawMessage // see provision.Provisioner
}

// Deployment is the resolved service, environment and infrastructure of a
// stage, for a delegate.
type Deployment struct {
	Type           string // as in YAML, e.g. Kubernetes
	ServiceID      string // as referred to, e.g. "account.web"
	EnvironmentID  string
	Infrastructure string
	Release        string // its name in the place, where it has one
	Namespace      string // of the place, where it has such
	Image          string // of the artifact, or its version; empty if there is none
	// Target is the lane's own, see TargetOf.
	Target any
}

// TargetOf is what the stage of a step deploys where, as the lane with targets
// of type T knows it.
func TargetOf[T any](in In) (T, error) {
	var none T
	if in.Deployment == nil {
		return none, fault.New(fault.Invalid, "the step needs a Deployment stage")
	}
	t, ok := in.Deployment.Target.(T)
	if !ok {
		return none, fault.New(fault.Invalid, "the step can't deploy in a stage of the deployment type %s", in.Deployment.Type)
	}
	return t, nil
}

// Action is what a step does. Exactly one of its fields is set.
type Action struct {
	Task     *Task
	Wait     *Wait
	Approval *plan.Approval
	Turn     *Turn
	Barrier  string // the step waits until all steps of this barrier have come
	// Listen names the webhook whose events the step waits for. Finish judges
	// each, a result whose outputs are the event; Again: the step waits on.
	Listen string
	Done   *plan.Outcome
}

// Task is work for a delegate.
type Task struct {
	Kind    task.Kind
	Payload any // one of pkg/task's payloads; of a type that Deploys a task.Work
	// Selectors replaces the step's delegate selectors where the type says so
	// (includeInfraSelectors) and adds a connector's.
	Selectors []string
	// Machine is the only one whose delegates may take it; empty: any. Tools must
	// be on it, see dispatch.Has.
	Machine string
	Tools   []string
	// Timeout is the task's own; 0: the rest of the attempt's.
	Timeout time.Duration
	// Prompt says that a person waits for the answer: if no delegate could ever
	// take the task as they are now, the step fails at once.
	Prompt bool
}

// Wait ends by itself after a time.
type Wait struct {
	Duration time.Duration
	Outputs  json.RawMessage // what the step gives when the wait has ended
}

// The scopes of a turn.
const (
	ScopePipeline = "Pipeline"
	ScopeStage    = "Stage"
)

// Turn lets the step pass one at a time in the account, in the order of
// asking. The scope of which it is then the turn is in the step's spec
// ("scope"), because the engine gives the turn back when the scope ends.
type Turn struct {
	Key string
}

// Outcome is a delegate's result as a step's outcome. One whose time was up
// has expired, as if the engine had found out.
func Outcome(r task.Result) plan.Outcome {
	o := plan.Outcome{Message: r.Message, Failures: r.FailureTypes, Outputs: r.Outputs}
	switch r.Status {
	case task.Succeeded:
		o.Status = plan.Success
	case task.Failed:
		o.Status = plan.Failed
		if slices.Equal(r.FailureTypes, []fault.FailureType{fault.Timeout}) {
			o.Status = plan.Expired
		}
	case task.Errored:
		o.Status = plan.Errored
	case task.Aborted:
		o.Status = plan.Aborted
	}
	return o
}

// Names are those of some types.
func Names(types []Type) []string {
	var names []string
	for _, t := range types {
		names = append(names, t.Name)
	}
	return names
}
