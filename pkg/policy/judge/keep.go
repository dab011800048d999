package judge

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/slipway-cd/slipway/pkg/policy"
)

// keep writes down what sets came to, if that isn't that all is well, or if it was
// before a run. What is asked again because a call was cut short, and comes to the
// same, is one evaluation.
func (j *Judge) keep(ctx context.Context, c Case, v policy.Verdict, input []byte, now time.Time) (string, error) {
	status, run := v.Status(), c.Moment.Action == policy.OnRun
	if status == policy.Pass && !run || len(v) == 0 || c.Unkept {
		return "", nil
	}
	e := policy.Evaluation{
		ID: c.evaluation(v), Scope: c.Scope, Org: c.Scope.Org, Project: c.Scope.Project, Type: c.Moment.Type, Action: c.Moment.Action, Entity: c.Entity,
		Execution: c.Execution, Node: c.Node, Attempt: c.Attempt, Actor: c.Actor, Status: status, Sets: v.Evaluated(), CreatedAt: now.UTC().Truncate(time.Millisecond),
	}
	e.ExpiresAt = e.CreatedAt.Add(policy.KeptFor)
	if status == policy.Pass {
		e.ExpiresAt = e.CreatedAt.Add(policy.KeptForPassed)
	}
	if run && status == policy.Refused {
		e.Execution = "" // which there isn't
	}
	if err := j.evaluations.KeepEvaluation(ctx, e, input); err != nil {
		return "", fmt.Errorf("keep what policies came to: %w", err)
	}
	return e.ID, nil
}

// evaluation is the id of what sets came to: the same for the same in an execution,
// another one each time elsewhere.
func (c Case) evaluation(v policy.Verdict) string {
	if c.Execution == "" {
		return "e" + strings.ToLower(rand.Text()[:20])
	}
	parts := []string{c.Execution, c.Node, fmt.Sprint(c.Attempt), c.Moment.String(), string(v.Status())}
	for _, s := range v {
		parts = append(parts, s.Name)
	}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\n")))
	return "e" + hex.EncodeToString(sum[:10])
}
