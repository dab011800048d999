package sqlite

import (
	"cmp"
	"slices"
	"sync"

	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/task"
)

// What was written lately is kept, so that a decision about what is under way
// asks no database for what this process has just written: no other one may
// have the file open.
//
// Commits alone put records here, in their order, before anybody hears of
// them; what isn't here is asked for. So a reader who has heard of a commit
// never gets what was before it. A query may see a commit a moment earlier.
//
// Nodes, whose states decisions work on, are kept encoded: whoever reads one
// gets a state of his own. The others share what they point to, which nobody
// changes in place.

// recentRuns are executions and their nodes.
type recentRuns struct {
	mu   sync.RWMutex
	runs shelf[string, *run]
}

// run is an execution that this process has begun, with all of its nodes.
type run struct {
	execution store.Execution
	doc       int // its bytes
	rows      int // those of its nodes
	nodes     map[plan.NodeID]nodeRow
}

// room is how much is kept.
type room struct {
	runs, tasks int // bytes
	others      int // delegates, and as many tokens
}

// usualRoom is for a thousand executions of ten steps at once.
func usualRoom() room { return room{runs: 8 << 20, tasks: 4 << 20, others: 1000} }

// overhead is what a record takes besides its texts, roughly.
const overhead = 400

func newRecentRuns(bytes int) *recentRuns { return &recentRuns{runs: newShelf[string, *run](bytes)} }

func (r *run) size() int { return overhead*(1+len(r.nodes)) + r.doc + r.rows }

func (r *recentRuns) begin(e store.Execution, doc int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x := &run{execution: e, doc: doc, nodes: map[plan.NodeID]nodeRow{}}
	r.runs.put(e.ID, x, x.size())
}

func (r *recentRuns) change(e store.Execution, doc int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x, ok := r.runs.get(e.ID); ok {
		x.execution, x.doc = e, doc
		r.runs.put(e.ID, x, x.size())
	}
}

func (r *recentRuns) wait(execution string, waits store.Waits) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if x, ok := r.runs.get(execution); ok {
		x.execution.Waits = waits
	}
}

func (r *recentRuns) changeNodes(execution string, nodes []nodeRow) {
	r.mu.Lock()
	defer r.mu.Unlock()
	x, ok := r.runs.get(execution)
	if !ok {
		return
	}
	for _, n := range nodes {
		x.rows += len(n.state) - len(x.nodes[n.id].state)
		x.nodes[n.id] = n
	}
	r.runs.put(execution, x, x.size())
}

func (r *recentRuns) execution(id string) (store.Execution, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	x, ok := r.runs.get(id)
	if !ok {
		return store.Execution{}, false
	}
	return x.execution, true
}

// nodes gives those of an execution's nodes that have a record, each once.
func (r *recentRuns) nodes(execution string, ids []plan.NodeID) (rows []nodeRow, known bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	x, ok := r.runs.get(execution)
	if !ok {
		return nil, false
	}
	for i, id := range ids {
		if n, ok := x.nodes[id]; ok && !slices.Contains(ids[:i], id) {
			rows = append(rows, n)
		}
	}
	return rows, true
}

// changedNodes gives those of an execution's nodes that don't have the given
// version, by their ids.
func (r *recentRuns) changedNodes(execution string, have map[plan.NodeID]int64) (rows []nodeRow, known bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	x, ok := r.runs.get(execution)
	if !ok {
		return nil, false
	}
	for id, n := range x.nodes {
		if have[id] != n.version {
			rows = append(rows, n)
		}
	}
	slices.SortFunc(rows, func(a, b nodeRow) int { return cmp.Compare(a.id, b.id) })
	return rows, true
}

// recentTasks are tasks, and which of all are open.
type recentTasks struct {
	mu    sync.RWMutex
	tasks shelf[task.ID, *store.Task]
	open  map[string]map[task.ID]bool // by account
}

func newRecentTasks(bytes int) *recentTasks {
	return &recentTasks{tasks: newShelf[task.ID, *store.Task](bytes), open: map[string]map[task.ID]bool{}}
}

// put keeps a task whose texts have so many bytes.
func (r *recentTasks) put(t store.Task, texts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tasks.put(t.ID, &t, overhead+texts)
	if t.Status == store.TaskOpen {
		r.markOpen(t.Scope.Account, t.ID)
		return
	}
	delete(r.open[t.Scope.Account], t.ID)
}

// noteOpen says of a task that isn't here that it is open.
func (r *recentTasks) noteOpen(account string, id task.ID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.markOpen(account, id)
}

func (r *recentTasks) markOpen(account string, id task.ID) {
	if r.open[account] == nil {
		r.open[account] = map[task.ID]bool{}
	}
	r.open[account][id] = true
}

func (r *recentTasks) task(id task.ID) (store.Task, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, ok := r.tasks.get(id)
	if !ok {
		return store.Task{}, false
	}
	return *t, true
}

// openTasks gives an account's open tasks, the oldest first, if all of them are
// here and they are no more than a limit.
func (r *recentTasks) openTasks(account string, limit int) (tasks []store.Task, known bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if len(r.open[account]) > limit {
		return nil, false
	}
	found := make([]*store.Task, 0, len(r.open[account]))
	for id := range r.open[account] {
		t, ok := r.tasks.get(id)
		if !ok {
			return nil, false
		}
		found = append(found, t)
	}
	slices.SortFunc(found, func(a, b *store.Task) int { return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.ID, b.ID)) })
	for _, t := range found {
		tasks = append(tasks, *t)
	}
	return tasks, true
}

// recentDelegates are delegates by account and id.
type recentDelegates struct {
	most      int
	mu        sync.RWMutex
	delegates map[[2]string]store.Delegate
}

func newRecentDelegates(most int) *recentDelegates {
	return &recentDelegates{most: most, delegates: map[[2]string]store.Delegate{}}
}

func (r *recentDelegates) put(account string, d store.Delegate) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.delegates) >= r.most {
		clear(r.delegates)
	}
	if r.most > 0 {
		r.delegates[[2]string{account, d.ID}] = d
	}
}

func (r *recentDelegates) drop(account, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.delegates, [2]string{account, id})
}

func (r *recentDelegates) delegate(account, id string) (store.Delegate, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	d, ok := r.delegates[[2]string{account, id}]
	return d, ok
}

// recentTokens are tokens that are in use.
type recentTokens struct {
	most   int
	mu     sync.RWMutex
	tokens map[string]store.AccessToken
	puts   int
}

func newRecentTokens(most int) *recentTokens {
	return &recentTokens{most: most, tokens: map[string]store.AccessToken{}}
}

// token gives a token, or how often one had been put when it wasn't here.
func (r *recentTokens) token(id string) (t store.AccessToken, known bool, puts int) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	t, known = r.tokens[id]
	return t, known, r.puts
}

// keep keeps a token that was read, unless one has been put since: it
// may be that one, and revoked. Tokens are the only records that reads bring,
// because those in use may be old.
func (r *recentTokens) keep(t store.AccessToken, puts int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.puts != puts || r.most == 0 {
		return
	}
	if len(r.tokens) >= r.most {
		clear(r.tokens)
	}
	r.tokens[t.ID] = t
}

func (r *recentTokens) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.puts++
	delete(r.tokens, id)
}
