package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// gitOpsLooks are the operations by which people look at what an application has live,
// and touch it.
func gitOpsLooks(s *Server, g *reconciled) {
	const one = "/v1/gitops/applications/{agent}/{name}/"
	ask := func(id, path, summary string) huma.Operation {
		return huma.Operation{OperationID: id, Method: http.MethodPost, Path: one + path, Tags: []string{"GitOps"}, Summary: summary}
	}
	handle(s, action.GitOpsApplicationView, ask("askGitOpsDifferences", "diff", "Ask what a sync of an application would change"), g.diff)
	handle(s, action.GitOpsApplicationView, ask("askGitOpsManifests", "manifests", "Ask for the manifests of an application"), g.manifests)
	handle(s, action.GitOpsApplicationView, ask("askGitOpsTree", "tree", "Ask for the objects of an application with what they own"), g.tree)
	handle(s, action.GitOpsApplicationView, ask("askGitOpsLogs", "logs", "Ask for the logs of an application's pods"), g.logs)
	handle(s, action.GitOpsApplicationView, ask("askGitOpsEvents", "events", "Ask for the events of an application's objects"), g.events)
	handle(s, action.GitOpsApplicationView, ask("askGitOpsActions", "actions", "Ask what can be done to an application's objects"), g.actions)
	handle(s, action.GitOpsApplicationEdit, ask("runGitOpsAction", "actions/run", "Ask for an action on objects of an application"), g.act)
	handle(s, action.GitOpsApplicationEdit, ask("patchGitOpsObject", "patch-resource", "Ask for live objects of an application to be changed"), g.patch)
	handle(s, action.GitOpsApplicationEdit, ask("deleteGitOpsObject", "delete-resource", "Ask for live objects of an application to be deleted"), g.deleteObject)
	handle(s, action.GitOpsApplicationSync, huma.Operation{
		OperationID: "holdGitOpsApplication", Method: http.MethodPut, Path: one + "hold", Tags: []string{"GitOps"}, Summary: "Ask for an application to stay what its last sync made of it",
	}, g.hold)
	handle(s, action.GitOpsApplicationSync, huma.Operation{
		OperationID: "releaseGitOpsApplication", Method: http.MethodDelete, Path: one + "hold", Tags: []string{"GitOps"}, Summary: "Ask for the end of an application's hold",
	}, g.release)
}

type looksAt struct {
	OfApplication
	Body protocol.Look
}

// look asks for something to be shown.
func (s *reconciled) look(ctx context.Context, in *looksAt, kind protocol.RequestKind) (*askedAnswer, error) {
	if len(in.Body.Manifests) > protocol.MostManifests {
		return nil, invalid("manifests: found %d bytes; want %d at most", len(in.Body.Manifests), protocol.MostManifests)
	}
	return s.ask(ctx, in.OfApplication, protocol.Request{Kind: kind, Look: &in.Body})
}

func (s *reconciled) diff(ctx context.Context, in *looksAt) (*askedAnswer, error) {
	return s.look(ctx, in, protocol.RequestDiff)
}

func (s *reconciled) manifests(ctx context.Context, in *looksAt) (*askedAnswer, error) {
	return s.look(ctx, in, protocol.RequestManifests)
}

func (s *reconciled) tree(ctx context.Context, in *looksAt) (*askedAnswer, error) {
	return s.look(ctx, in, protocol.RequestTree)
}

func (s *reconciled) logs(ctx context.Context, in *looksAt) (*askedAnswer, error) {
	return s.look(ctx, in, protocol.RequestLogs)
}

func (s *reconciled) events(ctx context.Context, in *looksAt) (*askedAnswer, error) {
	return s.look(ctx, in, protocol.RequestEvents)
}

func (s *reconciled) actions(ctx context.Context, in *looksAt) (*askedAnswer, error) {
	return s.look(ctx, in, protocol.RequestActions)
}

type touchesOn struct {
	OfApplication
	Body protocol.Touch
}

// touch asks for something to be done to what is live.
func (s *reconciled) touch(ctx context.Context, in *touchesOn, kind protocol.RequestKind) (*askedAnswer, error) {
	if in.Body.Kind == "" && in.Body.Name == "" {
		return nil, invalid("found neither a kind nor a name; want one at least: which objects are meant")
	}
	return s.ask(ctx, in.OfApplication, protocol.Request{Kind: kind, Touch: &in.Body})
}

func (s *reconciled) act(ctx context.Context, in *touchesOn) (*askedAnswer, error) {
	if in.Body.Action == "" {
		return nil, invalid("action: want the name of one")
	}
	return s.touch(ctx, in, protocol.RequestAction)
}

func (s *reconciled) patch(ctx context.Context, in *touchesOn) (*askedAnswer, error) {
	if in.Body.Patch == "" {
		return nil, invalid("patch: want one")
	}
	return s.touch(ctx, in, protocol.RequestPatch)
}

func (s *reconciled) deleteObject(ctx context.Context, in *touchesOn) (*askedAnswer, error) {
	if in.Body.Force && in.Body.Orphan {
		return nil, invalid("force and orphan exclude each other")
	}
	return s.touch(ctx, in, protocol.RequestDeleteObject)
}

func (s *reconciled) hold(ctx context.Context, in *struct {
	OfApplication
	Body protocol.Hold
}) (*askedAnswer, error) {
	return s.ask(ctx, in.OfApplication, protocol.Request{Kind: protocol.RequestHold, Hold: &in.Body})
}

func (s *reconciled) release(ctx context.Context, in *OfApplication) (*askedAnswer, error) {
	return s.ask(ctx, *in, protocol.Request{Kind: protocol.RequestRelease})
}
