// Package downloadawss3 is the step type DownloadAwsS3: objects of a bucket of S3
// are brought into the workspace of the step's group, or of its stage.
//
// Outputs: output.files, the names of the files, and output.outputVariables, the
// texts of those that the step names.
package downloadawss3

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Name is the type's, as in YAML.
const Name = "DownloadAwsS3"

// Type describes the step type.
func Type() step.Type { return step.Type{Name: Name, Session: true, Brings: true, New: decode} }

// Spec is the step's spec.
type Spec struct {
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	Bucket       yamldoc.Field[string]
	Paths        yamldoc.Field[[]string]
	Into         yamldoc.Field[string]
	Told         yamldoc.Field[[]string]
}

func decode(d *document.Decoder, v yamldoc.Value) step.Spec {
	s := &Spec{}
	d.Fields(v, document.Merge(workspace.Pod(d), document.Keys{
		"connectorRef":           d.Reference(ref.Connector, &s.ConnectorRef),
		"region":                 d.Text(&s.Region),
		"bucketName":             d.Text(&s.Bucket),
		"paths":                  d.Words(&s.Paths),
		"downloadPath":           workspace.Inside(d, &s.Into),
		"outputFilePathsContent": workspace.InsideAll(d, &s.Told),
	}))
	d.Need(v, "connectorRef", "bucketName", "paths", "downloadPath")
	return s
}

// Start has the delegate of the session bring the objects.
func (s *Spec) Start(in step.In) (step.Action, error) {
	session, err := workspace.Session(in)
	if err != nil {
		return step.Action{}, err
	}
	if s.Bucket.Value == "" || len(s.Paths.Value) == 0 {
		return step.Action{}, fault.New(fault.Invalid, "bucketName or paths are empty").Causing(fault.ConfigurationFailure)
	}
	account, selectors, err := in.AWS(s.ConnectorRef.Value, s.Region.Value)
	if err != nil {
		return step.Action{}, err
	}
	into, err := workspace.Below(s.Into.Value)
	if err != nil {
		return step.Action{}, err
	}
	told, err := workspace.AllBelow(s.Told.Value)
	if err != nil {
		return step.Action{}, err
	}
	from := task.Store{S3: &task.S3Objects{AWS: account, Bucket: s.Bucket.Value, Paths: s.Paths.Value}}
	return workspace.Bring(in, workspace.Download{Session: session.ID, Manifests: []workspace.Manifest{{ID: into, Store: from}}, Told: told}, selectors...)
}
