package mirror

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// An answer with documents has at most so many, and about so many bytes.
const (
	mostDocuments     = 500
	mostDocumentBytes = 2 << 20
)

// documentID names a document to its agent, which sends it back.
func documentID(k store.EntityKey) string {
	return strings.Join([]string{k.Scope.Org, k.Scope.Project, string(k.Kind), k.ID}, "/")
}

// Documents gives an agent what it doesn't have, and says what it should have no
// more. Which number that is was read before them: what is saved meanwhile is
// asked for again.
func (m *Mirror) Documents(ctx context.Context, agent ref.Ref, h protocol.Have) (protocol.Documents, error) {
	l, err := m.link(ctx, agent)
	if err == nil {
		err = led(l, h.Fence)
	}
	if err != nil {
		return protocol.Documents{}, err
	}
	keys, err := m.keysOf(ctx, agent)
	if err != nil {
		return protocol.Documents{}, err
	}
	found, err := m.Store.EntitiesAt(ctx, keys)
	if err != nil {
		return protocol.Documents{}, err
	}
	slices.SortFunc(found, func(a, b store.Entity) int { return strings.Compare(documentID(a.Key), documentID(b.Key)) })
	out := protocol.Documents{Version: l.Documents}
	there, bytes := map[string]bool{}, 0
	for _, e := range found {
		id := documentID(e.Key)
		there[id] = true
		if h.Versions[id] == e.Version || out.More {
			continue
		}
		if len(out.Upserts) == mostDocuments || bytes > mostDocumentBytes {
			out.More = true
			continue
		}
		d, err := m.document(ctx, id, e)
		if err != nil {
			return protocol.Documents{}, err
		}
		out.Upserts = append(out.Upserts, d)
		bytes += len(d.Body)
	}
	for id := range h.Versions {
		if !there[id] {
			out.Deletes = append(out.Deletes, id)
		}
	}
	slices.Sort(out.Deletes)
	return out, nil
}

// keysOf are the documents of an agent: they name it.
func (m *Mirror) keysOf(ctx context.Context, agent ref.Ref) ([]store.EntityKey, error) {
	var keys []store.EntityKey
	for k, err := range store.Naming(ctx, m.Store, AgentKey(agent)) {
		if err != nil {
			return nil, err
		}
		if of, ok := agentOf(k); ok && of == agent {
			keys = append(keys, k)
		}
	}
	return keys, nil
}

// document is a saved document as its agent gets it, with what is kept apart of it.
func (m *Mirror) document(ctx context.Context, id string, e store.Entity) (protocol.Document, error) {
	d := protocol.Document{ID: id, Version: e.Version}
	var values map[string]string
	if ref.HoldsValues(e.Key.Kind) {
		var err error
		if values, err = m.Secret.Values(ctx, e.Key); err != nil {
			return d, err
		}
	}
	read, err := m.read(e, values)
	if err != nil {
		return d, err
	}
	var body any
	switch {
	case read.Application != nil:
		app := *read.Application
		app.Operation = nil // which is a request of who saved it
		// An agent has one name space for what is saved here: a document that comes
		// from another installation still says where that was.
		app.Meta.Namespace = ""
		d.Kind, body = protocol.KindApplication, app
	case read.ApplicationSet != nil:
		set := *read.ApplicationSet
		set.Meta.Namespace = ""
		d.Kind, body = protocol.KindApplicationSet, set
	case read.AppProject != nil:
		d.Kind, body = protocol.KindProject, read.AppProject
	case read.Repository != nil:
		d.Kind, body = protocol.KindRepository, read.Repository
	case read.Cluster != nil:
		d.Kind, body = protocol.KindCluster, read.Cluster
	case read.Settings != nil:
		d.Kind, body = protocol.KindSettings, read.Settings
	case read.Keys != nil:
		d.Kind, body = protocol.KindKey, read.Keys
	default: // there may be none
		d.Kind, body = protocol.KindCertificate, read.Certificates
	}
	if d.Body, err = json.Marshal(body); err != nil {
		return d, fmt.Errorf("encode %s: %w", e.Key.Describe(), err)
	}
	return d, nil
}

// read decodes a saved document anew, with values of it that are kept apart. It was
// right when it was saved.
func (m *Mirror) read(e store.Entity, values map[string]string) (*entity.Entity, error) {
	docs, report := yamldoc.Parse("", e.YAML)
	if len(docs) != 1 {
		return nil, fault.New(fault.Internal, "%s can't be read any more: %v", e.Key.Describe(), report.Err())
	}
	o := m.Options
	o.Scope, o.Agent, o.Values = e.Key.Scope, e.Key.Env, values
	read := entity.Decode(docs[0], report, o)
	if read == nil {
		return nil, fault.New(fault.Internal, "%s can't be read any more: %v", e.Key.Describe(), report.Err())
	}
	return read, nil
}

// Decoded is a saved document without what is kept apart of it.
func (m *Mirror) Decoded(e store.Entity) (*entity.Entity, error) { return m.read(e, nil) }

// Read is the application of a saved document.
func (m *Mirror) Read(e store.Entity) (*gitops.Application, error) {
	read, err := m.read(e, nil)
	if err != nil {
		return nil, err
	}
	return read.Application, nil
}
