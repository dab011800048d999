package kubernetes

import (
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/origin"
)

// Kind is the kind of its tasks.
const Kind task.Kind = "kubernetes"

// KindHelm is the kind of the tasks that Helm's library does: those of native
// Helm, and the one that reads what a chart says of itself.
const KindHelm task.Kind = "helm"

// Op says what a Kubernetes task does: one for each step type.
type Op string

// The operations (semantics/kubernetes §1).
const (
	OpRolling             Op = "K8sRollingDeploy"
	OpRollingRollback     Op = "K8sRollingRollback"
	OpCanary              Op = "K8sCanaryDeploy"
	OpCanaryDelete        Op = "K8sCanaryDelete"
	OpProgressiveRollback Op = "K8sProgressiveCanaryRollback"
	OpBlueGreen           Op = "K8sBlueGreenDeploy"
	OpSwap                Op = "K8sBGSwapServices"
	OpScale               Op = "K8sScale"
	OpDelete              Op = "K8sDelete"
	OpApply               Op = "K8sApply"
	OpPatch               Op = "K8sPatch"
	OpRollout             Op = "K8sRollout"
	OpDryRun              Op = "K8sDryRun"
	OpDiff                Op = "K8sDiff"
	OpStageScaleDown      Op = "K8sBlueGreenStageScaleDown"
	OpStageScaleUp        Op = "K8sBlueGreenStageScaleUp"
	OpTrafficRouting      Op = "K8sTrafficRouting"
)

// ReleaseLabel marks the pods that Kubernetes steps put somewhere
// (semantics/kubernetes §6).
const ReleaseLabel = "harness.io/release-name"

// Spec is the spec of every step's Work. Release records carry who does it, so
// that a retry continues its own release and a rollback finds the one of its
// stage (semantics/kubernetes §9, §12, §21).
type Spec struct {
	Op     Op     `json:"op"`
	Target Target `json:"target"`

	SkipDryRun       bool `json:"skipDryRun,omitempty"`
	Pruning          bool `json:"pruning,omitempty"`
	SkipSteadyState  bool `json:"skipSteadyState,omitempty"`
	SkipSameManifest bool `json:"skipSameManifest,omitempty"`
	SkipRendering    bool `json:"skipRendering,omitempty"`
	// CanaryInStage: a standard canary step runs in the same stage, so pod
	// templates get harness.io/track: stable (semantics/kubernetes §11.1).
	CanaryInStage bool `json:"canaryInStage,omitempty"`
	// BlueGreenInStage: the stage deploys a colour, so that is what K8sDiff
	// compares.
	BlueGreenInStage bool `json:"blueGreenInStage,omitempty"`

	Instances *InstanceSelection `json:"instances,omitempty"` // canary, scale, stage scale-up
	// TargetPercentage makes a canary a progressive one: it takes over this
	// share of the pods that serve; 0 for a standard canary.
	TargetPercentage int `json:"targetPercentage,omitempty"`

	Workload  string   `json:"workload,omitempty"`  // scale, patch: [namespace/]Kind/Name
	FilePaths []string `json:"filePaths,omitempty"` // apply
	// ApplySource replaces the service's manifests for K8sApply (manifestSource).
	ApplySource *origin.Manifest `json:"applySource,omitempty"`
	// ApplyValues, ApplyPatches and ApplyParams are K8sApply's overrides: the
	// highest layers of values, patches of a Kustomize manifest and parameters
	// of an OpenshiftTemplate.
	ApplyValues  []origin.ValuesFile `json:"applyValues,omitempty"`
	ApplyPatches []origin.ValuesFile `json:"applyPatches,omitempty"`
	ApplyParams  []origin.ValuesFile `json:"applyParams,omitempty"`
	Delete       *ResourceSelection  `json:"delete,omitempty"`
	Patch        *Patch              `json:"patch,omitempty"`
	Rollout      *Rollout            `json:"rollout,omitempty"`
	// Traffic is the routing that is made or changed; of a deployment, once its
	// workload is steady.
	Traffic *TrafficRouting `json:"traffic,omitempty"`
	// EncryptOutput: the manifests that K8sDryRun gives are a secret output.
	EncryptOutput bool `json:"encryptOutput,omitempty"`
	// CommandFlags are those that CheckFlag lets pass; the executor refuses others.
	CommandFlags []origin.CommandFlag `json:"commandFlags,omitempty"`
}

// InstanceSelection is a count or a percentage; exactly one is set.
type InstanceSelection struct {
	Count      *int `json:"count,omitempty"`
	Percentage *int `json:"percentage,omitempty"`
}

// ResourceSelection says which objects K8sDelete deletes, or K8sRollout rolls
// (semantics/kubernetes §15).
type ResourceSelection struct {
	Type            string   `json:"type"` // ResourceName, ManifestPath, ReleaseName
	Names           []string `json:"names,omitempty"`
	ManifestPaths   []string `json:"manifestPaths,omitempty"`
	AllManifests    bool     `json:"allManifests,omitempty"`
	DeleteNamespace bool     `json:"deleteNamespace,omitempty"`
}

// The strategies of a Patch.
const (
	PatchStrategic = "Strategic"
	PatchMerge     = "Merge"
	PatchJSON      = "Json"
)

// Patch is what K8sPatch does to a workload.
type Patch struct {
	Strategy string     `json:"strategy"` // Strategic, Merge, Json
	Source   task.Store `json:"source"`   // the patch, in YAML or JSON
	// RecordCause annotates the workload with what changed it.
	RecordCause bool `json:"recordCause,omitempty"`
}

// The commands of a Rollout.
const (
	RolloutHistory = "history"
	RolloutPause   = "pause"
	RolloutRestart = "restart"
	RolloutResume  = "resume"
	RolloutStatus  = "status"
	RolloutUndo    = "undo"
)

// Rollout is what K8sRollout does to which workloads.
type Rollout struct {
	Command   string            `json:"command"`
	Resources ResourceSelection `json:"resources"`
}

// Target is a cluster, a namespace in it and what is deployed there.
type Target struct {
	Cluster     task.Cluster `json:"cluster"`
	Namespace   string       `json:"namespace"`
	ReleaseName string       `json:"releaseName"`
	// Manifest is the service's main manifest; nil if it has none.
	Manifest *origin.Manifest `json:"manifest,omitempty"`
	// Values are the layers above the manifest's own valuesPaths, low to high
	// (semantics/entities §8).
	Values []origin.ValuesFile `json:"values,omitempty"`
	// Patches are those above a Kustomize manifest's own, low to high.
	Patches []origin.ValuesFile `json:"patches,omitempty"`
	// Params are the files of parameters above an OpenshiftTemplate's own, low
	// to high.
	Params []origin.ValuesFile `json:"params,omitempty"`
	// Selectors are the cluster connector's delegate selectors.
	Selectors []string `json:"selectors,omitempty"`
}

// Place is where a release's pods are: in a cluster those that are
// named here, and those of the release's workloads.
type Place struct {
	Cluster task.Cluster `json:"cluster"`
	Pods    []Pods       `json:"pods,omitempty"`
}

// Pods are some pods of a namespace. Several of a place may have the same pod.
type Pods struct {
	Namespace string `json:"namespace"`
	Selector  string `json:"selector"` // by labels, e.g. "harness.io/release-name=web"
}
