package task

// KubernetesOp says what a Kubernetes task does: one for each step type.
type KubernetesOp string

// The operations (semantics/kubernetes §1).
const (
	OpRolling             KubernetesOp = "K8sRollingDeploy"
	OpRollingRollback     KubernetesOp = "K8sRollingRollback"
	OpCanary              KubernetesOp = "K8sCanaryDeploy"
	OpCanaryDelete        KubernetesOp = "K8sCanaryDelete"
	OpProgressiveRollback KubernetesOp = "K8sProgressiveCanaryRollback"
	OpBlueGreen           KubernetesOp = "K8sBlueGreenDeploy"
	OpSwap                KubernetesOp = "K8sBGSwapServices"
	OpScale               KubernetesOp = "K8sScale"
	OpDelete              KubernetesOp = "K8sDelete"
	OpApply               KubernetesOp = "K8sApply"
	OpPatch               KubernetesOp = "K8sPatch"
	OpRollout             KubernetesOp = "K8sRollout"
	OpDryRun              KubernetesOp = "K8sDryRun"
	OpDiff                KubernetesOp = "K8sDiff"
	OpStageScaleDown      KubernetesOp = "K8sBlueGreenStageScaleDown"
	OpStageScaleUp        KubernetesOp = "K8sBlueGreenStageScaleUp"
	OpTrafficRouting      KubernetesOp = "K8sTrafficRouting"
)

// ReleaseLabel marks the pods that Kubernetes steps put somewhere
// (semantics/kubernetes §6).
const ReleaseLabel = "harness.io/release-name"

// Kubernetes is the spec of every Kubernetes step's Work. Release records
// carry who does it, so that a retry continues its own release and a rollback
// finds the one of its stage (semantics/kubernetes §9, §12, §21).
type Kubernetes struct {
	Op     KubernetesOp     `json:"op"`
	Target KubernetesTarget `json:"target"`

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
	ApplySource *Manifest `json:"applySource,omitempty"`
	// ApplyValues, ApplyPatches and ApplyParams are K8sApply's overrides: the
	// highest layers of values, patches of a Kustomize manifest and parameters
	// of an OpenshiftTemplate.
	ApplyValues  []ValuesFile       `json:"applyValues,omitempty"`
	ApplyPatches []ValuesFile       `json:"applyPatches,omitempty"`
	ApplyParams  []ValuesFile       `json:"applyParams,omitempty"`
	Delete       *ResourceSelection `json:"delete,omitempty"`
	Patch        *KubernetesPatch   `json:"patch,omitempty"`
	Rollout      *KubernetesRollout `json:"rollout,omitempty"`
	// Traffic is the routing that is made or changed; of a deployment, once its
	// workload is steady.
	Traffic *TrafficRouting `json:"traffic,omitempty"`
	// EncryptOutput: the manifests that K8sDryRun gives are a secret output.
	EncryptOutput bool `json:"encryptOutput,omitempty"`
	// CommandFlags are those that CheckFlag lets pass; the executor refuses others.
	CommandFlags []CommandFlag `json:"commandFlags,omitempty"`
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

// The strategies of a KubernetesPatch.
const (
	PatchStrategic = "Strategic"
	PatchMerge     = "Merge"
	PatchJSON      = "Json"
)

// KubernetesPatch is what K8sPatch does to a workload.
type KubernetesPatch struct {
	Strategy string `json:"strategy"` // Strategic, Merge, Json
	Source   Store  `json:"source"`   // the patch, in YAML or JSON
	// RecordCause annotates the workload with what changed it.
	RecordCause bool `json:"recordCause,omitempty"`
}

// The commands of a KubernetesRollout.
const (
	RolloutHistory = "history"
	RolloutPause   = "pause"
	RolloutRestart = "restart"
	RolloutResume  = "resume"
	RolloutStatus  = "status"
	RolloutUndo    = "undo"
)

// KubernetesRollout is what K8sRollout does to which workloads.
type KubernetesRollout struct {
	Command   string            `json:"command"`
	Resources ResourceSelection `json:"resources"`
}

// KubernetesTarget is a cluster, a namespace in it and what is deployed there.
type KubernetesTarget struct {
	Cluster     Cluster `json:"cluster"`
	Namespace   string  `json:"namespace"`
	ReleaseName string  `json:"releaseName"`
	// Manifest is the service's main manifest; nil if it has none.
	Manifest *Manifest `json:"manifest,omitempty"`
	// Values are the layers above the manifest's own valuesPaths, low to high
	// (semantics/entities §8).
	Values []ValuesFile `json:"values,omitempty"`
	// Patches are those above a Kustomize manifest's own, low to high.
	Patches []ValuesFile `json:"patches,omitempty"`
	// Params are the files of parameters above an OpenshiftTemplate's own, low
	// to high.
	Params []ValuesFile `json:"params,omitempty"`
	// Selectors are the cluster connector's delegate selectors.
	Selectors []string `json:"selectors,omitempty"`
}

// KubernetesPlace is where a release's pods are: in a cluster those that are
// named here, and those of the release's workloads.
type KubernetesPlace struct {
	Cluster Cluster `json:"cluster"`
	Pods    []Pods  `json:"pods,omitempty"`
}

// Pods are some pods of a namespace. Several of a place may have the same pod.
type Pods struct {
	Namespace string `json:"namespace"`
	Selector  string `json:"selector"` // by labels, e.g. "harness.io/release-name=web"
}

// Cluster is how to reach a Kubernetes API. Fields ending in PEM, Token and
// Password hold secret placeholders.
type Cluster struct {
	// Inherit uses the delegate's own access: its service account in a cluster,
	// else its kubeconfig.
	Inherit bool `json:"inherit,omitempty"`
	// Cloud asks a cloud for all that follows.
	Cloud         *CloudCluster `json:"cloud,omitempty"`
	URL           string        `json:"url,omitempty"`
	Token         string        `json:"token,omitempty"`
	CAPEM         string        `json:"caPEM,omitempty"` // empty: the server's certificate isn't checked only if Insecure
	ClientCertPEM string        `json:"clientCertPEM,omitempty"`
	ClientKeyPEM  string        `json:"clientKeyPEM,omitempty"`
	Username      string        `json:"username,omitempty"`
	Password      string        `json:"password,omitempty"`
}

// Unchecked says whether the certificate of the API's server isn't checked:
// nothing that is secret is sent to it.
func (c Cluster) Unchecked() bool {
	return c.CAPEM == "" && c.ClientCertPEM == "" && c.Token == "" && c.Password == ""
}

// Manifest is a source of manifests with its options (semantics/entities §2.3).
type Manifest struct {
	ID                 string   `json:"id"`
	Type               string   `json:"type"` // as in YAML, e.g. K8sManifest
	Store              Store    `json:"store"`
	ValuesPaths        []string `json:"valuesPaths,omitempty"`
	SkipVersioning     bool     `json:"skipVersioning,omitempty"`
	Declarative        bool     `json:"declarative,omitempty"`
	OptionalValuesYAML bool     `json:"optionalValuesYAML,omitempty"`
	Chart              *Chart   `json:"chart,omitempty"` // of a HelmChart

	Kustomize *Kustomize `json:"kustomize,omitempty"` // of a Kustomize manifest
	// ParamsPaths are files of parameters in an OpenshiftTemplate's repository.
	ParamsPaths []string `json:"paramsPaths,omitempty"`
}

// ValuesFile is one layer of values.
type ValuesFile struct {
	ID       string `json:"id"`
	Store    Store  `json:"store"`
	Optional bool   `json:"optional,omitempty"`
}

// Store is where files come from: a Git repository, a repository of charts, the
// file store, the document itself, a script or the main manifest's store.
type Store struct {
	Git    *Git        `json:"git,omitempty"`
	Charts *ChartRepo  `json:"charts,omitempty"`
	Files  *FileStore  `json:"files,omitempty"`
	Inline string      `json:"inline,omitempty"`
	Script *Extraction `json:"script,omitempty"`
	// Inherited are paths in the main manifest's own store.
	Inherited []string `json:"inherited,omitempty"`
}

// Extraction is a script that puts files into the folder where it runs.
type Extraction struct {
	Script string `json:"script"` // for Bash
	Path   string `json:"path"`   // of the files, below that folder
}

// ChartRepo is a repository of Helm charts: an HTTP server with an index, a
// registry, or a folder of a bucket (semantics/entities §2.4).
type ChartRepo struct {
	URL string `json:"url"` // of a registry: oci://host/path; of a bucket: for people
	OCI bool   `json:"oci,omitempty"`
	// A bucket: one of these, and its folder without a slash at either end.
	S3     *S3Objects    `json:"s3,omitempty"`
	GCS    *GoogleBucket `json:"gcs,omitempty"`
	Folder string        `json:"folder,omitempty"`
	// A cloud's registry, which is logged in to: one of these. Where ECR's URL is
	// empty, it is that of the credentials' account, with Folder below it.
	AWS    *AWS    `json:"aws,omitempty"`
	Google *Google `json:"google,omitempty"`
	// Credentials, as secret placeholders. Both empty: anonymous.
	Username string `json:"username,omitempty"`
	Password string `json:"password,omitempty"`
}

// Git is a place in a Git repository.
type Git struct {
	URL    string   `json:"url"`
	Branch string   `json:"branch,omitempty"`
	Commit string   `json:"commit,omitempty"` // a commit or a tag; wins over Branch
	Paths  []string `json:"paths"`            // files and folders
	// Credentials, as secret placeholders. All empty: anonymous.
	Username      string `json:"username,omitempty"`
	Password      string `json:"password,omitempty"` // or token
	SSHKey        string `json:"sshKey,omitempty"`   // PEM
	SSHUser       string `json:"sshUser,omitempty"`
	SSHPassphrase string `json:"sshPassphrase,omitempty"`
}
