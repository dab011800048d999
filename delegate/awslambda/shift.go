package awslambda

import (
	"context"
	"strconv"

	sdk "github.com/aws/aws-sdk-go-v2/aws"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
)

// percent is a weight for people.
func percent(weight float64) string { return strconv.FormatFloat(weight*100, 'f', -1, 64) + " %" }

// shift sends a share of the traffic of the stage's aliases to the version that
// its canary has published.
func (s *session) shift(ctx context.Context) (task.Result, error) {
	s.Unit = unitTraffic
	was, released, err := s.checkpoints(ctx)
	if err != nil {
		return task.Result{}, err
	}
	if len(was) == 0 || released[was[0].Function].Version == "" {
		return task.Result{}, wrong("no AwsLambdaCanaryDeploy of this stage has published a version whose traffic could be shifted")
	}
	b := was[0]
	r := released[b.Function]
	if !r.Canary {
		if s.spec.Percent != 100 {
			return task.Result{}, wrong("AwsLambdaDeploy moved the alias to version %s; use AwsLambdaCanaryDeploy", r.Version)
		}
		s.Say("AwsLambdaDeploy has sent all traffic to version %s already", r.Version)
	} else if err := s.shiftAll(ctx, b, r); err != nil {
		return task.Result{}, err
	}
	return s.result(ctx, b.Function, r.Aliases, r.Version, "switched", map[string]any{
		"functionName": short(b.Function), "version": r.Version, "trafficPercentage": s.spec.Percent, "aliases": r.Aliases,
	})
}

func (s *session) shiftAll(ctx context.Context, b before, r release) error {
	for _, name := range r.Aliases {
		now, err := s.alias(ctx, b.Function, name)
		if err != nil {
			return err
		}
		old := b.Aliases[name].Version
		if old == "" {
			old = b.Version // the canary has put the alias there
		}
		want := alias{Version: r.Version, Description: now.Description}
		switch {
		case old == "" || old == r.Version:
			s.Say("There is no version but %s: all traffic goes to it", r.Version)
		case s.spec.Percent < 100:
			if err := s.alike(ctx, b.Function, old, r.Version); err != nil {
				return err
			}
			want.Version, want.Weights = old, map[string]float64{r.Version: float64(s.spec.Percent) / 100}
		}
		if err := s.point(ctx, b.Function, name, want); err != nil {
			return err
		}
	}
	return nil
}

// alike says whether two versions may share an alias: AWS wants them to have the
// same role and the same dead-letter queue.
func (s *session) alike(ctx context.Context, function, old, version string) error {
	a, err := s.settled(ctx, function, old, false)
	if err != nil {
		return err
	}
	b, err := s.settled(ctx, function, version, true)
	if err != nil {
		return err
	}
	queue := func(target *string) string {
		if target == nil || *target == "" {
			return "none"
		}
		return *target
	}
	was, is := "none", "none"
	if a.DeadLetterConfig != nil {
		was = queue(a.DeadLetterConfig.TargetArn)
	}
	if b.DeadLetterConfig != nil {
		is = queue(b.DeadLetterConfig.TargetArn)
	}
	const text = "the versions %s and %s of function %s can't share its traffic: their %s differ, %s and %s"
	switch {
	case sdk.ToString(a.Role) != sdk.ToString(b.Role):
		return fault.New(fault.Invalid, text, old, version, function, "execution roles (Role)", sdk.ToString(a.Role), sdk.ToString(b.Role)).Causing(fault.ConfigurationFailure)
	case was != is:
		return fault.New(fault.Invalid, text, old, version, function, "dead-letter queues (DeadLetterConfig)", was, is).Causing(fault.ConfigurationFailure)
	}
	return nil
}
