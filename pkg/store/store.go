// Package store says what Slipway keeps and how it may be changed: records
// and the interfaces that SQLite and DynamoDB implement and that the suite in
// storetest checks.
//
// Every change is a conditional write on a version, a status or a fence, so
// that doing it twice is harmless. The package holds no rules about what a
// change means: that is pkg/engine, pkg/execution and pkg/api.
//
// The cost of each method is listed in docs/data-model.md under the
// number (AP-n) that ends its comment.
package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/identity"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/policy"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Store is all that is kept, each sort by itself: who needs one asks for that
// one. Missing things are fault.NotFound; a lost condition is
// fault.StaleVersion or fault.Conflict, as each method says.
type Store struct {
	Entities
	Executions
	Turns
	Tasks
	Checkpoints
	Provisions
	Delegates
	Secrets
	Logs
	Audits
	Keys
	Fires
	Polls
	Evaluations
	Placements
	Files
	GitOps
	Streams
}

// MaxPage is how much of a list a page has at most.
const MaxPage = 500

// Page asks for a part of a list. Token is opaque, empty for the first part.
type Page struct {
	Limit int // 0 means 50, at most MaxPage
	Token string
}

// All goes through the entities of a kind in a scope, or through those that are filtered
// as ListEntities does it, by id. An error ends it.
func All(ctx context.Context, entities Entities, scope ref.Scope, kind ref.Kind, env string) iter.Seq2[Entity, error] {
	return pages(func(page Page) ([]Entity, string, error) { return entities.ListEntities(ctx, scope, kind, env, page) })
}

// Naming goes through the keys of the entities that name one, as Referrers does it. An
// error ends it.
func Naming(ctx context.Context, entities Entities, named EntityKey) iter.Seq2[EntityKey, error] {
	return pages(func(page Page) ([]EntityKey, string, error) { return entities.Referrers(ctx, named, page) })
}

// pages goes through all pages of a list, until an error.
func pages[T any](list func(Page) ([]T, string, error)) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for page := (Page{Limit: MaxPage}); ; {
			part, next, err := list(page)
			if err != nil {
				var none T
				yield(none, err)
				return
			}
			for _, one := range part {
				if !yield(one, nil) {
					return
				}
			}
			if page.Token = next; next == "" {
				return
			}
		}
	}
}

// Entity is a document that a user saved, byte for byte, with its version.
type Entity struct {
	Key       EntityKey
	Name      string
	Version   int64 // 1 for the first save
	YAML      []byte
	Refs      []EntityKey // what the document names, files (FileTarget) among it; guards deletes
	UpdatedBy string
	// By is as whom it was saved last, of a trigger: what it starts acts as that
	// one. nil: as nobody in particular.
	By        *Identity
	CreatedAt time.Time
	UpdatedAt time.Time
}

// EntityKey is where an entity lives. Infrastructure definitions are unique
// per environment (semantics/entities §1), and triggers per pipeline, so theirs
// names the environment or the pipeline. Of a template each version is an entity.
type EntityKey struct {
	Scope ref.Scope
	Kind  ref.Kind
	Env   string // infrastructureDefinition: its environment's identifier; trigger, inputSet, overlayInputSet: its pipeline's; else empty
	ID    string // template: with its version, e.g. build@v1
}

// StableTemplate is the kind of the entities that say which version of a
// template is the stable one. Nobody saves their documents.
const StableTemplate ref.Kind = "stableTemplate"

// Describe names an entity for people, e.g. `trigger "on_push" of pipeline
// "deploy" in acme/default/web`.
func (k EntityKey) Describe() string {
	if k.Kind == StableTemplate {
		k.Kind = ref.Template
	}
	if k.Env != "" {
		return fmt.Sprintf("%s %q of %s %q in %s", k.Kind, k.ID, ref.Parent(k.Kind), k.Env, k.Scope)
	}
	return fmt.Sprintf("%s %q in %s", k.Kind, k.ID, k.Scope)
}

// Save is one of several entities that are saved together: the arguments of
// SaveEntity.
type Save struct {
	Entity Entity
	Audit  audit.Record
	Values []Secret
}

// Entities keeps what users save.
type Entities interface {
	// SaveEntity writes e if the stored version is e.Version (0: it must not
	// exist), stores it as e.Version+1, puts the values that it brings and
	// appends the audit record in the same transaction. fault.StaleVersion
	// otherwise. AP-1
	SaveEntity(ctx context.Context, e Entity, a audit.Record, values ...Secret) (Entity, error)
	// SaveEntities is SaveEntity for several entities, each of them once. All are
	// saved or none, if they fit into one change: docs/data-model.md says
	// what each store takes at once. Else they are saved in parts, in their order; an
	// error comes with those that were saved before it. AP-63
	SaveEntities(ctx context.Context, saves []Save) ([]Entity, error)
	// EntitiesAt reads those of the keys, each of them once, that there are, in
	// any order. AP-64
	EntitiesAt(ctx context.Context, keys []EntityKey) ([]Entity, error)
	// Entity reads one. AP-2
	Entity(ctx context.Context, key EntityKey) (Entity, error)
	// ListEntities lists one kind in one scope, by id; env filters
	// infrastructure definitions ("" lists all). AP-3
	ListEntities(ctx context.Context, scope ref.Scope, kind ref.Kind, env string, page Page) ([]Entity, string, error)
	// Names lists what the entities of one kind in one scope are called, by id. What
	// is saved at the same moment may not be among them yet. AP-103
	Names(ctx context.Context, scope ref.Scope, kind ref.Kind) ([]EntityName, error)
	// DeleteEntity deletes the given version, and a secret's value with it,
	// unless something refers to it (fault.Referenced; Details name the
	// referrers). AP-4
	DeleteEntity(ctx context.Context, key EntityKey, version int64, a audit.Record) error
	// Referrers lists who names key. AP-5
	Referrers(ctx context.Context, key EntityKey, page Page) ([]EntityKey, string, error)
	// AccessVersion is how often documents of an account were saved or deleted
	// that have a say in who may do what (ref.OfAccess): each of these changes
	// counts in its own transaction, so that who has read the number and then the
	// documents knows them as long as it stays. AP-88
	AccessVersion(ctx context.Context, account string) (int64, error)
	// Judged gives the same entities to who has judged a change of such documents by
	// what they were at an access version: to save or delete one is
	// fault.StaleVersion, and changes nothing, once the version is another. AP-90
	Judged(access int64) Entities
}

// EntityName is what an entity is called.
type EntityName struct {
	Key  EntityKey
	Name string
}

// Interrupt is what a person asked of a running execution
// (semantics/pipeline §5.6).
type Interrupt string

// The interrupts. The zero value means none.
const (
	InterruptNone  Interrupt = ""
	InterruptAbort Interrupt = "Abort" // for good: none comes after it
	InterruptPause Interrupt = "Pause"
)

// Execution is one run of a pipeline.
type Execution struct {
	ID       string
	Scope    ref.Scope
	Pipeline string
	Name     string // the pipeline's name
	Sequence int64  // 1 for the pipeline's first execution; given by CreateExecution
	PlanHash string
	Status   plan.Status
	Message  string // why it failed, for people
	Inputs   json.RawMessage
	Actor    string
	RetryOf  string // the execution that this one repeats
	Resume   *Resume
	// RollbackOf is the execution that succeeded and that this one rolls back,
	// by its plan; its stages' states are taken over.
	RollbackOf string
	Parent     Holder // the step of a Pipeline stage that started it; none: a person or an event did
	// As is as whom it acts, which then must be allowed to use what it deploys with;
	// nil: as nobody in particular, who may.
	As *Identity
	// Override lets its stages begin although deployment freezes are active;
	// nil: none of them may.
	Override *Override
	// JudgesSteps says that policies were to be asked about the start of each step
	// when it began: who has none reads none.
	JudgesSteps bool
	// Preview says that it only compares what the pipeline would deploy with
	// what there is. It is none of the pipeline's executions: no list has it,
	// and its Sequence is what the next one gets.
	Preview   bool
	Interrupt Interrupt
	// Waits is what of it waits, and of the executions that it has chained. Commits alone
	// change it (Commit.Waits), without another Version: who decides about the execution
	// doesn't ask for it.
	Waits     Waits
	Version   int64
	StartedAt time.Time
	EndedAt   time.Time
	Deadline  time.Time // the pipeline's timeout
}

// Shown is its status as people see it in lists: that it is paused, or of one that runs
// what it waits for (semantics/pipeline §8.2).
func (e Execution) Shown() plan.Status {
	switch paused := e.Interrupt == InterruptPause; {
	case e.Status.Terminal():
		return e.Status
	case paused && (e.Waits.Held > 0 || e.Status != plan.Running):
		return plan.Paused
	case paused:
		return plan.Pausing
	case e.Status != plan.Running:
		return e.Status
	case e.Waits.Interventions > 0:
		return plan.InterventionWaiting
	case e.Waits.Approvals > 0:
		return plan.ApprovalWaiting
	case e.Waits.Inputs > 0:
		return plan.InputWaiting
	case e.Waits.Turns > 0:
		return plan.ResourceWaiting
	}
	return e.Status
}

// Waits counts the nodes of an execution that wait for a person, for their turn or for
// others, or until somebody lets a paused execution go on.
type Waits struct{ Approvals, Inputs, Interventions, Turns, Held int }

// Moved counts a node that had one state and now has another.
func (w *Waits) Moved(from, to plan.State) {
	w.count(from, -1)
	w.count(to, 1)
}

// Above is what of it counts for the execution whose step waits for this one's end: the
// pause of one isn't the other's.
func (w Waits) Above() Waits {
	w.Held = 0
	return w
}

func (w *Waits) count(s plan.State, n int) {
	if s.Wait == plan.WaitPause && !s.Status.Terminal() {
		w.Held += n
	}
	switch s.Status { //nolint:exhaustive // the others wait for nobody
	case plan.ApprovalWaiting:
		w.Approvals += n
	case plan.InputWaiting:
		w.Inputs += n
	case plan.InterventionWaiting:
		w.Interventions += n
	case plan.ResourceWaiting:
		w.Turns += n
	}
}

// Override is what somebody said who deploys in spite of freezes.
type Override struct {
	Reason string `json:"reason"`
	// Scopes are those whose freezes don't count, with those within them.
	Scopes []ref.Scope `json:"scopes"`
}

// Passes says whether the freezes of a scope don't count.
func (o *Override) Passes(scope ref.Scope) bool {
	return o != nil && slices.ContainsFunc(o.Scopes, func(s ref.Scope) bool { return s.Covers(scope) })
}

// Origin is the execution that has deployed what this one's steps are about:
// the one that is rolled back, else itself.
func (e Execution) Origin() string { return cmp.Or(e.RollbackOf, e.ID) }

// Resume says from where an execution goes on: stages before that one keep
// what they came to in the other execution (semantics/pipeline §8.4).
type Resume struct {
	Execution string `json:"execution"`
	Stage     string `json:"stage"`         // its identifier
	All       bool   `json:"all,omitempty"` // of a parallel block repeat stages that ended well, too
}

// Node is what has become of one node of an execution's plan.
type Node struct {
	Execution string
	ID        plan.NodeID
	Version   int64
	State     plan.State
}

// States are what has become of nodes, by their ids.
func States(nodes []Node) map[plan.NodeID]plan.State {
	states := make(map[plan.NodeID]plan.State, len(nodes))
	for _, n := range nodes {
		states[n.ID] = n.State
	}
	return states
}

// Commit is a set of changes of one execution that happen together or not at
// all. Each record's Version is the one that was read (0: new); it is stored
// as Version+1.
type Commit struct {
	Execution *Execution
	Nodes     []Node // at most 90
	// Opens is how many nodes loops bring that begin. Those of an execution add
	// up to Opens.Most, or nothing is changed (fault.TooLarge).
	Opens Opening
	// Keeps is how many bytes of large outputs nodes bring. Those of an execution
	// add up to Keeps.Most, or nothing is changed (ErrStuffed).
	Keeps Keeping
	// Waits is how many more, or fewer, of the execution's nodes wait.
	Waits Waits
	// Parent is the execution whose step waits for the end of this one, and so for what
	// it waits for (Waits.Above); empty: there is none.
	Parent string
	// Audit is appended to the trail with the changes, if a person made them.
	Audit *audit.Record
}

// Opening is how many nodes come into being, of an execution's share.
type Opening struct {
	Of    string // the execution whose share it is
	Nodes int    // 0: none
	Most  int    // in all, also by other commits
}

// Full is the error of a commit whose nodes have no room.
func (o Opening) Full() error {
	return fault.New(fault.TooLarge, "execution %q has no room for %d more nodes", o.Of, o.Nodes)
}

// Keeping is how many bytes of outputs come to those that an execution keeps.
type Keeping struct {
	Bytes int // 0: none
	Most  int // in all, also by other commits
}

// ErrStuffed is wrapped by the error of a commit whose outputs have no room.
var ErrStuffed = errors.New("it has no room for more outputs")

// Full is that error.
func (k Keeping) Full(execution string) error {
	return fault.New(fault.TooLarge, "execution %q keeps outputs of almost %d bytes: %w", execution, k.Most, ErrStuffed)
}

// ExecutionFilter says which executions are listed.
type ExecutionFilter struct {
	Scope    ref.Scope
	Pipeline string        // "" means all of the scope
	Since    time.Time     // those that began then or later; zero means all
	Before   time.Time     // those that began earlier; zero means all
	Statuses []plan.Status // those of which Shown is one of these; none means all
}

// Has says whether an execution has one of the statuses that are asked for.
func (f ExecutionFilter) Has(s plan.Status) bool {
	return len(f.Statuses) == 0 || slices.Contains(f.Statuses, s)
}

// Executions keeps executions, their plans and their nodes.
type Executions interface {
	// CreateExecution stores an execution, its plan under its hash (unless it
	// is there) and its audit record, and gives it the pipeline's next sequence
	// number, which a preview leaves to others. The same ID again gives back
	// what is stored. AP-6
	CreateExecution(ctx context.Context, e Execution, planDoc []byte, a audit.Record) (Execution, error)
	// Execution reads one. AP-7
	Execution(ctx context.Context, id string) (Execution, error)
	// ListExecutions lists those of exactly one scope, newest first. A page of a
	// list by status may have fewer than its limit although more follow. AP-8
	ListExecutions(ctx context.Context, f ExecutionFilter, page Page) ([]Execution, string, error)
	// RunningExecutions lists those that haven't ended and began before a time,
	// of every scope, oldest first; for repairs. AP-39
	RunningExecutions(ctx context.Context, before time.Time, page Page) ([]Execution, string, error)
	// Plan reads a plan document by its hash. AP-9
	Plan(ctx context.Context, hash string) ([]byte, error)
	// Nodes reads the named nodes of an execution, each once; a node without a
	// record is left out. AP-10
	Nodes(ctx context.Context, execution string, ids ...plan.NodeID) ([]Node, error)
	// AllNodes reads every node record of an execution, for people. AP-11
	AllNodes(ctx context.Context, execution string) ([]Node, error)
	// ChangedNodes is AllNodes without those that have the given version still, for
	// whoever looks again and again: what hasn't changed isn't decoded. AP-99
	ChangedNodes(ctx context.Context, execution string, have map[plan.NodeID]int64) ([]Node, error)
	// CommitExecution applies the changes, all or none; fault.StaleVersion if
	// one of them was made from an old version, fault.TooLarge if the nodes that
	// it opens or the outputs that it keeps are too many. AP-12
	CommitExecution(ctx context.Context, id string, c Commit) error
	// SetInterrupt marks the execution unless it has ended or is being aborted
	// (fault.Conflict) and appends the audit record. The same interrupt again is
	// no change. AP-13
	SetInterrupt(ctx context.Context, id string, i Interrupt, a audit.Record) (Execution, error)
}

// Holder is a node of an execution: who holds a turn or waits for it, or for
// the end of another execution.
type Holder struct {
	Execution string
	Node      plan.NodeID
}

// Turns keeps, for what only one or a few may use at a time, who asked for it,
// in that order (semantics/pipeline §7.2 and §8.3). The first ones hold it.
type Turns interface {
	// TakeTurn puts h at the end of a key's queue, unless it is in it, and
	// gives the queue. AP-40
	TakeTurn(ctx context.Context, key string, h Holder) ([]Holder, error)
	// EndTurn takes h out of a key's queue, if it is in it, and gives what is
	// left. AP-41
	EndTurn(ctx context.Context, key string, h Holder) ([]Holder, error)
}

// TaskStatus is the life of a delegate task: Open, Claimed, then one of the others.
type TaskStatus string

// The task statuses.
const (
	TaskOpen      TaskStatus = "Open"
	TaskClaimed   TaskStatus = "Claimed"
	TaskDone      TaskStatus = "Done"
	TaskCancelled TaskStatus = "Cancelled" // a result that comes later is refused
)

// Task is a piece of work for a delegate. Its JSON is what never changes and no
// condition asks for: a store keeps that as one document, and the rest by name.
type Task struct {
	ID          task.ID                      `json:"-"`
	Scope       ref.Scope                    `json:"scope"` // of the execution: which delegates may see it
	Execution   string                       `json:"execution"`
	Node        plan.NodeID                  `json:"node"`
	Attempt     int                          `json:"attempt"`
	Look        int                          `json:"look,omitempty"` // plan.State.Look when it was made
	Kind        task.Kind                    `json:"kind"`
	Selectors   []string                     `json:"selectors,omitempty"`
	Payload     json.RawMessage              `json:"-"`                 // holds placeholders where secrets go
	Secrets     map[string]string            `json:"secrets,omitempty"` // placeholder -> scoped secret reference; never a value
	LateSecrets map[string]task.LateSecret   `json:"pulls,omitempty"`
	LateTexts   map[string]task.LateText     `json:"texts,omitempty"`
	Identities  map[string]identity.Identity `json:"identities,omitempty"` // by the names that the payload has for them; a claim signs them
	Timeout     time.Duration                `json:"timeout"`              // of the work, from the claim on
	LogStream   string                       `json:"log"`
	Token       string                       `json:"-"` // of the state machine's wait
	Status      TaskStatus                   `json:"-"`
	Delegate    string                       `json:"-"` // who holds it
	Claim       int64                        `json:"-"` // the number of its holder's claim that got it
	Fence       int64                        `json:"-"` // 1 for the first claim
	LeaseUntil  time.Time                    `json:"-"`
	Result      *task.Result                 `json:"-"`
	CreatedAt   time.Time                    `json:"-"`
	Traceparent string                       `json:"trace,omitempty"`
	// Machine is the only one whose delegates may take it; empty: any. Tools must
	// be on it, see dispatch.Has.
	Machine string   `json:"machine,omitempty"`
	Tools   []string `json:"tools,omitempty"`
	// LogFrom is how many chunks of its log are for what is said before it.
	LogFrom int64 `json:"logFrom,omitempty"`
}

// Tasks keeps work for delegates. A task's payload is for who reads it alone
// or claims it: only Task and ClaimTasks are sure to give it back, so that a
// heartbeat doesn't carry it.
type Tasks interface {
	// CreateTask stores a task. If the ID exists and it is still open or
	// claimed, only its Token is replaced; what is stored is given back. AP-14
	CreateTask(ctx context.Context, t Task) (Task, error)
	// Task reads one. AP-15
	Task(ctx context.Context, id task.ID) (Task, error)
	// OpenTasks lists tasks of the account that nobody has claimed, oldest
	// first. The caller filters by scope and selectors. AP-16
	OpenTasks(ctx context.Context, account string, page Page) ([]Task, string, error)
	// ClaimTasks gives those of ids that are still open to the delegate, in
	// one round trip; the ones that somebody else got are left out. claim is the
	// delegate's number for it. After an error no task is meant to be claimed: one
	// that may be all the same is found by that number. AP-17
	ClaimTasks(ctx context.Context, delegate string, claim int64, ids []task.ID, leaseUntil time.Time) ([]Task, error)
	// RenewTask extends a lease: fault.LeaseLost if it isn't the delegate's with
	// that fence. A cancelled task is given back with its status. AP-18
	RenewTask(ctx context.Context, id task.ID, delegate string, fence int64, leaseUntil time.Time) (Task, error)
	// CompleteTask stores the result for the holder of the fence. The same
	// holder again gets what was stored first. fault.LeaseLost otherwise. AP-19
	CompleteTask(ctx context.Context, id task.ID, delegate string, fence int64, r task.Result) (Task, error)
	// CancelTask ends a task that has no result yet; one that has ended already
	// is given back unchanged. AP-20
	CancelTask(ctx context.Context, id task.ID) (Task, error)
	// ReleaseTask gives a claimed task back unstarted: open again, fence kept. AP-21
	ReleaseTask(ctx context.Context, id task.ID, delegate string, fence int64) error
	// DelegateTasks lists what a delegate holds. AP-22
	DelegateTasks(ctx context.Context, delegate string) ([]Task, error)
}

// Delegate is one connected agent.
type Delegate struct {
	ID        string    // made by the delegate at its start
	Scope     ref.Scope // of its token
	Name      string
	Host      string
	Tags      []string
	Version   string
	Kinds     []task.Kind
	Capacity  int
	Running   int
	Draining  bool
	TokenID   string
	LastSeen  time.Time
	Quiet     time.Duration // that it said it will be silent from then on, its socket being open
	StartedAt time.Time
	Line      int64 // the number of the socket that it relied on when it last announced silence
	Unplugged int64 // the number of the latest socket that has closed
	// Binding is its token's: its name and its tags are proved. What it says its
	// host is isn't. nil: nothing is proved.
	Binding *Binding
	// Machine and Tools are as in protocol.Register.
	Machine string
	Tools   []string
}

// Beat is a delegate's sign of life.
type Beat struct {
	At       time.Time
	Running  int
	Draining bool // once it was said, it stays so
	Quiet    time.Duration
	// Line is the number of the socket that Quiet relies on; 0: of a delegate that
	// doesn't number them.
	Line int64
}

// Heard is the delegate after a beat. A silence that relies on a socket which
// has closed meanwhile isn't believed.
func (d Delegate) Heard(b Beat) Delegate {
	d.LastSeen, d.Running, d.Draining, d.Quiet = b.At, b.Running, d.Draining || b.Draining, b.Quiet
	if b.Quiet > 0 && b.Line > 0 {
		d.Line = b.Line
		if b.Line <= d.Unplugged {
			d.Quiet = 0
		}
	}
	return d
}

// Unplug is the delegate after its socket of that number has closed: from now
// on it beats, or is gone. A socket that it has replaced says nothing.
func (d Delegate) Unplug(line int64, at time.Time) Delegate {
	if d.Line <= line || line == 0 {
		d.LastSeen, d.Quiet, d.Unplugged = at, 0, max(d.Unplugged, line)
	}
	return d
}

// Delegates keeps who is connected.
type Delegates interface {
	// PutDelegate registers one, in place of itself; fault.Forbidden if one of
	// that id registered with another token. AP-23
	PutDelegate(ctx context.Context, d Delegate) error
	// BeatDelegate takes in a sign of life (Delegate.Heard) and changes nothing
	// else; fault.NotFound if the delegate was forgotten. AP-61
	BeatDelegate(ctx context.Context, account, id string, b Beat) error
	// UnplugDelegate takes in that a socket of the delegate has closed
	// (Delegate.Unplug). One that was forgotten is no error. AP-62
	UnplugDelegate(ctx context.Context, account, id string, line int64, at time.Time) error
	// ListDelegates lists those of an account seen since the given time. AP-24
	ListDelegates(ctx context.Context, account string, since time.Time) ([]Delegate, error)
	// Delegate reads one. AP-25
	Delegate(ctx context.Context, account, id string) (Delegate, error)
	// DeleteDelegate forgets one that said goodbye. AP-26
	DeleteDelegate(ctx context.Context, account, id string) error
}

// Connection is an open WebSocket of a delegate, where API Gateway holds it.
type Connection struct {
	ID       string // API Gateway's
	Delegate string
	Scope    ref.Scope // of the delegate's token
	Line     int64     // the delegate's number for it; 0: it doesn't number them
	Opened   time.Time
}

// Connections keeps who is connected, of each delegate the latest connection.
// It is no part of Store: on one machine the process that holds the sockets
// knows them.
type Connections interface {
	// PutConnection stores a delegate's connection, in place of an older one. AP-42
	PutConnection(ctx context.Context, c Connection) error
	// Connections lists an account's. AP-43
	Connections(ctx context.Context, account string) ([]Connection, error)
	// DeleteConnection forgets a connection, unless the delegate has another by
	// now. AP-44
	DeleteConnection(ctx context.Context, c Connection) error
}

// Viewer is an open WebSocket of a page that hears of executions, where API
// Gateway holds it.
type Viewer struct {
	ID        string    // API Gateway's
	Token     string    // the id of the one by which it is known whose page it is
	Since     time.Time // when that one was made: another may have its id later
	Scope     ref.Scope // of whose executions it hears
	Execution string    // of which it hears alone; empty: of all
	Address   string    // from where it came, for IP allow lists
	Opened    time.Time
}

// Viewers keeps which pages hear of executions. It is no part of Store, as
// Connections isn't.
type Viewers interface {
	// PutViewer stores one. AP-100
	PutViewer(ctx context.Context, v Viewer) error
	// Viewers lists an account's. AP-101
	Viewers(ctx context.Context, account string) ([]Viewer, error)
	// DeleteViewer forgets one; it says whether there was one. AP-102
	DeleteViewer(ctx context.Context, account, id string) (bool, error)
}

// Secret is an encrypted value. The definition (secret.yaml) is an entity.
type Secret struct {
	Key        EntityKey
	Ciphertext []byte
	UpdatedAt  time.Time
}

// Secrets keeps ciphertexts; pkg/secret encrypts and decrypts.
type Secrets interface {
	// PutSecret stores a ciphertext. AP-27
	PutSecret(ctx context.Context, s Secret) error
	// Secret reads one. AP-28
	Secret(ctx context.Context, key EntityKey) (Secret, error)
}

// Checkpoint is what a task found before it changed it, for the rollback of its
// stage.
type Checkpoint struct {
	Execution string
	Stage     plan.NodeID
	Key       string // of the resource; a stage has one of each
	Step      plan.NodeID
	Task      task.ID
	At        time.Time
	Data      []byte // sealed
}

// Checkpoints keeps what was there before a stage changed it.
type Checkpoints interface {
	// KeepCheckpoint stores a checkpoint for the holder of its task's fence, unless
	// its stage has one of the key, and gives the one that the stage has:
	// fault.LeaseLost if the task isn't the delegate's with that fence; fault.TooLarge
	// if those of the stage would have more than most bytes together. AP-66
	KeepCheckpoint(ctx context.Context, c Checkpoint, delegate string, fence, most int64) (Checkpoint, error)
	// ListCheckpoints lists those of a stage, the newest first. AP-67
	ListCheckpoints(ctx context.Context, execution string, stage plan.NodeID) ([]Checkpoint, error)
}

// Size is how many bytes of its stage's a checkpoint takes.
func (c Checkpoint) Size() int64 { return int64(len(c.Key) + len(c.Data) + task.CheckpointCost) }

// CheckpointsFull is the error of a checkpoint that its stage has no room for.
func CheckpointsFull(stage plan.NodeID, most int64) error {
	return fault.New(fault.TooLarge, "what stage %s has found before its changes would have more than %d bytes, which is the most that is kept for a rollback", stage, most)
}

// ProvisionerKey names a provisioner: what steps of a project make by one
// identifier, in one workspace where the tool has such.
type ProvisionerKey struct {
	Scope      ref.Scope
	Kind       task.Kind
	Identifier string
	Workspace  string
}

// String names it for people, e.g. "cloudformation/web", with its workspace behind.
func (k ProvisionerKey) String() string {
	return strings.TrimSuffix(string(k.Kind)+"/"+k.Identifier+"/"+k.Workspace, "/")
}

// Provision is what one execution has done by a provisioner. A provisioner has
// one of each execution.
type Provision struct {
	Key       ProvisionerKey
	Execution string
	Version   int64 // 0: it isn't stored
	Step      plan.NodeID
	Task      task.ID
	Status    provision.Status
	At        time.Time
	Place     []byte // JSON without secrets
	Before    []byte // sealed
	Inputs    []byte // sealed
}

// Provisions keeps what was made by provisioners. Executions come and go; what
// they made stays.
type Provisions interface {
	// SaveProvision stores what an execution has done as p.Version+1, for the
	// holder of its task's fence, and forgets what some other executions have:
	// fault.LeaseLost if the task isn't the delegate's with that fence,
	// fault.StaleVersion unless p.Version is the stored one (0: none). AP-68
	SaveProvision(ctx context.Context, p Provision, delegate string, fence int64, forget []string) (Provision, error)
	// ListProvisions lists what executions have done by a provisioner, the newest
	// first. AP-69
	ListProvisions(ctx context.Context, key ProvisionerKey) ([]Provision, error)
	// ListProvisioners lists what was done last by each provisioner of a scope,
	// without what is sealed of it, by kind, identifier and workspace. AP-73
	ListProvisioners(ctx context.Context, scope ref.Scope, page Page) ([]Provision, string, error)
	// ForgetProvisions deletes what executions have done by a provisioner, and
	// enters the record: fault.StaleVersion, and all of it stays, if one isn't of
	// its version any more. AP-74
	ForgetProvisions(ctx context.Context, known []Provision, a audit.Record) error
}

// LogChunk is a numbered piece of a step's log, masked before it came here.
type LogChunk struct {
	Stream string
	Number int64  // 0, 1, 2, ... given by the writer
	Data   []byte // whole lines of JSON, see pkg/logstream
}

// LogFull is the error of chunks that a log has no room for.
func LogFull(stream string, most int64) error {
	return fault.New(fault.TooLarge, "the log %s would have more than %d bytes, which is the most that is kept of one", stream, most)
}

// Logs keeps step logs.
type Logs interface {
	// AppendLog stores chunks of a stream; a number that is there already is kept
	// as it is. fault.TooLarge, and nothing is stored, if the stream would have
	// more than most bytes; what comes again may count again. AP-30
	AppendLog(ctx context.Context, most int64, chunks ...LogChunk) error
	// ReadLog reads chunks from a number on. AP-31
	ReadLog(ctx context.Context, stream string, from int64, limit int) ([]LogChunk, error)
	// LogEnd reads the last chunks before a number, the last one first. AP-104
	LogEnd(ctx context.Context, stream string, before int64, limit int) ([]LogChunk, error)
}

// Audits reads the audit trail; records are appended by the changes themselves.
type Audits interface {
	// AppendAudit appends a record that belongs to no other change. AP-32
	AppendAudit(ctx context.Context, a audit.Record) (audit.Record, error)
	// AppendAuditOnce is AppendAudit unless a record was appended under the key
	// before, which is remembered until expires; keys of answers are others. AP-65
	AppendAuditOnce(ctx context.Context, a audit.Record, key string, expires time.Time) error
	// ListAudit lists an account's records by sequence from a number on. AP-33
	ListAudit(ctx context.Context, account string, from int64, limit int) ([]audit.Record, error)
	// LastAudit is the sequence of an account's last record; 0: it has none. What
	// waits to enter the trail isn't counted. AP-89
	LastAudit(ctx context.Context, account string) (int64, error)
	// RemovedAudit is the place of the last record that was removed from the
	// beginning of an account's trail; zero: none was. Of those up to it some may
	// still be there. AP-91
	RemovedAudit(ctx context.Context, account string) (audit.Place, error)
	// TrimAudit removes an account's records up to a place. First it appends a, in
	// one transaction with what RemovedAudit tells, unless they were removed before;
	// then it deletes all of them, also what another one has left. AP-92
	TrimAudit(ctx context.Context, account string, upTo audit.Place, a audit.Record) error
}

// Stream is how far an account's trail has come to one of its destinations.
type Stream struct {
	Account     string
	Destination string    // its identifier
	Version     int64     // 0: nothing was ever sent or tried
	Made        time.Time // when the destination was created: another one of its name begins anew
	Document    int64     // the version of its document by which was sent last
	Sequence    int64     // of the last record that it has taken
	Sent        time.Time // when it has taken one
	Failures    int       // on end, since then
	Failed      time.Time // the first of them
	Error       string    // of the last of them
	Next        time.Time // not before, unless the document changes
}

// Streams keeps how far trails have come.
type Streams interface {
	// Stream reads that of a destination; of version 0, if there is none. AP-93
	Stream(ctx context.Context, account, destination string) (Stream, error)
	// SaveStream writes s if the stored version is s.Version, as s.Version+1;
	// fault.StaleVersion otherwise. AP-94
	SaveStream(ctx context.Context, s Stream) (Stream, error)
}

// AccessToken is a credential; only its hash is kept.
type AccessToken struct {
	ID        string
	Hash      []byte // SHA-256 of the whole token
	Kind      TokenKind
	Scope     ref.Scope
	Name      string
	Actor     string // who the bearer is, for audits
	Revoked   bool
	CreatedAt time.Time
	// Binding is what the delegates of the token may be; nil: what they say.
	Binding *Binding
	// Of is the token that a session was opened with: the session has its rights
	// and ends with it. Other kinds have none, nor has one of who logged in by a
	// provider.
	Of string
	// ExpiresAt is when it opens nothing any more; zero: never.
	ExpiresAt time.Time
	// Principal is the user or the service account whose token it is: it may what
	// that one may, within Scope. None: everything within Scope.
	Principal EntityKey
	// Login is how the bearer has logged in, if the token comes of that.
	Login LoggedIn
	// LastUsed is the day, in UTC, on which the token opened something last;
	// zero: never. It is exact to the day, so that a day costs one write.
	LastUsed time.Time
}

// Seen is when it was last kept that the token was used: at the latest when it was made.
func (t AccessToken) Seen() time.Time {
	if t.LastUsed.After(t.CreatedAt) {
		return t.LastUsed
	}
	return t.CreatedAt
}

// LoggedIn is how somebody has logged in. Its zero value is not at all.
type LoggedIn struct {
	Provider string   `json:"provider,omitempty"` // the login provider; local: by a password of Slipway's
	AMR      []string `json:"amr,omitempty"`      // what the provider said of how, e.g. pwd, otp, mfa (RFC 8176)
}

// Identity is as whom a token lets its bearer act.
func (t AccessToken) Identity() Identity {
	return Identity{Principal: t.Principal, Within: t.Scope, Since: t.CreatedAt}
}

// Identity is as whom something is done: a principal, within a scope. It has
// what the principal has by roles at that moment.
type Identity struct {
	Principal EntityKey `json:"principal,omitzero"` // none: it may do everything within the scope
	Within    ref.Scope `json:"within"`
	// Since is when the principal was proved. One that was saved later is another,
	// of the same name.
	Since time.Time `json:"since,omitzero"`
}

// Binding is what delegates may say of themselves: the token's name is theirs,
// and they have some of these tags, or all of them if they say none.
type Binding struct {
	Tags []string `json:"tags" nullable:"false" doc:"None: no tags at all"`
	// NamedSecrets: of the secrets that fetched files name, they are given only
	// those that documents name as well.
	NamedSecrets bool `json:"namedSecrets,omitempty" doc:"Of the secrets that fetched files name, they are given only those that documents name as well"`
}

// TokenKind says what a token opens.
type TokenKind string

// The kinds of token.
const (
	TokenUser     TokenKind = "user"     // the API
	TokenDelegate TokenKind = "delegate" // delegate endpoints
	TokenSession  TokenKind = "session"  // the API, for the console in a browser
)

// Keys keeps credentials and idempotency keys.
type Keys interface {
	// PutToken stores a token; the same ID is replaced. AP-34
	PutToken(ctx context.Context, t AccessToken) error
	// Token reads one by ID. AP-35
	Token(ctx context.Context, id string) (AccessToken, error)
	// UseToken keeps that a token was used on a day, at its beginning in UTC, or a
	// session at a moment, if none as late is kept. It changes nothing else of the token, so that whoever
	// revokes it meanwhile isn't overtaken; one that isn't there stays so. AP-98
	UseToken(ctx context.Context, id string, day time.Time) error
	// ListTokens lists an account's tokens of a kind. AP-36
	ListTokens(ctx context.Context, account string, kind TokenKind) ([]AccessToken, error)
	// PutAnswer stores the answer to an idempotency key until expires, unless
	// there is one: then that one is given back, with false. AP-37
	PutAnswer(ctx context.Context, a Answer) (Answer, bool, error)
	// Answer reads one; fault.NotFound if it has expired at now, and then its
	// key can be used again. AP-38
	Answer(ctx context.Context, key string, now time.Time) (Answer, error)
}

// Answer is what was answered to a request with an idempotency key.
type Answer struct {
	Key         string // account, actor, route and the client's key; of a notification, what it tells whom; of a start, what else begins it; of a key of tokens, its year
	RequestHash []byte // of the body: the same key with another body is a conflict
	Status      int
	Body        []byte
	Expires     time.Time
}

// Change is what a write did that others want to hear of: an execution or a
// node got another status, the audit trail a record, or a trigger a fire that
// failed. One of the four is set, as the write left it.
type Change struct {
	Position  int64 // on one machine: of the change among all; else 0
	At        time.Time
	Before    plan.Status // of the execution or the node; empty if it is new
	Execution *Execution
	Node      *Node
	Audit     *audit.Record
	Fire      *Fire
}

// Changes keeps what subscribers haven't taken in. Each change is kept with
// the write that makes it, all or none. It is no part of Store: on AWS the
// table's stream brings the same changes.
type Changes interface {
	// Changes lists what a subscriber hasn't taken in, in the order in which
	// it happened. AP-45
	Changes(ctx context.Context, subscriber string, limit int) ([]Change, error)
	// TakeIn says that a subscriber has taken in a change and all before it.
	// What all of the subscribers have taken in is forgotten. AP-46
	TakeIn(ctx context.Context, subscriber string, position int64, all []string) error
}

// Interruptible says whether an execution may be given an interrupt
// (SetInterrupt); the same one again isn't asked about.
func Interruptible(e Execution) error {
	switch {
	case e.Status.Terminal():
		return fault.New(fault.Conflict, "execution %q has ended already: it is %s", e.ID, e.Status)
	case e.Interrupt == InterruptAbort:
		return fault.New(fault.Conflict, "execution %q is being aborted", e.ID)
	}
	return nil
}

// Stale is the error of a lost version condition.
func Stale(what string, have int64) error {
	return fault.New(fault.StaleVersion, "%s was changed by somebody else since version %d", what, have)
}

// JudgedLate is the error of a change that was judged by what isn't so any more.
func JudgedLate() error {
	return fault.New(fault.StaleVersion, "who may do what was changed by somebody else meanwhile")
}

// FireOutcome is what became of a trigger's event.
type FireOutcome string

// The outcomes.
const (
	FireStarted FireOutcome = "Started" // an execution
	FireFailed  FireOutcome = "Failed"  // nothing could be started
	FireSkipped FireOutcome = "Skipped" // a condition didn't hold
	// FireRejected: it would have started something, but a deployment freeze is active.
	FireRejected FireOutcome = "Rejected"
)

// Fire is one event that concerned a trigger.
type Fire struct {
	Trigger   EntityKey
	ID        string // of the event: of the delivery, or the minute
	At        time.Time
	Outcome   FireOutcome
	Reason    string // of what didn't start
	Execution string // that started
	// Subject is what the event was about, e.g. a branch: a later one about the
	// same supersedes it. May be empty.
	Subject string
}

// FiresKept is how long a fire is kept.
const FiresKept = 30 * 24 * time.Hour

// Fires keeps the history of triggers.
type Fires interface {
	// PutFire stores a fire; the same id at the same time is replaced. AP-47
	PutFire(ctx context.Context, f Fire) error
	// ListFires lists a trigger's since a time, newest first. AP-48
	ListFires(ctx context.Context, trigger EntityKey, since time.Time, page Page) ([]Fire, string, error)
}

// Polls keeps how far triggers have come with asking for new versions.
type Polls interface {
	// SavePoll writes p if the stored version is p.Version (0: it must not exist),
	// as p.Version+1; fault.StaleVersion otherwise. AP-70
	SavePoll(ctx context.Context, p Poll) (Poll, error)
	// Poll reads that of a trigger. AP-71
	Poll(ctx context.Context, trigger EntityKey) (Poll, error)
	// DeletePoll forgets it. None there is no error. AP-72
	DeletePoll(ctx context.Context, trigger EntityKey) error
}

// EvaluationsOf says which evaluations are listed: those of a scope itself or, of
// an execution, all.
type EvaluationsOf struct {
	Scope     ref.Scope
	Execution string // empty: those of the scope
}

// Evaluations keeps what policies came to, until each expires.
type Evaluations interface {
	// KeepEvaluation keeps an evaluation with its input, unless there is one with
	// its id: the first one stays. AP-95
	KeepEvaluation(ctx context.Context, e policy.Evaluation, input []byte) error
	// Evaluation reads one with its input; fault.NotFound if it has expired at a
	// time. AP-96
	Evaluation(ctx context.Context, account, id string, now time.Time) (policy.Evaluation, []byte, error)
	// ListEvaluations lists those that haven't expired at a time, newest first. AP-97
	ListEvaluations(ctx context.Context, of EvaluationsOf, now time.Time, page Page) ([]policy.Evaluation, string, error)
}

// NoEvaluation is the error of one that isn't there.
func NoEvaluation(id string) error { return fault.New(fault.NotFound, "there is no evaluation %q", id) }

// Placements keeps what runs where (docs/instances.md). One that has expired
// (Placement.Expires) may still be given, or be gone.
type Placements interface {
	// SavePlacement writes p if the stored version is p.Version (0: it must not
	// exist), as p.Version+1; fault.StaleVersion otherwise. A moment of its
	// service's history is kept with it, if one is given. AP-49
	SavePlacement(ctx context.Context, p Placement, h *Moment) (Placement, error)
	// Placement reads one. AP-50
	Placement(ctx context.Context, key PlacementKey) (Placement, error)
	// ListPlacements lists those of a scope, or of one of its services (service
	// ""), by service, environment, infrastructure and target; environment
	// filters ("" lists all). AP-51
	ListPlacements(ctx context.Context, scope ref.Scope, service, environment string, page Page) ([]Placement, string, error)
	// WatchList lists an account's placements with who watches them. It may lag
	// behind the last changes. AP-52
	WatchList(ctx context.Context, account string, page Page) ([]WatchedPlacement, string, error)
	// DeletePlacement forgets one of the given version; fault.StaleVersion
	// otherwise. None there is no error. AP-53
	DeletePlacement(ctx context.Context, key PlacementKey, version int64) error
	// ListMoments lists a service's history since a time, newest first. AP-54
	ListMoments(ctx context.Context, scope ref.Scope, service string, since time.Time, page Page) ([]Moment, string, error)
}

// Files keeps the file store.
type Files interface {
	// SaveFile writes a file with its content if the stored version is
	// f.Version (0: it must not exist), stores it as f.Version+1 and appends the
	// audit record in the same transaction. fault.StaleVersion otherwise. AP-55
	SaveFile(ctx context.Context, f File, content []byte, a audit.Record) (File, error)
	// File reads what is known of one. AP-56
	File(ctx context.Context, key ref.File) (File, error)
	// FileContent reads one with its content. AP-57
	FileContent(ctx context.Context, key ref.File) (File, []byte, error)
	// ListFiles lists the files of a folder and of those in it, by path. AP-58
	ListFiles(ctx context.Context, folder ref.File, page Page) ([]File, string, error)
	// DeleteFile deletes the given version and appends the audit record;
	// fault.StaleVersion if it is another. fault.Referenced if entities name the
	// file or a folder that it is in (Details name them), unless forced. AP-59
	DeleteFile(ctx context.Context, key ref.File, version int64, forced bool, a audit.Record) error
	// PastFiles lists past versions that were there at a moment: of a file, and of
	// those in the folder of that path. AP-60
	PastFiles(ctx context.Context, of ref.File, at time.Time) ([]File, error)
	// PastContent reads the content of a past version. AP-29
	PastContent(ctx context.Context, f File) ([]byte, error)
}

// GitOps keeps what GitOps agents report, and what they are asked. What they are
// to keep is entities.
type GitOps interface {
	// SaveGitOpsLink writes l if the stored version is l.Version (0: it must not
	// exist), as l.Version+1; fault.StaleVersion otherwise. AP-75
	SaveGitOpsLink(ctx context.Context, l GitOpsLink) (GitOpsLink, error)
	// GitOpsLink reads that of an agent. AP-76
	GitOpsLink(ctx context.Context, agent ref.Ref) (GitOpsLink, error)
	// ListGitOpsLinks lists those of an account, by agent. AP-77
	ListGitOpsLinks(ctx context.Context, account string) ([]GitOpsLink, error)
	// ForgetGitOps deletes the link of an agent and what is known of its
	// applications. None there is no error. AP-78
	ForgetGitOps(ctx context.Context, agent ref.Ref) error
	// PutGitOpsApp stores what is known of an application, unless somebody with a
	// higher fence has: fault.LeaseLost. AP-79
	PutGitOpsApp(ctx context.Context, a GitOpsApp) error
	// GitOpsApps reads those of an agent's applications that are known. AP-80
	GitOpsApps(ctx context.Context, agent ref.Ref, keys []protocol.AppKey) ([]GitOpsApp, error)
	// DeleteGitOpsApp forgets one, and its history with it. None there is no error. AP-81
	DeleteGitOpsApp(ctx context.Context, agent ref.Ref, key protocol.AppKey) error
	// PutGitOpsHistory keeps that an application was synced; the same one is
	// replaced. AP-82
	PutGitOpsHistory(ctx context.Context, agent ref.Ref, h protocol.History) error
	// ListGitOpsHistory lists how an application was synced, newest first. AP-83
	ListGitOpsHistory(ctx context.Context, agent ref.Ref, key protocol.AppKey, page Page) ([]protocol.History, string, error)
	// AskGitOps keeps a new request and appends the record. AP-84
	AskGitOps(ctx context.Context, r GitOpsRequest, a audit.Record) error
	// OpenGitOps lists the requests to an agent that nobody has answered, oldest
	// first. AP-85
	OpenGitOps(ctx context.Context, agent ref.Ref) ([]GitOpsRequest, error)
	// GitOpsRequest reads one, until its answer is forgotten. AP-86
	GitOpsRequest(ctx context.Context, agent ref.Ref, id string) (GitOpsRequest, error)
	// AnswerGitOps keeps the first answer to a request until a time. AP-87
	AnswerGitOps(ctx context.Context, agent ref.Ref, id string, r protocol.Result, until time.Time) error
}
