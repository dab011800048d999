package cloudformation

import (
	"slices"

	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// Kind is the tasks that work on stacks.
const Kind task.Kind = "cloudformation"

// Kinds are those of the steps' tasks.
func Kinds() swimlane.Kinds {
	return swimlane.Kinds{{Name: Kind, Fetched: swimlane.Fetching((*Spec).fetched)}}
}

// Op is what a task does.
type Op string

// The operations, by the types of their steps.
const (
	OpChangeSet Op = "CreateChangeSet"
	OpCreate    Op = "CreateStack"
	OpRollback  Op = "RollbackStack"
	OpDelete    Op = "DeleteStack"
	OpDiff      Op = "StackDiff" // of a preview
)

// Spec is the work on a stack, of a task.Work.
type Spec struct {
	Op      Op       `json:"op"`
	AWS     task.AWS `json:"aws"`
	Stack   string   `json:"stack"`             // its name
	RoleARN string   `json:"roleArn,omitempty"` // that CloudFormation assumes
	Create  *Create  `json:"create,omitempty"`
}

// Create is what a stack is to be.
type Create struct {
	// Template is its file; URL is where CloudFormation reads it itself.
	Template     *aws.Manifest `json:"template,omitempty"`
	URL          string        `json:"url,omitempty"`
	Tags         *aws.Manifest `json:"tags,omitempty"`
	Capabilities []string      `json:"capabilities,omitempty"`
	// Parameters are files of them, the later of which win, and Overrides win over
	// all.
	Parameters []aws.Manifest `json:"parameters,omitempty"`
	Overrides  []Parameter    `json:"overrides,omitempty"`
	// Enough are final statuses of the stack that are good enough.
	Enough []string `json:"enough,omitempty"`
}

// Parameter is a parameter of a template.
type Parameter struct {
	Name   string `json:"name"`
	Value  string `json:"value"`
	Secret bool   `json:"secret,omitempty"`
}

// manifests are those of the files that the stack is made of.
func (c *Create) manifests() []aws.Manifest {
	if c == nil {
		return nil
	}
	all := slices.Clone(c.Parameters)
	for _, m := range []*aws.Manifest{c.Template, c.Tags} {
		if m != nil {
			all = append(all, *m)
		}
	}
	return all
}

func (s *Spec) fetched() swimlane.Fetched { return aws.Fetched(s.Create.manifests()...) }

// Place is where a stack is found again by its provisioner's identifier alone, of
// a provision.Provisioner.
type Place struct {
	ConnectorRef string `json:"connectorRef"`
	Region       string `json:"region"`
	Stack        string `json:"stackName"`
	RoleARN      string `json:"roleArn,omitempty"`
}
