package asl

// inlineItems is how many items of an inline Map Step Functions runs at once.
const inlineItems = 40

// fanOut readies a Map or Parallel state. Its branches are made when they
// start, so what is kept of those that haven't is only how many they are.
func (t *thread) fanOut(st *state, ctx lookup) *Failure {
	t.next, t.active, t.limit = 0, 0, 0
	if f := t.readItems(st, ctx); f != nil {
		return f
	}
	if st.Type == "Map" {
		limit, f := st.concurrency(t.input, ctx)
		if f != nil {
			return f
		}
		t.limit = int(limit)
	}
	if t.count == 0 {
		t.complete([]any{})
		return nil
	}
	t.left = t.count
	t.startBranches()
	return nil
}

// readItems works out what a Map's items are, or the input of a Parallel's
// branches. It is the same at each look: all that it reads is kept.
func (t *thread) readItems(st *state, ctx lookup) *Failure {
	in, f := st.InputPath.selected(t.input, ctx)
	if f != nil {
		return f
	}
	t.shared, t.items, t.count = in, nil, len(st.Branches)
	if st.Type == "Parallel" {
		if t.shared, f = st.Parameters.apply(in, ctx); f == nil {
			f = tooLarge(t.shared, t.state)
		}
		return f
	}
	items := in
	if st.ItemsPath != nil {
		if items, f = st.ItemsPath.must(in, ctx); f != nil {
			return f
		}
	}
	list, ok := items.([]any)
	if !ok {
		return &Failure{Name: errRuntime, Cause: "Reference path \"" + or(st.ItemsPath, path{text: "$"}).text + "\" must point to array."}
	}
	t.items, t.count = list, len(list)
	return nil
}

func (st *state) concurrency(input any, ctx lookup) (int64, *Failure) {
	if st.MaxConcurrencyPath != nil {
		return st.MaxConcurrencyPath.number("MaxConcurrencyPath", 0, input, ctx)
	}
	return or(st.MaxConcurrency, 0), nil
}

// room says whether one more branch may run.
func (t *thread) room() bool {
	limit := t.limit
	if t.def().Type == "Map" && (limit == 0 || limit > inlineItems) {
		limit = inlineItems
	}
	return limit == 0 || t.active < limit
}

// startBranches starts as many branches as there is room for. One may end at
// once, and with the last of them the thread moves on.
func (t *thread) startBranches() {
	seq := t.seq
	if t.filling == seq {
		return // the loop that started this one goes on
	}
	t.filling = seq
	for t.seq == seq && t.room() {
		b, f := t.nextBranch()
		if f != nil {
			t.recover(f)
			return
		}
		if b == nil {
			break
		}
		t.active++
		b.enter(b.states.StartAt, b.input)
	}
	if t.seq == seq {
		t.filling = 0
	}
}

// nextBranch makes the next branch; nil if all have begun.
func (t *thread) nextBranch() (*thread, *Failure) {
	if len(t.pending) > 0 { // of a release that kept them
		b := t.pending[0]
		t.pending = t.pending[1:]
		return b, nil
	}
	if t.next == t.count {
		return nil, nil
	}
	i := t.next
	t.next++
	t.run.lastID++
	b := &thread{run: t.run, id: t.run.lastID, parent: t, index: i, states: t.branchStates(i), input: t.shared, wait: waitPending}
	t.branches = append(t.branches, b)
	t.run.threads[b.id] = b
	if t.items == nil {
		return b, nil
	}
	b.isItem, b.item, b.input = true, t.items[i], t.items[i]
	st := t.def()
	selector := st.ItemSelector
	if selector == nil {
		selector = st.Parameters // its older name
	}
	if selector == nil {
		return b, nil
	}
	// The context is the Map's, and its item.
	b.state, b.entered, b.retries = t.state, t.entered, t.retries
	var f *Failure
	if b.input, f = selector.apply(t.shared, b.context("")); f == nil {
		f = tooLarge(b.input, t.state)
	}
	return b, f
}

// finish ends a thread with an output: a branch counts towards its parent,
// the root ends the run.
func (t *thread) finish(output any) {
	t.wait, t.output = waitEnded, output
	t.moved()
	if t.parent == nil {
		t.run.end(statusSucceeded, output, nil)
		return
	}
	p := t.parent
	p.active--
	if p.left--; p.left > 0 {
		p.startBranches()
		return
	}
	outputs := make([]any, p.count)
	for _, b := range p.branches {
		outputs[b.index] = b.output
	}
	p.dropBranches()
	p.complete(outputs)
}

// dropBranches ends every branch below a thread, and forgets it.
func (t *thread) dropBranches() {
	for _, b := range t.branches {
		b.dropBranches()
		b.wait = waitEnded
		b.seq++
		b.stopTimer()
		t.run.dropped(b)
		delete(t.run.threads, b.id)
		c := t.run.changed()
		c.gone = append(c.gone, b)
	}
	t.branches, t.pending, t.items, t.shared, t.left = nil, nil, nil, nil, 0
}
