package chart

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/common"
	v2 "helm.sh/helm/v4/pkg/chart/v2"
	release "helm.sh/helm/v4/pkg/release/v1"
	"k8s.io/client-go/discovery"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Release is what a chart is rendered for.
type Release struct {
	Name      string
	Namespace string
	// Cluster says which kinds and which version there are; nil takes Helm's
	// own defaults.
	Cluster *common.Capabilities
}

// Capabilities asks a cluster for its version, and for its kinds unless they
// are known.
func Capabilities(cluster discovery.CachedDiscoveryInterface) (*common.Capabilities, error) {
	version, err := cluster.ServerVersion()
	if err != nil {
		return nil, fault.New(fault.Unavailable, "the cluster's version: %w", err)
	}
	kinds, err := action.GetVersionSet(cluster)
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
		return nil, fault.New(fault.Unavailable, "the cluster's kinds: %w", err)
	}
	out := common.DefaultCapabilities.Copy()
	out.KubeVersion = common.KubeVersion{Version: version.GitVersion, Major: version.Major, Minor: version.Minor}
	out.APIVersions = kinds
	return out, nil
}

// Template renders a chart as "helm template" does. Hooks are objects like all
// others, except for tests, which are left out (semantics/kubernetes §4.3).
func (r Reader) Template(ctx context.Context, c *v2.Chart, values map[string]any, to Release, flags origin.HelmFlags) (string, error) {
	cfg := action.NewConfiguration(action.ConfigurationSetLogger(Logger(r.Log)))
	in := action.NewInstall(cfg)
	in.DryRunStrategy, in.ReleaseName, in.Namespace, in.Replace = action.DryRunClient, to.Name, to.Namespace, true
	in.IncludeCRDs, in.IsUpgrade, in.DisableHooks = flags.IncludeCRDs && !flags.SkipCRDs, flags.IsUpgrade, flags.NoHooks
	in.EnableDNS, in.SkipSchemaValidation, in.DisableOpenAPIValidation = flags.EnableDNS, flags.SkipSchema, true
	in.APIVersions = flags.APIVersions
	if err := capabilities(in, to.Cluster, flags); err != nil {
		return "", err
	}
	got, err := in.RunWithContext(ctx, c, values)
	if err != nil {
		return "", fault.New(fault.Invalid, "chart %s can't be rendered: %w", c.Name(), err)
	}
	rel, ok := got.(*release.Release)
	if !ok {
		return "", fmt.Errorf("a rendered chart is a %T", got)
	}
	return selected(rel, flags)
}

func capabilities(in *action.Install, cluster *common.Capabilities, flags origin.HelmFlags) error {
	if cluster != nil {
		version := cluster.KubeVersion
		in.KubeVersion = &version
		in.APIVersions = append(in.APIVersions, cluster.APIVersions...)
	}
	if flags.KubeVersion != "" {
		version, err := common.ParseKubeVersion(flags.KubeVersion)
		if err != nil {
			return fault.New(fault.Invalid, "--kube-version %q: %w", flags.KubeVersion, err)
		}
		in.KubeVersion = version
	}
	return nil
}

// selected joins what was rendered: all of it, or the files that flags name.
func selected(rel *release.Release, flags origin.HelmFlags) (string, error) {
	var b strings.Builder
	b.WriteString(rel.Manifest)
	for _, h := range rel.Hooks {
		if !flags.NoHooks && !slices.Contains(h.Events, release.HookTest) {
			fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", h.Path, h.Manifest)
		}
	}
	if len(flags.ShowOnly) == 0 {
		return b.String(), nil
	}
	var out strings.Builder
	for _, want := range flags.ShowOnly {
		n := out.Len()
		for doc := range strings.SplitSeq(b.String(), "---\n# Source: ") {
			path, text, _ := strings.Cut(doc, "\n")
			if _, below, ok := strings.Cut(path, "/"); ok && below == strings.TrimPrefix(want, "/") {
				fmt.Fprintf(&out, "---\n# Source: %s\n%s", path, text)
			}
		}
		if out.Len() == n {
			return "", fault.New(fault.NotFound, "the chart renders no file %q", want)
		}
	}
	return out.String(), nil
}

// Logger is a log for Helm's library: what it has to say to people, without
// the time, which every line has anyway.
func Logger(w io.Writer) slog.Handler {
	return slog.NewTextHandler(w, &slog.HandlerOptions{Level: slog.LevelInfo, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}})
}
