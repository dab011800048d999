package nativehelm_test

import (
	"testing"
	"time"

	"github.com/slipway-cd/slipway/pkg/swimlane/nativehelm"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// semantics/kubernetes §23.30: of a command, the step's flags replace the
// chart's; nothing is merged.
func TestStepFlagsReplaceTheCharts(t *testing.T) {
	t.Parallel()
	h := nativehelm.Spec{CommandFlags: []origin.CommandFlag{{Command: origin.HelmUpgrade, Flag: "--timeout 5m"}}}
	h.Target.Manifest = &origin.Manifest{Chart: &origin.Chart{CommandFlags: []origin.CommandFlag{{Command: origin.HelmUpgrade, Flag: "--atomic"}, {Command: origin.HelmInstall, Flag: "--skip-crds"}, {Command: origin.HelmFetch, Flag: "--devel"}, {Command: origin.HelmAdd, Flag: "--pass-credentials"}}}}
	up, err := h.Flags(origin.HelmUpgrade)
	if err != nil || up.RollbackOnFailure || up.Timeout != 5*time.Minute {
		t.Errorf("Upgrade has %+v, %v; want the step's alone", up, err)
	}
	in, err := h.Flags(origin.HelmInstall)
	if err != nil || !in.SkipCRDs {
		t.Errorf("Install has %+v, %v; want the chart's", in, err)
	}
	get, err := h.Download()
	if err != nil || !get.Devel || !get.PassEverywhere {
		t.Errorf("downloads have %+v, %v; want those of Fetch and Add", get, err)
	}
}

// Flags of Delete count where there are none of Uninstall, and those of Update
// for a chart's download.
func TestOlderNames(t *testing.T) {
	t.Parallel()
	h := nativehelm.Spec{}
	h.Target.Manifest = &origin.Manifest{Chart: &origin.Chart{CommandFlags: []origin.CommandFlag{{Command: origin.HelmDelete, Flag: "--keep-history"}, {Command: origin.HelmUpdate, Flag: "--timeout 30s"}}}}
	if f, err := h.Removal(); err != nil || !f.KeepHistory {
		t.Errorf("%+v, %v; want Delete's flags", f, err)
	}
	if f, err := h.Download(); err != nil || f.Timeout != 30*time.Second {
		t.Errorf("%+v, %v; want Update's time", f, err)
	}
	h.CommandFlags = []origin.CommandFlag{{Command: origin.HelmUninstall, Flag: "--no-hooks"}}
	if f, err := h.Removal(); err != nil || f.KeepHistory || !f.NoHooks {
		t.Errorf("%+v, %v; want Uninstall's flags", f, err)
	}
	if h.Has(origin.HelmList) || !h.Has(origin.HelmUninstall) || !h.Has(origin.HelmUpdate) {
		t.Error("flags are found for the wrong commands")
	}
}
