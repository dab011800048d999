package helm

import (
	"context"
	"errors"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	release "helm.sh/helm/v4/pkg/release/v1"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// test is "helm test": the hooks that a chart has for it.
func (s *session) test(ctx context.Context, name string) error {
	flags, err := s.p.Flags(origin.HelmTest)
	if err != nil {
		return err
	}
	cfg, err := s.configure(unitWrapUp)
	if err != nil {
		return err
	}
	t := action.NewReleaseTesting(cfg)
	t.Namespace, t.Timeout = s.p.Target.Namespace, timeout(ctx, flags)
	_, t.WaitOptions = waiting(ctx, flags)
	for _, f := range flags.Filter {
		attribute, value, ok := strings.Cut(f, "=")
		switch {
		case ok && attribute == action.IncludeNameFilter:
			t.Filters[action.IncludeNameFilter] = append(t.Filters[action.IncludeNameFilter], value)
		case ok && attribute == action.ExcludeNameFilter:
			t.Filters[action.ExcludeNameFilter] = append(t.Filters[action.ExcludeNameFilter], value)
		default:
			return fault.New(fault.Invalid, "--filter %q isn't name=NAME or !name=NAME", f)
		}
	}
	got, shutdown, testErr := t.Run(name)
	if rel, ok := got.(*release.Release); ok && flags.Logs {
		if err := t.GetPodLogs(s.env.Log(unitWrapUp), rel); err != nil {
			say(s.env.LogError(unitWrapUp), "the logs of the tests: %s", err)
		}
	}
	if shutdown != nil { // the tests' pods are deleted only now
		testErr = errors.Join(testErr, shutdown())
	}
	if testErr != nil {
		return fault.New(fault.Invalid, "the tests of release %s: %w", name, testErr).Causing(fault.Verification)
	}
	return nil
}
