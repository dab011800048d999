// Package rego evaluates policies with the library of Open Policy Agent, within
// bounds: no network, a second of time, a fixed clock, messages of a length
// that can be read.
//
// It is the only package that imports that library, which is large. Which
// policies count for what is pkg/policy's and pkg/policy/judge's.
package rego

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"

	"github.com/slipway-cd/slipway/pkg/policy"
)

// Engine evaluates Rego. What it has compiled it remembers by the text.
type Engine struct {
	capabilities *ast.Capabilities

	mu       sync.Mutex
	compiled map[string]*compiled
}

var _ policy.Engine = (*Engine)(nil)

// New makes an Engine.
func New() *Engine {
	c := ast.CapabilitiesForThisVersion()
	c.Builtins = slices.DeleteFunc(c.Builtins, func(b *ast.Builtin) bool { return reaches(b.Name) })
	c.AllowNet = []string{}
	return &Engine{capabilities: c, compiled: map[string]*compiled{}}
}

// reaches says whether a built-in function sees more than the input.
func reaches(builtin string) bool {
	switch builtin {
	case "http.send", "opa.runtime", "rego.parse_module", "trace":
		return true
	}
	return strings.HasPrefix(builtin, "net.")
}

// compiled is a text that can be evaluated, or what is wrong with it.
type compiled struct {
	query    rego.PreparedEvalQuery
	problems []policy.Problem
	broken   bool
}

// remembered is how many texts are kept compiled.
const remembered = 200

// Check says what is wrong with a text.
func (e *Engine) Check(text string) []policy.Problem { return e.compile(text).problems }

func (e *Engine) compile(text string) *compiled {
	e.mu.Lock()
	known, ok := e.compiled[text]
	e.mu.Unlock()
	if ok {
		return known
	}
	fresh := e.fresh(text)
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.compiled) >= remembered {
		clear(e.compiled)
	}
	e.compiled[text] = fresh
	return fresh
}

func (e *Engine) fresh(text string) (c *compiled) {
	defer func() { // of a library that reads what anybody writes
		if p := recover(); p != nil {
			c = wrong(fmt.Errorf("the compiler broke: %v", p))
		}
	}()
	if len(text) > policy.MaxRego {
		return wrong(fmt.Errorf("the policy has %d bytes; the limit is %d", len(text), policy.MaxRego))
	}
	module, compiler, err := e.module(text)
	if err != nil {
		return wrong(err)
	}
	// In a list each, because what isn't defined is no value.
	own := module.Package.Path.String()
	query := fmt.Sprintf(`answer := {"deny": [x | x := %[1]s.deny], "warn": [x | x := %[1]s.warn]}`, own)
	prepared, err := rego.New(rego.Query(query), rego.Compiler(compiler)).PrepareForEval(context.Background())
	if err != nil {
		return wrong(fmt.Errorf("deny and warn must be rules, not functions: %v", err)) //nolint:errorlint // the places in it are of the query
	}
	c = &compiled{query: prepared}
	if !slices.ContainsFunc(module.Rules, func(r *ast.Rule) bool { return slices.Contains([]string{"deny", "warn"}, nameOf(r)) }) {
		c.problems = []policy.Problem{{Line: 1, Column: 1, Warning: true, Message: "the policy has no rule deny, so that it denies nothing"}}
	}
	return c
}

func nameOf(r *ast.Rule) string { return r.Head.Ref()[0].Value.String() }

// module reads a text as Rego of version 0, in which most policies are written,
// and if that can't be, of version 1.
func (e *Engine) module(text string) (*ast.Module, *ast.Compiler, error) {
	module, compiler, err := e.version(text, ast.RegoV0)
	if err == nil {
		return module, compiler, nil
	}
	newer, compiler, other := e.version(text, ast.RegoV1)
	switch {
	case other == nil:
		return newer, compiler, nil
	case module != nil: // it is of version 0, and names what there isn't
		return nil, nil, err
	}
	return nil, nil, other
}

// version reads a text as Rego of a version. The module is what could be read.
func (e *Engine) version(text string, v ast.RegoVersion) (*ast.Module, *ast.Compiler, error) {
	const file = "policy"
	module, err := ast.ParseModuleWithOpts(file, text, ast.ParserOptions{RegoVersion: v, Capabilities: e.capabilities})
	if err != nil {
		return nil, nil, err
	}
	if module == nil {
		return nil, nil, errors.New("the policy is empty; want a package")
	}
	c := ast.NewCompiler().WithCapabilities(e.capabilities).WithDefaultRegoVersion(v)
	if c.Compile(map[string]*ast.Module{file: module}); c.Failed() {
		return module, nil, c.Errors
	}
	return module, c, nil
}

// wrong is a text that can't be evaluated.
func wrong(err error) *compiled {
	var all ast.Errors
	if !errors.As(err, &all) {
		return &compiled{broken: true, problems: []policy.Problem{{Line: 1, Column: 1, Message: err.Error()}}}
	}
	c := &compiled{broken: true}
	for _, one := range all[:min(len(all), maxMessages)] {
		p := policy.Problem{Line: 1, Column: 1, Message: one.Message}
		if one.Location != nil {
			p.Line, p.Column = one.Location.Row, one.Location.Col
		}
		c.problems = append(c.problems, p)
	}
	return c
}

// Ask asks texts about an input, one after another.
func (e *Engine) Ask(ctx context.Context, texts []string, input any, now time.Time) ([]policy.Answer, error) {
	within, cancel := context.WithTimeoutCause(ctx, policy.LongestOfSet, policy.ErrLongestOfSet)
	defer cancel()
	out := make([]policy.Answer, len(texts))
	for i, text := range texts {
		if within.Err() == nil {
			out[i] = e.Evaluate(within, text, input, now)
		} else {
			out[i].Err = policy.ErrLongestOfSet
		}
		if err := context.Cause(ctx); err != nil { // nobody waits for the answers
			return nil, err
		}
	}
	return out, nil
}

// Evaluate asks a text about an input. It never panics, and ends in time.
func (e *Engine) Evaluate(ctx context.Context, text string, input any, now time.Time) (a policy.Answer) {
	c := e.compile(text)
	if c.broken {
		return policy.Answer{Err: fmt.Errorf("it can't be compiled: %s", c.problems[0].Message)}
	}
	defer func() {
		if p := recover(); p != nil {
			a = policy.Answer{Err: fmt.Errorf("the evaluation broke: %v", p)}
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, policy.Longest, policy.ErrLongest)
	defer cancel()
	results, err := c.query.Eval(ctx, rego.EvalInput(input), rego.EvalTime(now), rego.EvalSeed(&seed{}))
	switch {
	case errors.Is(context.Cause(ctx), policy.ErrLongest), errors.Is(context.Cause(ctx), policy.ErrLongestOfSet):
		return policy.Answer{Err: context.Cause(ctx)}
	case err != nil:
		return policy.Answer{Err: err}
	case len(results) != 1:
		return policy.Answer{Err: fmt.Errorf("it gave %d answers; want one", len(results))}
	}
	answer, _ := results[0].Bindings["answer"].(map[string]any)
	return policy.Answer{Deny: messages(answer["deny"]), Warn: messages(answer["warn"])}
}

// seed is the same randomness each time.
type seed struct{ n byte }

// Read gives bytes that differ from each other.
func (s *seed) Read(p []byte) (int, error) {
	for i := range p {
		s.n = s.n*5 + 1
		p[i] = s.n
	}
	return len(p), nil
}

// Bounds on what a policy says.
const (
	maxMessages = 50
	maxMessage  = 1000
)

// messages are what a rule says: true, a text, an object with one as msg, or
// several of them. It stands in a list, which is empty if the rule isn't
// defined.
func messages(rule any) []string {
	var out []string
	list, _ := rule.([]any)
	for _, value := range list {
		several, ok := value.([]any)
		if !ok {
			several = []any{value}
		}
		for _, one := range several {
			if text := message(one); text != "" {
				out = append(out, text)
			}
		}
	}
	if more := len(out) - maxMessages; more > 0 {
		out = append(out[:maxMessages], fmt.Sprintf("and %d more", more))
	}
	return out
}

// message is one of them as a text; empty: it says nothing.
func message(v any) string {
	text := ""
	switch v := v.(type) {
	case bool:
		if v {
			text = "it says no"
		}
	case string:
		text = v
	case map[string]any:
		if msg, ok := v["msg"].(string); ok {
			text = msg
		} else if len(v) > 0 {
			text = encoded(v)
		}
	case nil:
	default:
		text = encoded(v)
	}
	if runes := []rune(text); len(runes) > maxMessage {
		text = string(runes[:maxMessage]) + "..."
	}
	return text
}

func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // it came from JSON
		return "it says no"
	}
	return string(text)
}
