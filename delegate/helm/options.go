package helm

import (
	"cmp"
	"context"
	"strconv"

	"helm.sh/helm/v4/pkg/action"

	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// serverSide says how objects are changed: as a flag says, or as the chart's
// helmVersion does. Helm 4 applies on the server, Helm 3 merged by itself.
func (s *session) serverSide(flags origin.HelmFlags) string {
	if flags.ServerSide != "" {
		return flags.ServerSide
	}
	m := s.p.Target.Manifest
	return strconv.FormatBool(m != nil && m.Chart != nil && m.Chart.HelmVersion == "V4")
}

func (s *session) installer(ctx context.Context, d *deployment) *action.Install {
	f := d.flags
	in := action.NewInstall(d.cfg)
	in.ReleaseName, in.Namespace, in.Timeout = d.name, s.p.Target.Namespace, timeout(ctx, f)
	in.WaitStrategy, in.WaitOptions = waiting(ctx, f)
	in.WaitForJobs, in.DisableHooks, in.Description = f.WaitForJobs, f.NoHooks || d.aside != nil, f.Description
	in.ForceReplace, in.ForceConflicts, in.TakeOwnership = f.Force, f.ForceConflicts, f.TakeOwnership
	in.ServerSideApply = s.serverSide(f) != "false"
	in.CreateNamespace, in.SkipCRDs, in.Replace = f.CreateNamespace, f.SkipCRDs, f.Replace || d.replace
	in.RollbackOnFailure, in.EnableDNS = f.RollbackOnFailure, f.EnableDNS
	in.DisableOpenAPIValidation, in.SkipSchemaValidation = f.SkipOpenAPI, f.SkipSchema
	in.SubNotes, in.HideNotes, in.Labels = f.SubchartNotes, f.HideNotes, s.labels(f)
	if d.aside != nil {
		in.PostRenderer = aside(d.aside)
	}
	return in
}

func (s *session) upgrader(ctx context.Context, d *deployment) *action.Upgrade {
	f := d.flags
	up := action.NewUpgrade(d.cfg)
	up.Namespace, up.Timeout, up.Install = s.p.Target.Namespace, timeout(ctx, f), true
	up.WaitStrategy, up.WaitOptions = waiting(ctx, f)
	up.WaitForJobs, up.DisableHooks, up.Description = f.WaitForJobs, f.NoHooks || d.aside != nil, f.Description
	up.ForceReplace, up.ForceConflicts, up.TakeOwnership = f.Force, f.ForceConflicts, f.TakeOwnership
	up.ServerSideApply = cmp.Or(f.ServerSide, "auto")
	up.SkipCRDs, up.CleanupOnFail, up.RollbackOnFailure, up.EnableDNS = f.SkipCRDs, f.CleanupOnFail, f.RollbackOnFailure, f.EnableDNS
	up.ResetValues, up.ReuseValues, up.ResetThenReuseValues = f.ResetValues, f.ReuseValues, f.ResetThenReuseValues
	up.DisableOpenAPIValidation, up.SkipSchemaValidation = f.SkipOpenAPI, f.SkipSchema
	up.SubNotes, up.HideNotes, up.MaxHistory, up.Labels = f.SubchartNotes, f.HideNotes, s.historyMax(f), s.labels(f)
	if d.aside != nil {
		up.PostRenderer = aside(d.aside)
	}
	return up
}

// historyMax is how many revisions are kept.
func (s *session) historyMax(f origin.HelmFlags) int {
	if n, err := strconv.Atoi(s.p.Environment[nativehelm.MaxHistory]); err == nil && !f.HistoryMaxGiven {
		return n
	}
	return f.HistoryMax
}
