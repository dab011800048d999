package api

import (
	"context"
	"net/http"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/gitops/mirror"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
	"github.com/slipway-cd/slipway/pkg/ref"
)

// fromAgents is what GitOps agents call.
type fromAgents struct{ Mirror *mirror.Mirror }

func delegateGitOps(s *Server) {
	a := &fromAgents{s.GitOps}
	exempt(s, action.Delegate, delegateOp("gitOpsHello", http.MethodPost, "/gitops/hello", "Say who leads a GitOps agent"), a.hello)
	exempt(s, action.Delegate, delegateOp("gitOpsPoll", http.MethodPost, "/gitops/poll", "Ask what is new for a GitOps agent"), a.poll)
	exempt(s, action.Delegate, delegateOp("gitOpsDocuments", http.MethodPost, "/gitops/documents", "Ask for the documents that a GitOps agent doesn't have"), a.documents)
	report := delegateOp("gitOpsReport", http.MethodPost, "/gitops/report", "Report what a GitOps agent found")
	report.MaxBodyBytes = maxDelegateBody
	exempt(s, action.Delegate, report, a.report)
	answer := delegateOp("gitOpsAnswer", http.MethodPost, "/gitops/answer", "Report what became of a request to a GitOps agent")
	answer.MaxBodyBytes = maxDelegateBody
	exempt(s, action.Delegate, answer, a.answer)
}

// agent is the one that a caller speaks for. Its token must be of a scope that
// has the agent's in it; one that is bound speaks for the agent of its name.
func (fromAgents) agent(ctx context.Context, a protocol.Agent) (ref.Ref, error) {
	t := caller(ctx)
	r := ref.Ref{Scope: ref.Scope{Account: t.Scope.Account, Org: a.Org, Project: a.Project}, ID: a.ID}
	if err := r.Scope.Check(); err != nil {
		return r, invalid("%w", err)
	}
	if err := ref.CheckID(ref.GitOpsAgent, a.ID); err != nil {
		return r, invalid("%w", err)
	}
	if !t.Scope.Covers(r.Scope) {
		return r, fault.New(fault.Forbidden, "this token is for %s, and agent %s is in %s", t.Scope, a.ID, r.Scope)
	}
	if t.Binding != nil && t.Name != a.ID {
		return r, fault.New(fault.Forbidden, "this token is for delegates with the name %s, and this one speaks for agent %s", t.Name, a.ID)
	}
	return r, nil
}

// The longest text of a hello.
const mostOfHello = 256

func (s *fromAgents) hello(ctx context.Context, in *struct{ Body protocol.Hello }) (*struct{ Body protocol.Welcome }, error) {
	h := in.Body
	agent, err := s.agent(ctx, h.Agent)
	if err != nil {
		return nil, err
	}
	for _, text := range []string{h.Delegate, h.Version, h.ClusterUID, h.Kubernetes, h.Namespace} {
		if len(text) > mostOfHello {
			return nil, invalid("found a text of %d bytes in a hello; want %d at most", len(text), mostOfHello)
		}
	}
	if h.ClusterUID == "" {
		return nil, invalid("the hello of agent %s has no clusterUID", h.Agent.ID)
	}
	out, err := s.Mirror.Hello(ctx, agent, h)
	return &struct{ Body protocol.Welcome }{out}, err
}

func (s *fromAgents) poll(ctx context.Context, in *struct{ Body protocol.Poll }) (*struct{ Body protocol.News }, error) {
	agent, err := s.agent(ctx, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	out, err := s.Mirror.Poll(ctx, agent, in.Body)
	return &struct{ Body protocol.News }{out}, err
}

func (s *fromAgents) documents(ctx context.Context, in *struct{ Body protocol.Have }) (*struct{ Body protocol.Documents }, error) {
	agent, err := s.agent(ctx, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	out, err := s.Mirror.Documents(ctx, agent, in.Body)
	return &struct{ Body protocol.Documents }{out}, err
}

func (s *fromAgents) report(ctx context.Context, in *struct{ Body protocol.Report }) (*struct{ Body protocol.Reported }, error) {
	agent, err := s.agent(ctx, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	if n := len(in.Body.Apps); n > protocol.MaxApps {
		return nil, invalid("found %d applications in a report; want %d at most", n, protocol.MaxApps)
	}
	if n := len(in.Body.History); n > protocol.MaxHistory {
		return nil, invalid("found %d entries of histories in a report; want %d at most", n, protocol.MaxHistory)
	}
	for _, a := range in.Body.Apps {
		if err := checkAppKey(a.AppKey); err != nil {
			return nil, err
		}
	}
	for _, h := range in.Body.History {
		if err := checkAppKey(h.App); err != nil {
			return nil, err
		}
	}
	out, err := s.Mirror.Report(ctx, agent, in.Body)
	return &struct{ Body protocol.Reported }{out}, err
}

func checkAppKey(k protocol.AppKey) error {
	if err := ref.CheckID(ref.GitOpsApplication, k.Name); err != nil {
		return invalid("%w", err)
	}
	if k.Namespace != "" && !k.IsSet() {
		if err := ref.CheckID(ref.GitOpsApplication, k.Namespace); err != nil {
			return invalid("%w", err)
		}
	}
	return nil
}

func (s *fromAgents) answer(ctx context.Context, in *struct{ Body protocol.Answer }) (*nothing, error) {
	agent, err := s.agent(ctx, in.Body.Agent)
	if err != nil {
		return nil, err
	}
	return nil, s.Mirror.Answer(ctx, agent, in.Body)
}
