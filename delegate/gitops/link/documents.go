package link

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// Documents are what an agent is to keep.
type Documents struct {
	// Known says that the control plane has said what there is, now or before: an
	// application that isn't there then is none.
	Known        bool
	Applications []gitops.Application // by name
	Sets         []appset.Set         // by name
	Projects     []gitops.Project     // by name
	Access       access.Known

	Clusters []access.Cluster
	Settings map[string]string
}

// documents keeps them.
type documents struct {
	mu      sync.Mutex
	have    map[string]protocol.Document
	number  int64 // of the control plane; -1: look at all
	now     Documents
	changed chan struct{}
}

func newDocuments(kept []protocol.Document) (*documents, error) {
	d := &documents{have: map[string]protocol.Document{}, number: -1, changed: make(chan struct{})}
	for _, one := range kept {
		d.have[one.ID] = one
	}
	var err error
	d.now, err = typed(kept)
	d.now.Known = len(kept) > 0
	return d, err
}

// typed reads documents.
func typed(all []protocol.Document) (Documents, error) {
	out := Documents{Settings: map[string]string{}}
	all = slices.SortedFunc(slices.Values(all), func(a, b protocol.Document) int { return strings.Compare(a.ID, b.ID) })
	for _, one := range all {
		var err error
		switch one.Kind {
		case protocol.KindApplication:
			err = read(one, &out.Applications)
		case protocol.KindApplicationSet:
			err = read(one, &out.Sets)
		case protocol.KindProject:
			err = read(one, &out.Projects)
		case protocol.KindRepository:
			err = read(one, &out.Access.Repositories)
		case protocol.KindCluster:
			err = read(one, &out.Clusters)
		case protocol.KindCertificate:
			err = readList(one, &out.Access.Certificates)
		case protocol.KindKey:
			err = readList(one, &out.Access.Keys)
		case protocol.KindSettings:
			var all []access.Settings
			if err = read(one, &all); err == nil {
				maps.Copy(out.Settings, all[0].Data)
			}
		}
		if err != nil {
			return out, err
		}
	}
	slices.SortFunc(out.Applications, func(a, b gitops.Application) int { return strings.Compare(a.Meta.Name, b.Meta.Name) })
	slices.SortFunc(out.Sets, func(a, b appset.Set) int { return strings.Compare(a.Meta.Name, b.Meta.Name) })
	slices.SortFunc(out.Projects, func(a, b gitops.Project) int { return strings.Compare(a.Meta.Name, b.Meta.Name) })
	return out, nil
}

func read[T any](d protocol.Document, to *[]T) error {
	var one T
	if err := json.Unmarshal(d.Body, &one); err != nil {
		return fmt.Errorf("read document %s: %w", d.ID, err)
	}
	*to = append(*to, one)
	return nil
}

func readList[T any](d protocol.Document, to *[]T) error {
	var all []T
	if err := json.Unmarshal(d.Body, &all); err != nil {
		return fmt.Errorf("read document %s: %w", d.ID, err)
	}
	*to = append(*to, all...)
	return nil
}

func (d *documents) get() (Documents, <-chan struct{}) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.now, d.changed
}

func (d *documents) version() int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.number
}

func (d *documents) lookAtAll() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.number = -1
}

func (d *documents) versions() map[string]int64 {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := make(map[string]int64, len(d.have))
	for id, one := range d.have {
		out[id] = one.Version
	}
	return out
}

func (d *documents) all() []protocol.Document {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.list()
}

func (d *documents) list() []protocol.Document {
	return slices.SortedFunc(maps.Values(d.have), func(a, b protocol.Document) int { return strings.Compare(a.ID, b.ID) })
}

// change takes in an answer, and tells if anything is other than it was.
func (d *documents) change(got protocol.Documents) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	next := maps.Clone(d.have)
	for _, one := range got.Upserts {
		next[one.ID] = one
	}
	for _, id := range got.Deletes {
		delete(next, id)
	}
	now, err := typed(slices.Collect(maps.Values(next)))
	if err != nil {
		return err
	}
	now.Known = !got.More || d.now.Known
	changed := len(got.Upserts) > 0 || len(got.Deletes) > 0 || now.Known != d.now.Known
	d.have, d.now = next, now
	if !got.More {
		d.number = got.Version
	}
	if changed {
		close(d.changed)
		d.changed = make(chan struct{})
	}
	return nil
}
