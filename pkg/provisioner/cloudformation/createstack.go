package cloudformation

import (
	"fmt"
	"slices"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/provisioner"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// createType is the step type CreateStack: it makes a stack of a template, or
// updates the one of the name.
//
// Outputs: output.<key of an output of the stack>, output.stackId and
// output.stackStatus.
func createType() step.Type {
	return step.Type{Name: string(OpCreate), New: decodeCreate, Apart: "provisionerIdentifier", Preview: &step.Preview{By: string(OpDiff), Own: true}}
}

// create is the step's spec.
type create struct {
	Identifier yamldoc.Field[string]
	stack
	Template     source
	Tags         *source
	Parameters   []parameterFile
	Overrides    []step.Variable
	Capabilities []string
	Enough       []string
}

// source is where a text is.
type source struct {
	Type    yamldoc.Field[string]
	Content yamldoc.Field[string] // of Inline
	Store   *filesource.Store     // of Remote
	URL     yamldoc.Field[string] // of S3URL
}

// parameterFile is a file of parameters.
type parameterFile struct {
	Identifier yamldoc.Field[string]
	Store      *filesource.Store
}

// Where a text may be.
const (
	inline = "Inline"
	remote = "Remote"
	s3URL  = "S3URL"
)

func decodeCreate(d *document.Decoder, v yamldoc.Value) step.Spec { return readCreate(d, v) }

func readCreate(d *document.Decoder, v yamldoc.Value) *create {
	s := &create{}
	d.Fields(v, document.Keys{
		"provisionerIdentifier": provisioner.Identifier(d, &s.Identifier),
		"configuration":         func(v yamldoc.Value) { s.configuration(d, v) },
		"delegateSelectors":     d.Words(nil), // the plan's
	})
	d.Missing(v, "provisionerIdentifier", "configuration")
	return s
}

func (s *create) configuration(d *document.Decoder, v yamldoc.Value) {
	d.Fields(v, document.Merge(s.stack.keys(d), document.Keys{
		"templateFile": func(v yamldoc.Value) { s.Template.decode(d, v, "template", "templateBody", inline, remote, s3URL) },
		"parameters":   func(v yamldoc.Value) { s.Parameters = parameterFiles(d, v) },
		"parameterOverrides": func(v yamldoc.Value) {
			s.Overrides = step.Variables(d, v, step.TypeString, step.TypeNumber, step.TypeSecret)
		},
		"capabilities":        words(d, &s.Capabilities, capabilities()),
		"skipOnStackStatuses": words(d, &s.Enough, statuses()),
		"tags": func(v yamldoc.Value) {
			if !document.Neutral(v.Node) {
				s.Tags = &source{}
				s.Tags.decode(d, v, "tags", "content", inline, remote)
			}
		},
	}))
	d.Need(v, "connectorRef", "region", "stackName", "templateFile")
}

// decode reads {type, spec}; text is the key of one that is inline.
func (s *source) decode(d *document.Decoder, v yamldoc.Value, what, text string, types ...string) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Literal(&s.Type, types...),
		"spec": func(v yamldoc.Value) {
			switch {
			case !slices.Contains(types, typ):
			case typ == inline:
				d.Fields(v, document.Keys{text: d.Text(&s.Content)})
				d.Need(v, text)
			case typ == remote:
				d.Fields(v, document.Keys{"store": func(v yamldoc.Value) { s.Store = store(d, v, what) }})
				d.Need(v, "store")
			default:
				d.Fields(v, document.Keys{"templateUrl": d.Text(&s.URL)})
				d.Need(v, "templateUrl")
			}
		},
	})
	d.Need(v, "type", "spec")
}

// store is where one file is: in a repository, a bucket or the file store. What
// stands in the pipeline itself has no store.
func store(d *document.Decoder, v yamldoc.Value, what string) *filesource.Store {
	return filesource.Decode(d, v, filesource.Form{
		Of: what, Stores: append(filesource.Git(), filesource.Harness, filesource.S3), Shape: filesource.File,
	}, document.Keys{"metadata": document.Nothing}) // the console's
}

func parameterFiles(d *document.Decoder, v yamldoc.Value) []parameterFile {
	var out []parameterFile
	seen := document.Seen{}
	for item := range d.Items(v) {
		var f parameterFile
		d.Fields(item, document.Keys{
			"identifier": func(v yamldoc.Value) {
				f.Identifier = d.String(v)
				d.Unique(seen, v, f.Identifier.Value)
			},
			"store": func(v yamldoc.Value) {
				f.Store = filesource.Decode(d, v, filesource.Form{
					Of: "parameter file", Stores: append(filesource.Git(), filesource.Harness, filesource.S3, filesource.Inline), Shape: filesource.Files,
				}, document.Keys{"metadata": document.Nothing})
			},
		})
		d.Need(item, "identifier", "store")
		out = append(out, f)
	}
	return out
}

// words reads a list of words that are known, or an expression for all of it.
func words(d *document.Decoder, into *[]string, known []string) document.Rule {
	return func(v yamldoc.Value) {
		if v.Is(yamldoc.Scalar) {
			*into = step.Texts(v, d)
			return
		}
		*into = nil
		for item := range d.Items(v) {
			var f yamldoc.Field[string]
			d.Word(&f, known...)(item)
			*into = append(*into, step.Text(f))
		}
	}
}

func capabilities() []string {
	return []string{"CAPABILITY_IAM", "CAPABILITY_NAMED_IAM", "CAPABILITY_AUTO_EXPAND"}
}

// statuses are those that CloudFormation documents.
func statuses() []string {
	return []string{
		"CREATE_IN_PROGRESS", "CREATE_FAILED", "CREATE_COMPLETE", "ROLLBACK_IN_PROGRESS", "ROLLBACK_FAILED", "ROLLBACK_COMPLETE",
		"DELETE_IN_PROGRESS", "DELETE_FAILED", "DELETE_COMPLETE", "UPDATE_IN_PROGRESS", "UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "UPDATE_COMPLETE",
		"UPDATE_FAILED", "UPDATE_ROLLBACK_IN_PROGRESS", "UPDATE_ROLLBACK_FAILED", "UPDATE_ROLLBACK_COMPLETE_CLEANUP_IN_PROGRESS",
		"UPDATE_ROLLBACK_COMPLETE", "REVIEW_IN_PROGRESS", "IMPORT_IN_PROGRESS", "IMPORT_COMPLETE", "IMPORT_ROLLBACK_IN_PROGRESS",
		"IMPORT_ROLLBACK_FAILED", "IMPORT_ROLLBACK_COMPLETE",
	}
}

// Start has a delegate make the stack.
func (s *create) Start(in step.In) (step.Action, error) {
	by, err := provisioner.Of(s.Identifier)
	if err != nil {
		return step.Action{}, err
	}
	c, err := s.wanted(in)
	if err != nil {
		return step.Action{}, err
	}
	return start(in, Spec{Op: OpCreate, Create: c}, s.place(), by)
}

// wanted is what the stack is to be.
func (s *create) wanted(in step.In) (*Create, error) {
	var err error
	c := &Create{Capabilities: s.Capabilities, Enough: s.Enough}
	for what, list := range map[string][]string{"capabilities": s.Capabilities, "skipOnStackStatuses": s.Enough} {
		known := capabilities()
		if what == "skipOnStackStatuses" {
			known = statuses()
		}
		for _, word := range list {
			if !slices.Contains(known, word) {
				return nil, fault.New(fault.Invalid, "%s has %q; want some of %v", what, word, known).Causing(fault.ConfigurationFailure)
			}
		}
	}
	if s.Template.Type.Value == s3URL {
		c.URL = step.Text(s.Template.URL)
	} else if c.Template, err = s.Template.manifest(in, "templateFile"); err != nil {
		return nil, err
	}
	if s.Tags != nil {
		if c.Tags, err = s.Tags.manifest(in, "tags"); err != nil {
			return nil, err
		}
	}
	for _, f := range s.Parameters {
		files, err := in.Store(f.Store)
		if err != nil {
			return nil, fmt.Errorf("the parameters %s: %w", step.Text(f.Identifier), err)
		}
		c.Parameters = append(c.Parameters, aws.Manifest{ID: step.Text(f.Identifier), Type: "parameters", Store: files})
	}
	for _, o := range s.Overrides {
		value, err := o.Resolve(in)
		if err != nil {
			return nil, err
		}
		c.Overrides = append(c.Overrides, Parameter{Name: o.Name.Value, Value: value, Secret: o.Type.Value == step.TypeSecret})
	}
	return c, nil
}

// manifest is the text's file, for a delegate.
func (s *source) manifest(in step.In, key string) (*aws.Manifest, error) {
	m := &aws.Manifest{ID: key, Type: key, Store: task.Store{Inline: step.Text(s.Content)}}
	if s.Store == nil {
		return m, nil
	}
	files, err := in.Store(s.Store)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", key, err)
	}
	m.Store = files
	return m, nil
}
