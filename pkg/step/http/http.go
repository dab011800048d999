// Package http is the step type Http: one request from a delegate, an
// assertion on its response and outputs made from it (semantics/pipeline §7.5).
//
// Outputs: output.{httpUrl, httpMethod, httpResponseCode, httpResponseBody,
// status} and output.outputVariables.<name>. Any response is a success unless
// the assertion says otherwise. The request itself is sent by delegate/http.
package http

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Type describes the step type. The assertion and the outputs are evaluated
// when the response is there.
func Type() step.Type {
	return step.Type{Name: "Http", New: decode, Outside: true, Finish: step.Finisher((*Spec).finish), Late: []string{"assertion", "outputVariables"}}
}

// Spec is the step's spec.
type Spec struct {
	Method    yamldoc.Field[string]
	URL       yamldoc.Field[string]
	Headers   []Header
	Body      yamldoc.Field[string]
	Assertion yamldoc.Field[string]
	Outputs   []step.Variable
	// The client's, in PEM.
	Certificate, Key yamldoc.Field[string]
}

// Header is one header field of the request.
type Header struct{ Key, Value yamldoc.Field[string] }

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Keys{
		"method":         d.Word(&s.Method, "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"),
		"url":            d.Text(&s.URL),
		"headers":        func(e yamldoc.Value) { s.Headers = headers(e, d) },
		"requestBody":    d.Text(&s.Body),
		"assertion":      d.Text(&s.Assertion),
		"inputVariables": func(e yamldoc.Value) { step.Variables(d, e, step.TypeString, step.TypeNumber, step.TypeSecret) }, // read by expressions, <+spec.inputVariables.x>
		"outputVariables": func(e yamldoc.Value) {
			s.Outputs = step.Variables(d, e, step.TypeString, step.TypeNumber, step.TypeSecret)
			refuseSecrets(s.Outputs, d)
		},
		"certificate":       d.Text(&s.Certificate),
		"certificateKey":    d.Text(&s.Key),
		"delegateSelectors": d.Words(nil), // the plan's
	})
	d.Missing(v, "method", "url")
	if (step.Text(s.Certificate) == "") != (step.Text(s.Key) == "") {
		d.Errorf(v, "WRONG_VALUE", "certificate and certificateKey go together; found one of them")
	}
	return s
}

func headers(v yamldoc.Value, d *document.Decoder) []Header {
	var list []Header
	for item := range d.Items(v) {
		var h Header
		d.Fields(item, document.Keys{
			"key":   d.Text(&h.Key),
			"value": d.Text(&h.Value),
		})
		d.Missing(item, "key")
		list = append(list, h)
	}
	return list
}

func refuseSecrets(outputs []step.Variable, d *document.Decoder) {
	for _, o := range outputs {
		if o.Type.Value == step.TypeSecret {
			d.Unsupported(o.At, "output variable %q: secret outputs of a request aren't supported yet", o.Name.Value)
		}
	}
}

// Start gives the request to a delegate.
func (s *Spec) Start(in step.In) (step.Action, error) {
	p := task.HTTP{Method: step.Text(s.Method), URL: step.Text(s.URL), Body: step.Text(s.Body), Certificate: step.Text(s.Certificate), Key: step.Text(s.Key)}
	for _, h := range s.Headers {
		p.Headers = append(p.Headers, task.HTTPHeader{Key: step.Text(h.Key), Value: step.Text(h.Value)})
	}
	return step.Action{Task: &step.Task{Kind: task.KindHTTP, Payload: p, Selectors: in.Selectors}}, nil
}

// response is the delegate's part of the outputs.
type response struct {
	URL    string `json:"httpUrl"`
	Method string `json:"httpMethod"`
	Code   int64  `json:"httpResponseCode"`
	Body   string `json:"httpResponseBody"`
}

// outputs is what expressions read below the step.
type outputs struct {
	response
	Status    string                `json:"status"` // SUCCESS or FAILURE
	Variables map[string]expr.Value `json:"outputVariables"`
}

// names are the response's parts as assertion and outputs call them
// (semantics/pipeline §3.4).
func (p response) names() map[string]expr.Value {
	return map[string]expr.Value{
		"httpResponseCode": expr.Int(p.Code), "httpResponseBody": expr.String(p.Body),
		"httpMethod": expr.String(p.Method), "httpUrl": expr.String(p.URL),
	}
}

// finish judges the response: it makes the output variables and holds the
// assertion against it. Without a response there is nothing to judge.
func (s *Spec) finish(in step.In, r task.Result) (plan.Outcome, error) {
	o := step.Outcome(r)
	if r.Status != task.Succeeded {
		return o, nil
	}
	var got struct {
		Output response `json:"output"`
	}
	if err := json.Unmarshal(r.Outputs, &got); err != nil {
		return plan.Outcome{}, fmt.Errorf("read the response: %w", err)
	}
	out := outputs{response: got.Output, Status: "SUCCESS"}
	if err := s.variables(in, &out); err != nil {
		return plan.Outcome{}, err
	}
	if body := strings.TrimSpace(step.Text(s.Assertion)); body != "" {
		holds, err := in.Holds(body, out.names())
		if err != nil {
			return plan.Outcome{}, fmt.Errorf("assertion: %w", err)
		}
		if !holds {
			out.Status, o.Status, o.Failures = "FAILURE", plan.Failed, []fault.FailureType{fault.Unknown}
			o.Message = fmt.Sprintf("the assertion %s is false; the response has status %d", body, out.Code)
		}
	}
	var err error
	if o.Outputs, err = json.Marshal(map[string]outputs{"output": out}); err != nil {
		return plan.Outcome{}, fmt.Errorf("encode the outputs: %w", err)
	}
	return o, nil
}

func (s *Spec) variables(in step.In, out *outputs) error {
	out.Variables = map[string]expr.Value{}
	names := out.names()
	for _, x := range s.Outputs {
		v, err := in.Late(step.Text(x.Value), names)
		if err != nil {
			return fmt.Errorf("output variable %q: %w", x.Name.Value, err)
		}
		if v.Secret() {
			return fault.New(fault.Invalid, "output variable %q holds a secret", x.Name.Value)
		}
		if x.Type.Value == step.TypeNumber {
			v = expr.ParseNumber(v.Text())
		}
		out.Variables[x.Name.Value] = v
	}
	return nil
}
