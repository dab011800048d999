package agent

import (
	"encoding/base64"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/applying"
	"github.com/slipway-cd/slipway/delegate/applying/applyingtest"
	"github.com/slipway-cd/slipway/delegate/gitops/reconcile"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/object"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// TestDocumentsAreKept: the next process has them, and if the set that was written
// last isn't whole, those of before.
func TestDocumentsAreKept(t *testing.T) {
	t.Parallel()
	c, _, namespace := applyingtest.Connect(t)
	one := []protocol.Document{{ID: "a", Kind: protocol.KindApplication, Version: 1, Body: []byte(`{"metadata":{"name":"a"}}`)}}
	two := append(one, protocol.Document{ID: "b", Kind: protocol.KindProject, Version: 7, Body: []byte(`{}`)})
	k := &keeper{cluster: c, namespace: namespace, label: "0badcafe"}
	for _, set := range [][]protocol.Document{one, two} {
		if err := k.save(t.Context(), set); err != nil {
			t.Fatal(err)
		}
	}
	want := func(docs []protocol.Document) {
		t.Helper()
		next := &keeper{cluster: c, namespace: namespace, label: "0badcafe"}
		got, err := next.load(t.Context())
		if diff := cmp.Diff(docs, got); err != nil || diff != "" {
			t.Errorf("%v (-want +got):\n%s", err, diff)
		}
		if next.generation != 2 {
			t.Errorf("the generation is %d; want 2", next.generation)
		}
	}
	want(two)
	secret, err := c.Get(t.Context(), applying.Named(secrets, object.Key{Namespace: namespace, Name: "slipway-gitops-docs-0badcafe-0-0"}))
	if err != nil || secret == nil {
		t.Fatalf("the newest set is %v, %v", secret, err)
	}
	data := secret.Object["data"].(map[string]any) //nolint:forcetypeassert // a Secret's
	data["documents"] = base64.StdEncoding.EncodeToString([]byte("broken"))
	if _, err := c.Replace(t.Context(), secret, "test"); err != nil {
		t.Fatal(err)
	}
	want(one)
}

// TestSummary: what is reported of an application.
func TestSummary(t *testing.T) {
	t.Parallel()
	if summary(nil) != nil {
		t.Error("an application that is gone has a summary")
	}
	began := time.Date(2026, 11, 23, 12, 0, 0, 0, time.UTC)
	fares := func(code gitops.HealthCode) *gitops.HealthStatus { return &gitops.HealthStatus{Status: code} }
	got := summary(&reconcile.View{Request: "r1", Held: "abc", ApplicationStatus: gitops.ApplicationStatus{
		Sync: gitops.SyncStatus{Status: gitops.OutOfSync, Revision: "abc"}, Health: *fares(gitops.Degraded),
		OperationState: &gitops.OperationState{Phase: gitops.OperationRunning, StartedAt: began, RetryCount: 2},
		Resources: []gitops.ResourceStatus{
			{Status: gitops.Synced, Key: object.Key{Group: "argoproj.io", Kind: "Rollout", Namespace: "shop", Name: "web"}}, {Status: gitops.OutOfSync, Health: fares(gitops.Missing)}, {Status: gitops.OutOfSync, RequiresPruning: true},
			{Status: gitops.Synced, Health: fares(gitops.Degraded)}, {Hook: true, Health: fares(gitops.Degraded)},
		},
	}})
	want := &protocol.Summary{
		Sync: protocol.SyncSummary{Status: gitops.OutOfSync, Revision: "abc"}, Health: *fares(gitops.Degraded), Hold: "abc", Rollouts: []string{"shop/web"},
		Operation: &protocol.OperationSummary{Phase: gitops.OperationRunning, Request: "r1", StartedAt: began, Retry: 2},
		Counts:    protocol.Counts{Objects: 4, OutOfSync: 2, Missing: 1, Degraded: 1, ToPrune: 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
