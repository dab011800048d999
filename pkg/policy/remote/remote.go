// Package remote evaluates Rego in a Lambda function that does nothing else: a
// Client asks it, and Answer is what the function does.
//
// The function has no rights, so that a policy that breaks out of its bounds, or
// takes all memory that there is, takes nothing with it. Which policies count is
// pkg/policy/judge's, and evaluating is pkg/policy/rego's.
package remote

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/policy"
)

// call is what the function gets: texts to check, or to ask about an input.
type call struct {
	Check string    `json:"check,omitempty"`
	Ask   []string  `json:"ask,omitempty"`
	Now   time.Time `json:"now,omitzero"`
	// Input is JSON, compressed: Lambda takes 6 MB, and inputs may have 10.
	Input []byte `json:"input,omitempty"`
}

// reply is what it says.
type reply struct {
	Problems []policy.Problem `json:"problems,omitempty"`
	Answers  []answer         `json:"answers,omitempty"`
}

// answer is a policy.Answer.
type answer struct {
	Deny  []string `json:"deny,omitempty"`
	Warn  []string `json:"warn,omitempty"`
	Error string   `json:"error,omitempty"`
}

// Client asks the function. It is for many goroutines.
type Client struct {
	api  *lambda.Client
	name string

	mu      sync.Mutex
	checked map[string][]policy.Problem
}

var _ policy.Engine = (*Client)(nil)

// New makes a Client of a function by its name.
func New(api *lambda.Client, name string) *Client {
	return &Client{api: api, name: name, checked: map[string][]policy.Problem{}}
}

const (
	// remembered is of how many texts it is kept what is wrong with them: a saved
	// policy is read again and again.
	remembered = 200
	// patience is how long a check may take, with the function's start.
	patience = 20 * time.Second
)

// Check says what is wrong with a text. If nobody can say so now, that is wrong
// with it.
func (c *Client) Check(text string) []policy.Problem {
	if len(text) > policy.MaxRego {
		return []policy.Problem{{Line: 1, Column: 1, Message: fmt.Sprintf("the policy has %d bytes; the limit is %d", len(text), policy.MaxRego)}}
	}
	c.mu.Lock()
	known, ok := c.checked[text]
	c.mu.Unlock()
	if ok {
		return known
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // documents are decoded without one
	defer cancel()
	r, err := c.invoke(ctx, call{Check: text})
	if err != nil {
		return []policy.Problem{{Line: 1, Column: 1, Message: "the policy can't be checked: " + fault.Told(err)}}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.checked) >= remembered {
		clear(c.checked)
	}
	c.checked[text] = r.Problems
	return r.Problems
}

// Ask asks texts about an input. If the function breaks by that, none of them has
// an answer, which counts as a deny.
func (c *Client) Ask(ctx context.Context, texts []string, input any, now time.Time) ([]policy.Answer, error) {
	packed, err := pack(input)
	if err != nil {
		return nil, err
	}
	r, err := c.invoke(ctx, call{Ask: texts, Input: packed, Now: now})
	out := make([]policy.Answer, len(texts))
	var b brokenError
	if errors.As(err, &b) {
		for i := range out {
			out[i].Err = b
		}
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	if len(r.Answers) != len(texts) {
		return nil, fault.New(fault.Internal, "the function %s gave %d answers to %d policies", c.name, len(r.Answers), len(texts))
	}
	for i, a := range r.Answers {
		out[i] = policy.Answer{Deny: a.Deny, Warn: a.Warn}
		if a.Error != "" {
			out[i].Err = errors.New(a.Error)
		}
	}
	return out, nil
}

// brokenError is why an invocation had no answer, in words of the function's runtime.
type brokenError struct{ kind string }

// Error says what happened.
func (b brokenError) Error() string {
	return fmt.Sprintf("the evaluation broke (%s): the policies took more memory or time than there is", b.kind)
}

func (c *Client) invoke(ctx context.Context, in call) (reply, error) {
	payload, err := json.Marshal(in)
	if err != nil {
		return reply{}, fmt.Errorf("encode policies: %w", err)
	}
	out, err := c.api.Invoke(ctx, &lambda.InvokeInput{FunctionName: aws.String(c.name), Payload: payload})
	if err != nil {
		return reply{}, fault.New(fault.Unavailable, "ask the function %s: %w", c.name, err)
	}
	if out.FunctionError != nil {
		var told struct{ ErrorType string }
		if json.Unmarshal(out.Payload, &told) != nil || told.ErrorType == "" {
			told.ErrorType = *out.FunctionError
		}
		return reply{}, brokenError{told.ErrorType}
	}
	var r reply
	if err := json.Unmarshal(out.Payload, &r); err != nil {
		return reply{}, fmt.Errorf("decode the answer of the function %s: %w", c.name, err)
	}
	return r, nil
}

func pack(input any) ([]byte, error) {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	err := json.NewEncoder(w).Encode(input)
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return nil, fmt.Errorf("encode what policies are asked about: %w", err)
	}
	return b.Bytes(), nil
}

// unpack gives the input with its numbers as they were written.
func unpack(packed []byte) (any, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, fmt.Errorf("read what policies are asked about: %w", err)
	}
	d := json.NewDecoder(io.LimitReader(r, policy.MaxRun+1))
	d.UseNumber()
	var input any
	if err := d.Decode(&input); err != nil {
		return nil, fmt.Errorf("decode what policies are asked about: %w", err)
	}
	return input, nil
}

// Answer is what the function answers a payload of a Client with.
func Answer(ctx context.Context, engine policy.Engine, payload []byte) ([]byte, error) {
	var in call
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, fmt.Errorf("decode a call: %w", err)
	}
	var out reply
	if len(in.Ask) == 0 {
		out.Problems = engine.Check(in.Check)
	} else {
		input, err := unpack(in.Input)
		if err != nil {
			return nil, err
		}
		answers, err := engine.Ask(ctx, in.Ask, input, in.Now)
		if err != nil {
			return nil, fmt.Errorf("evaluate policies: %w", err)
		}
		for _, a := range answers {
			said := answer{Deny: a.Deny, Warn: a.Warn}
			if a.Err != nil {
				said.Error = a.Err.Error()
			}
			out.Answers = append(out.Answers, said)
		}
	}
	text, err := json.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("encode what policies say: %w", err)
	}
	return text, nil
}
