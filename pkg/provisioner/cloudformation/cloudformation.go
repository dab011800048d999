// Package cloudformation is the steps that work on stacks of AWS CloudFormation:
// CreateStack makes or updates one, CreateChangeSet shows before how, RollbackStack
// takes that back, and DeleteStack deletes one (semantics/pipeline §7.15).
//
// They belong to no deployment type. The stacks are worked on by
// delegate/cloudformation.
package cloudformation

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/provision"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/step"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Steps lists the step types.
func Steps() []step.Type {
	return []step.Type{changeSetType(), createType(), rollbackType(), deleteType()}
}

// stack are the keys that name a stack.
type stack struct {
	ConnectorRef yamldoc.Field[string]
	Region       yamldoc.Field[string]
	Name         yamldoc.Field[string]
	RoleARN      yamldoc.Field[string]
}

func (s *stack) keys(d *document.Decoder) document.Keys {
	return document.Keys{
		"connectorRef": d.Reference(ref.Connector, &s.ConnectorRef),
		"region":       d.Text(&s.Region),
		"stackName":    s.name(d),
		"roleArn":      d.Text(&s.RoleARN),
	}
}

// stackName is how CloudFormation has its stacks' names. An existing stack may be
// named by its ARN, too. How long they may be is apart from it: an expression that
// counts takes longer to compile, at each start of any program that has it, than all
// others together.
var stackName = regexp.MustCompile(`^([A-Za-z][A-Za-z0-9-]*|arn:[^ ]+)$`)

const (
	longestName = 128
	longestARN  = 1004
)

func isStack(name string) bool {
	longest := longestName
	if strings.HasPrefix(name, "arn:") {
		longest = longestARN
	}
	return len(name) <= longest && stackName.MatchString(name)
}

func (s *stack) name(d *document.Decoder) document.Rule {
	return func(v yamldoc.Value) {
		s.Name = d.String(v)
		if s.Name.Set && s.Name.Expr == "" && !isStack(s.Name.Value) {
			d.Errorf(v, document.BadIdentifier, "found the stack's name %q; want a letter, and then at most 127 letters, digits and '-'", yamldoc.Shorten(s.Name.Value))
		}
	}
}

// place is where the stack is when the step starts.
func (s *stack) place() Place {
	return Place{ConnectorRef: step.Text(s.ConnectorRef), Region: step.Text(s.Region), Stack: step.Text(s.Name), RoleARN: step.Text(s.RoleARN)}
}

// start has a delegate work on the stack at a place.
func start(in step.In, s Spec, at Place, by *provision.Provisioner) (step.Action, error) {
	if at.Region == "" || at.Stack == "" {
		return step.Action{}, fault.New(fault.Invalid, "the stack's region is %q and its name %q; want both", at.Region, at.Stack).Causing(fault.ConfigurationFailure)
	}
	account, selectors, err := in.AWS(at.ConnectorRef, at.Region)
	if err != nil {
		return step.Action{}, err
	}
	s.AWS, s.Stack, s.RoleARN = account, at.Stack, at.RoleARN
	w, err := step.Work(in, s)
	if err != nil {
		return step.Action{}, err
	}
	if by != nil {
		if by.Place, err = json.Marshal(at); err != nil {
			return step.Action{}, fmt.Errorf("encode the place of %s: %w", in.Node, err)
		}
		w.Provisioner = by
	}
	return step.Action{Task: &step.Task{Kind: Kind, Payload: w, Selectors: slices.Concat(in.Selectors, selectors)}}, nil
}

// placeOf reads where what an execution has done is found.
func placeOf(p step.Provisioned) (Place, error) {
	var at Place
	if err := json.Unmarshal(p.Place, &at); err != nil {
		return at, fmt.Errorf("read where the stack is that execution %s has worked on: %w", p.Execution, err)
	}
	return at, nil
}
