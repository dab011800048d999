package api

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/engine"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/firing"
)

// Fire is what became of one event at one trigger.
type Fire struct {
	Org       string            `json:"org"`
	Project   string            `json:"project"`
	Pipeline  string            `json:"pipeline"`
	Trigger   string            `json:"trigger"`
	Event     string            `json:"event" doc:"The delivery's id, or the minute of a schedule"`
	At        string            `json:"at" format:"date-time"`
	Outcome   store.FireOutcome `json:"outcome" enum:"Started,Failed,Skipped,Rejected"`
	Reason    string            `json:"reason,omitempty" doc:"Why nothing started"`
	Execution string            `json:"execution,omitempty" doc:"The execution that started"`
	Subject   string            `json:"subject,omitempty" doc:"What the event was about, e.g. a branch"`
}

func fireOf(f store.Fire) Fire {
	return Fire{
		Org: f.Trigger.Scope.Org, Project: f.Trigger.Scope.Project, Pipeline: f.Trigger.Env, Trigger: f.Trigger.ID, Event: f.ID,
		At: f.At.UTC().Format("2006-01-02T15:04:05.000Z"), Outcome: f.Outcome, Reason: f.Reason, Execution: f.Execution, Subject: f.Subject,
	}
}

// Received is the answer to a delivery, in Harness's form.
type Received struct {
	Status string `json:"status" enum:"SUCCESS"`
	Data   struct {
		ID    string `json:"eventCorrelationId" doc:"The delivery's id; the history of triggers has it"`
		Fires []Fire `json:"fires" nullable:"false" doc:"The triggers that listen to it"`
	} `json:"data"`
}

// delivered is a request that brings a delivery.
type delivered struct {
	RawBody []byte `contentType:"application/json"`
	header  trigger.Header
}

// Resolve keeps the headers (huma.Resolver): which of them matter is the
// triggers' to say.
func (d *delivered) Resolve(ctx huma.Context) []error {
	d.header = trigger.Header{}
	ctx.EachHeader(func(name, value string) {
		name = strings.ToLower(name)
		if before, ok := d.header[name]; ok {
			value = before + "," + value
		}
		d.header[name] = value
	})
	return nil
}

func (d *delivered) delivery(source string) trigger.Delivery {
	return trigger.Delivery{Source: source, Header: d.header, Body: slices.Clone(d.RawBody)}
}

// hosts are those that sign what they send, by their names in paths.
func hosts() map[string]string {
	return map[string]string{"github": trigger.Github, "gitlab": trigger.Gitlab, "bitbucket": trigger.Bitbucket}
}

// signs says whether a delivery comes with what is to prove it; nothing of its
// body is read otherwise. Whether it proves anything is the triggers' to say.
func signs(r *http.Request) error {
	to := strings.TrimPrefix(r.URL.Path, webhookPaths)
	d := trigger.Delivery{Source: hosts()[to], Header: trigger.Header{}}
	for name := range r.Header {
		d.Header[strings.ToLower(name)] = r.Header.Get(name)
	}
	token := d.Header.Get("X-Api-Key") != ""
	switch {
	case r.Method != http.MethodPost, strings.Contains(to, "/") && !strings.HasPrefix(to, "listen/"):
		return nil // no endpoint
	case to == "aws", strings.HasPrefix(to, "listen/"):
		if !token {
			return fault.New(fault.Unauthenticated, "an event needs an API token in the header X-Api-Key")
		}
	case to == "custom":
		if !token && d.Proof() == "" {
			return fault.New(fault.Unauthenticated, "Authorization is mandatory for custom triggers. Please add X-Api-Key header in the request")
		}
	case d.Source == "":
		return invalid("the host %q isn't one of github, gitlab and bitbucket", to)
	case d.Proof() == "":
		return d.Unproven()
	}
	return nil
}

func (s *Server) webhooks() {
	tags := []string{"Webhooks"}
	// The framework compares with >=, so a body of exactly the limit needs one more.
	const limit = trigger.MaxBytes + 1
	public := []map[string][]string{} // no token: the sender proves itself
	// The body stays as it is: it is what was signed.
	exempt(s, action.Public, huma.Operation{
		OperationID: "deliver", Method: http.MethodPost, Path: webhookPaths + "{host}", Tags: tags, MaxBodyBytes: limit, Security: public,
		SkipValidateBody: true,
		Summary:          "Take in what a Git host sends; the header that it signs with must fit the secret of a trigger",
	}, inTurn(s, s.deliver))
	exempt(s, action.Public, huma.Operation{
		OperationID: "deliverCustom", Method: http.MethodPost, Path: webhookPaths + "custom", Tags: tags, MaxBodyBytes: limit, Security: public,
		SkipValidateBody: true,
		Summary:          "Take in any JSON for custom triggers; X-Api-Key has a token, or X-Hub-Signature-256 fits the secret of a trigger",
	}, inTurn(s, s.deliverCustom))
	exempt(s, action.Public, huma.Operation{
		OperationID: "deliverAWS", Method: http.MethodPost, Path: webhookPaths + "aws", Tags: tags, MaxBodyBytes: limit, Security: public,
		SkipValidateBody: true,
		Summary:          "Take in an event of ECR or S3 as EventBridge delivers it, for artifact triggers; X-Api-Key has a token",
	}, inTurn(s, s.deliverAWS))
	exempt(s, action.Public, huma.Operation{
		OperationID: "deliverEvent", Method: http.MethodPost, Path: webhookPaths + "listen/{webhook}", Tags: tags, MaxBodyBytes: limit, Security: public,
		SkipValidateBody: true,
		Summary:          "Take in any JSON for the EventListener steps that wait at a webhook; X-Api-Key has a token",
	}, inTurn(s, s.deliverEvent))
}

func (s *Server) deliverAWS(ctx context.Context, in *struct{ delivered }) (*struct{ Body Received }, error) {
	return received(s.Triggers.DeliverAWS(ctx, in.delivery("")))
}

func (s *Server) deliver(ctx context.Context, in *struct {
	delivered
	Host string `path:"host" enum:"github,gitlab,bitbucket" doc:"Who sends it"`
}) (*struct{ Body Received }, error) {
	return received(s.Triggers.Deliver(ctx, in.delivery(hosts()[in.Host])))
}

func (s *Server) deliverCustom(ctx context.Context, in *struct {
	delivered
	Account  string `query:"accountIdentifier" maxLength:"128" doc:"The account; there is but one"`
	Org      string `query:"orgIdentifier" required:"true" maxLength:"128"`
	Project  string `query:"projectIdentifier" required:"true" maxLength:"128"`
	Pipeline string `query:"pipelineIdentifier" maxLength:"128" doc:"Only triggers of this pipeline"`
	Trigger  string `query:"triggerIdentifier" maxLength:"128" doc:"Only this trigger of the pipeline"`
}) (*struct{ Body Received }, error) {
	switch {
	case in.Account != "" && in.Account != s.Triggers.Account:
		return nil, notFound("no account %q; the one here is %q", in.Account, s.Triggers.Account)
	case in.Trigger != "" && in.Pipeline == "":
		return nil, invalid("triggerIdentifier is given without the pipelineIdentifier of its pipeline")
	}
	scope := ref.Scope{Account: s.Triggers.Account, Org: in.Org, Project: in.Project}
	if err := scope.Check(); err != nil {
		return nil, invalid("%w", err)
	}
	return received(s.Triggers.DeliverCustom(ctx, in.delivery(trigger.Custom), firing.Target{
		Scope:    scope,
		Pipeline: in.Pipeline, Trigger: in.Trigger,
	}))
}

// listened is the answer to an event for steps.
type listened struct {
	ID    string         `json:"eventCorrelationId" doc:"The delivery's id"`
	Steps []engine.Heard `json:"steps" nullable:"false" doc:"Those that were waiting for events"`
}

func (s *Server) deliverEvent(ctx context.Context, in *struct {
	delivered
	Webhook string `path:"webhook" maxLength:"128" doc:"The webhookIdentifier of the steps"`
	Account string `query:"accountIdentifier" maxLength:"128" doc:"The account; there is but one"`
	Org     string `query:"orgIdentifier" required:"true" maxLength:"128"`
	Project string `query:"projectIdentifier" required:"true" maxLength:"128"`
}) (*struct{ Body listened }, error) {
	if in.Account != "" && in.Account != s.Triggers.Account {
		return nil, notFound("no account %q; the one here is %q", in.Account, s.Triggers.Account)
	}
	scope := ref.Scope{Account: s.Triggers.Account, Org: in.Org, Project: in.Project}
	if err := scope.Check(); err != nil {
		return nil, invalid("%w", err)
	}
	l, err := s.Triggers.DeliverEvent(ctx, in.delivery(trigger.Custom), scope, in.Webhook)
	if err != nil {
		return nil, err
	}
	out := &struct{ Body listened }{listened{ID: l.ID, Steps: l.Steps}}
	if out.Body.Steps == nil {
		out.Body.Steps = []engine.Heard{}
	}
	return out, nil
}

func received(r firing.Report, err error) (*struct{ Body Received }, error) {
	if err != nil {
		return nil, err
	}
	out := &struct{ Body Received }{Received{Status: "SUCCESS"}}
	out.Body.Data.ID, out.Body.Data.Fires = r.ID, make([]Fire, len(r.Fires))
	for i, f := range r.Fires {
		out.Body.Data.Fires[i] = fireOf(f)
	}
	return out, nil
}
