package helm

import (
	"slices"

	"helm.sh/helm/v4/pkg/action"
	chart "helm.sh/helm/v4/pkg/chart/common"
	release "helm.sh/helm/v4/pkg/release/v1"

	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// version says which Helm this is, as "helm version" does, where a flag asks
// for it.
func (s *session) version() error {
	flags, err := s.p.Flags(origin.HelmVersion)
	if err != nil || !s.p.Has(origin.HelmVersion) {
		return err
	}
	about := chart.DefaultCapabilities.HelmVersion
	if flags.Short {
		say(s.env.Log(unitInit), "%s", about.Version)
	} else {
		say(s.env.Log(unitInit), "Helm %s as a library, built with %s", about.Version, about.GoVersion)
	}
	return nil
}

// list says which releases there are, as "helm list" does, where flags ask for
// it.
func (s *session) list(cfg *action.Configuration) error {
	flags, err := s.p.Flags(origin.HelmList)
	if err != nil || !s.p.Has(origin.HelmList) {
		return err
	}
	l := action.NewList(cfg)
	l.Filter, l.Selector, l.Limit, l.Offset = flags.NameFilter, flags.Selector, flags.Max, flags.Offset
	l.ByDate, l.SortReverse = flags.ByDate, flags.Reverse
	has := func(status string) bool { return slices.Contains(flags.Statuses, status) }
	l.Deployed, l.Failed, l.Pending, l.Superseded = has("deployed"), has("failed"), has("pending"), has("superseded")
	l.Uninstalled, l.Uninstalling = has("uninstalled"), has("uninstalling")
	if len(flags.Statuses) > 0 {
		l.SetStateMask()
	}
	found, err := l.Run()
	if err != nil {
		return refused(err)
	}
	log := s.env.Log(unitWrapUp)
	for _, one := range found {
		r, ok := one.(*release.Release)
		switch {
		case !ok:
		case flags.Short:
			say(log, "%s", r.Name)
		default:
			say(log, "%s\trevision %d\t%s\t%s %s", r.Name, r.Version, r.Info.Status, r.Chart.Name(), r.Chart.Metadata.Version)
		}
	}
	return nil
}
