package dynamo

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// key is where an item is. Every key of the table is made in this file.
type key struct{ pk, sk string }

// Keys of several parts are joined with "#", which sorts before everything
// that an identifier may hold, so that keys sort like their parts.
const separator = "#"

func join(parts ...string) string {
	escaped := make([]string, len(parts))
	for i, p := range parts {
		escaped[i] = strings.ReplaceAll(strings.ReplaceAll(p, "%", "%25"), separator, "%23")
	}
	return strings.Join(escaped, separator)
}

func split(joined string, n int) ([]string, error) {
	parts := strings.Split(joined, separator)
	if len(parts) != n {
		return nil, fmt.Errorf("key %q has %d parts, want %d", joined, len(parts), n)
	}
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "%23", separator), "%25", "%")
	}
	return parts, nil
}

// AP-1 to AP-5.

func entitiesPK(s ref.Scope, k ref.Kind) string {
	return join("E", s.Account, s.Org, s.Project, string(k))
}

// entityAt ends with the environment, so that a kind's entities sort by id.
func entityAt(k store.EntityKey) key { return key{entitiesPK(k.Scope, k.Kind), join(k.ID, k.Env)} }

// entityText is an entity's key within other keys, and as others name it.
func entityText(k store.EntityKey) string {
	return join(k.Scope.Account, k.Scope.Org, k.Scope.Project, string(k.Kind), k.ID, k.Env)
}

func parseEntity(text string) (store.EntityKey, error) {
	p, err := split(text, 6)
	if err != nil {
		return store.EntityKey{}, err
	}
	return store.EntityKey{Scope: ref.Scope{Account: p[0], Org: p[1], Project: p[2]}, Kind: ref.Kind(p[3]), ID: p[4], Env: p[5]}, nil
}

func accessVersionAt(account string) key { return key{join("AV", account), "v"} }

func referrersPK(target string) string      { return "R#" + target }
func referenceAt(target, source string) key { return key{referrersPK(target), source} }
func referenceCountAt(target string) key    { return key{"C#" + target, "c"} }
func pollAt(trigger store.EntityKey) key    { return key{"C#" + entityText(trigger), "poll"} }
func secretAt(k store.EntityKey) key        { return key{"V#" + entityText(k), "v"} }
func sequenceAt(s ref.Scope, pipe string) key {
	return key{join("S", s.Account, s.Org, s.Project, pipe), "s"}
}
func planAt(hash string) key       { return key{join("P", hash), "p"} }
func executionPK(id string) string { return join("X", id) }
func executionAt(id string) key    { return key{executionPK(id), "x"} }

// openedAt counts the nodes that an execution's loops have brought.
func openedAt(execution string) key { return key{executionPK(execution), "opened"} }

// keptAt counts the bytes of large outputs that an execution keeps.
func keptAt(execution string) key { return key{executionPK(execution), "kept"} }

func nodeAt(execution string, n plan.NodeID) key {
	return key{executionPK(execution), nodePrefix + string(n)}
}

const nodePrefix = "n#"

// runningPK is of index 2.
const runningPK = "RUN"

// A list of executions is of a scope (pipeline is "") or of one of its
// pipelines. It is cut by month, so that no key grows for ever, and has a
// directory of the months that it has.

func monthsPK(s ref.Scope, pipeline string) string {
	return join("M", s.Account, s.Org, s.Project, pipeline)
}

func monthPK(s ref.Scope, pipeline, month string) string {
	return join("L", s.Account, s.Org, s.Project, pipeline, month)
}

func monthOf(t time.Time) string { return fromMillis(millis(t)).UTC().Format("200601") }

// momentText is a place in a list by time.
func momentText(at time.Time, id string) string {
	return fmt.Sprintf("%015d%s%s", millis(at), separator, id)
}

// momentMonth is the month of a moment, as monthOf gives it.
func momentMonth(moment string) (string, error) {
	var ms int64
	if _, err := fmt.Sscanf(moment, "%d"+separator, &ms); err != nil {
		return "", fmt.Errorf("%q isn't a place in a list by time: %w", moment, err)
	}
	return monthOf(fromMillis(ms)), nil
}

// momentID is what stands at a moment.
func momentID(moment string) string {
	_, id, _ := strings.Cut(moment, separator)
	return id
}

// AP-14 to AP-22. The payload is an item of its own: it never changes, and a
// heartbeat shouldn't pay for its size.

func taskPK(id task.ID) string      { return join("T", string(id)) }
func taskAt(id task.ID) key         { return key{taskPK(id), "t"} }
func payloadAt(id task.ID) key      { return key{taskPK(id), "p"} }
func openPK(account string) string  { return join("O", account) }
func heldPK(delegate string) string { return join("H", delegate) } // of index 2
func openAt(t store.Task) key {
	return key{openPK(t.Scope.Account), momentText(t.CreatedAt, string(t.ID))}
}

// AP-66 and AP-67.

func checkpointsPK(execution string, stage plan.NodeID) string {
	return join("Z", execution, string(stage))
}

func checkpointAt(c store.Checkpoint) key {
	return key{checkpointsPK(c.Execution, c.Stage), "c" + separator + c.Key}
}

func checkpointSizeAt(c store.Checkpoint) key {
	return key{checkpointsPK(c.Execution, c.Stage), "size"}
}

// AP-68, AP-69, AP-73 and AP-74.

func provisionsPK(s ref.Scope) string { return join("PR", s.Account, s.Org, s.Project) }

// provisionsOf begins the sort keys of a provisioner.
func provisionsOf(k store.ProvisionerKey) string {
	return join(string(k.Kind), k.Identifier, k.Workspace, "")
}

// provisionsEnd sorts right behind those, and before the next provisioner's.
func provisionsEnd(k store.ProvisionerKey) string {
	return join(string(k.Kind), k.Identifier, k.Workspace) + string(rune(separator[0]+1))
}

func provisionAt(k store.ProvisionerKey, execution string) key {
	return key{provisionsPK(k.Scope), join(string(k.Kind), k.Identifier, k.Workspace, execution)}
}

func delegatesPK(account string) string         { return join("D", account) }
func delegateAt(account, id string) key         { return key{delegatesPK(account), id} }
func connectionsPK(account string) string       { return join("W", account) }
func connectionAt(account, delegate string) key { return key{connectionsPK(account), delegate} }
func viewersPK(account string) string           { return join("WV", account) }
func viewerAt(account, id string) key           { return key{viewersPK(account), id} }
func logPK(stream string) string                { return join("G", stream) }
func logSizeAt(stream string) key               { return key{join("G", stream, "size"), "s"} }
func chunkAt(stream string, n int64) key        { return key{logPK(stream), numberText(n)} }
func auditPK(account string) string             { return join("A", account) }
func auditHeadAt(account string) key            { return key{auditPK(account), "head"} }
func auditRemovedAt(account string) key         { return key{streamsPK(account), "removed"} }
func streamsPK(account string) string           { return join("AS", account) }
func streamAt(account, destination string) key {
	return key{streamsPK(account), join("d", destination)}
}
func auditAt(account string, n int64) key    { return key{auditPK(account), numberText(n)} }
func backlogPK(account string) string        { return join("B", account) }
func tokenAt(id string) key                  { return key{join("K", id), "k"} }
func answerAt(k string) key                  { return key{join("I", k), "i"} }
func firesPK(trigger store.EntityKey) string { return "F#" + entityText(trigger) }
func fireAt(f store.Fire) key                { return key{firesPK(f.Trigger), momentText(f.At, f.ID)} }

// AP-95 to AP-97.

const evaluationPrefix = "PE" + separator

func evaluationAt(account, id string) key { return key{evaluationPrefix + join(account, id), "e"} }

func evaluationsPK(of store.EvaluationsOf) string {
	if of.Execution != "" {
		return join("PX", of.Scope.Account, of.Execution)
	}
	return join("PS", of.Scope.Account, of.Scope.Org, of.Scope.Project)
}

func turnAt(name string) key { return key{join("Q", name), "q"} }

// AP-49 to AP-54.

func placementsPK(s ref.Scope) string { return join("N", s.Account, s.Org, s.Project) }
func placementAt(k store.PlacementKey) key {
	return key{placementsPK(k.Scope), join(k.Service, k.Environment, k.Infrastructure, k.Target)}
}

// placementsOf is the range of a service's sort keys; service "": of all.
func placementsOf(service string) (from, to string) {
	if service == "" {
		return "!", "~" // identifiers hold no other characters
	}
	return join(service, ""), join(service) + string(separator[0]+1)
}

func placementKey(pk, sk string) (store.PlacementKey, error) {
	s, err := split(pk, 4)
	if err != nil {
		return store.PlacementKey{}, err
	}
	p, err := split(sk, 4)
	if err != nil {
		return store.PlacementKey{}, err
	}
	return store.PlacementKey{
		Scope: ref.Scope{Account: s[1], Org: s[2], Project: s[3]}, Service: p[0], Environment: p[1], Infrastructure: p[2], Target: p[3],
	}, nil
}

// The watch list is of index 2. Its sort key has the watcher and the fence,
// which so needn't be read.
func watchListPK(account string) string { return join("U", account) }
func watchListSK(p store.Placement) string {
	at := placementAt(p.Key)
	return join(at.pk, at.sk, p.Watcher, strconv.FormatInt(p.Fence, 10))
}

func watcherOf(sk2 string) (watcher string, fence int64, err error) {
	parts, err := split(sk2, 4)
	if err != nil {
		return "", 0, err
	}
	fence, err = strconv.ParseInt(parts[3], 10, 64)
	return parts[2], fence, err
}

func momentsPK(s ref.Scope, service string) string {
	return join("J", s.Account, s.Org, s.Project, service)
}
func momentAt(m store.Moment) key {
	return key{momentsPK(m.Key.Scope, m.Key.Service), momentText(m.At, m.ID)}
}

// AP-29 and AP-55 to AP-60. A path is a key as it is; no path has two slashes side by side.

const (
	filesPrefix     = "B" + separator
	pastFilesPrefix = "Y" + separator
)

func filesPK(s ref.Scope) string { return join("B", s.Account, s.Org, s.Project) }
func fileAt(f ref.File) key      { return key{filesPK(f.Scope), f.Path} }

func pastFilesPK(s ref.Scope) string { return join("Y", s.Account, s.Org, s.Project) }
func pastFileAt(f store.File) key {
	return key{pastFilesPK(f.Key.Scope), f.Key.Path + "//" + momentText(f.Until, strconv.FormatInt(f.Version, 10))}
}

// filesWithin is the range of the paths in a folder, without its ends.
func filesWithin(folder ref.File) (from, to string) {
	from = folder.Folder()
	return from, from[:len(from)-1] + string('/'+1)
}

// AP-75 to AP-87. What belongs to an agent is in two partitions, so that its
// links can be listed alone.

func gitOpsLinksPK(account string) string { return join("GA", account) }
func gitOpsLinkAt(agent ref.Ref) key {
	return key{gitOpsLinksPK(agent.Scope.Account), join(agent.Scope.Org, agent.Scope.Project, agent.ID)}
}

func gitOpsPK(agent ref.Ref) string {
	return join("GS", agent.Scope.Account, agent.Scope.Org, agent.Scope.Project, agent.ID)
}

func gitOpsAppAt(agent ref.Ref, k protocol.AppKey) key {
	return key{gitOpsPK(agent), join("a", k.Namespace, k.Name)}
}

func gitOpsHistoryPK(agent ref.Ref, k protocol.AppKey) string {
	return join("GH", agent.Scope.Account, agent.Scope.Org, agent.Scope.Project, agent.ID, k.Namespace, k.Name)
}

func gitOpsHistoryAt(agent ref.Ref, h protocol.History) key {
	return key{gitOpsHistoryPK(agent, h.App), momentText(h.Entry.DeployedAt, numberText(h.Entry.ID))}
}

// A request is open, or it has been answered.
const (
	openRequests     = "o" + separator
	answeredRequests = "r" + separator
)

func gitOpsRequestAt(agent ref.Ref, prefix, id string) key { return key{gitOpsPK(agent), prefix + id} }

// tokensPK is of index 1.
func tokensPK(account string, k store.TokenKind) string { return join("K", account, string(k)) }

// numberText sorts like the number, which isn't negative. lastNumber sorts
// after all of them and before "head".
func numberText(n int64) string { return fmt.Sprintf("%019d", max(n, 0)) }

const lastNumber = "9999999999999999999"

// millis is how times are kept.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
