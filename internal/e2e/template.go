package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// template is the synthesized installation, as far as the emulators take it.
type template struct {
	table      dynamodb.CreateTableInput
	expires    string // the attribute of the table's time to live
	machine    string // the state machine's name
	definition string
	substitute []string // what the definition has names for
	functions  map[string]deployed
	mappings   []testaws.Mapping
	rules      []testaws.Rule
	routes     map[string]string   // of the HTTP API, to integrations
	functionOf map[string]string   // an integration's
	rights     map[string][]string // actions by function
}

// deployed is a function as the template has it.
type deployed struct {
	timeout int
	env     []string // names of its variables
}

// resource is one resource of a CloudFormation template.
type resource struct {
	Type       string
	Properties json.RawMessage
}

// readTemplate reads what "make test-infra" has left; it skips the test without it.
func readTemplate(tb testing.TB) template {
	tb.Helper()
	_, here, _, _ := runtime.Caller(0)
	dir := filepath.Join(filepath.Dir(here), "../../dist/test/cdk.out")
	t := template{functions: map[string]deployed{}, rights: map[string][]string{}, routes: map[string]string{}, functionOf: map[string]string{}}
	for _, stack := range []string{"State", "Compute"} {
		doc, err := os.ReadFile(filepath.Join(dir, stack+".template.json"))
		if os.IsNotExist(err) {
			tb.Skip("there is no synthesized template; make test-infra makes it")
		}
		if err == nil {
			err = t.read(dir, doc)
		}
		if err != nil {
			tb.Fatalf("template %s: %v", stack, err)
		}
	}
	if t.table.TableName == nil || t.definition == "" || len(t.functions) == 0 {
		tb.Fatalf("the template lacks its table, its machine or its functions: %+v", t)
	}
	return t
}

func (t *template) read(dir string, doc []byte) error {
	var stack struct{ Resources map[string]resource }
	if err := json.Unmarshal(doc, &stack); err != nil {
		return err
	}
	for name, r := range stack.Resources {
		var err error
		switch r.Type {
		case "AWS::DynamoDB::Table":
			err = t.readTable(r.Properties)
		case "AWS::Lambda::EventSourceMapping":
			err = t.readMapping(r.Properties)
		case "AWS::ApiGatewayV2::Route":
			err = t.readRoute(r.Properties)
		case "AWS::ApiGatewayV2::Integration":
			err = t.readIntegration(name, r.Properties)
		case "AWS::Events::Rule":
			err = t.readRule(r.Properties)
		case "AWS::StepFunctions::StateMachine":
			err = t.readMachine(dir, r.Properties)
		case "AWS::IAM::Policy":
			err = t.readPolicy(r.Properties)
		case "AWS::Lambda::Function":
			err = t.readFunction(r.Properties)
		}
		if err != nil {
			return fmt.Errorf("resource %s: %w", name, err)
		}
	}
	return nil
}

// readTable takes the part of a table's definition that both APIs spell alike.
func (t *template) readTable(doc json.RawMessage) error {
	var ttl struct {
		TimeToLiveSpecification struct{ AttributeName string }
		StreamSpecification     struct{ StreamViewType types.StreamViewType }
	}
	var alike map[string]json.RawMessage
	if err := json.Unmarshal(doc, &alike); err != nil {
		return err
	}
	for key := range alike {
		switch key {
		case "TableName", "AttributeDefinitions", "KeySchema", "GlobalSecondaryIndexes", "BillingMode":
		default:
			delete(alike, key)
		}
	}
	own, err := json.Marshal(alike)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(own, &t.table); err != nil {
		return err
	}
	if err := json.Unmarshal(doc, &ttl); err != nil {
		return err
	}
	if view := ttl.StreamSpecification.StreamViewType; view != "" {
		t.table.StreamSpecification = &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: view}
	}
	t.expires = ttl.TimeToLiveSpecification.AttributeName
	return nil
}

func (t *template) readMachine(dir string, doc json.RawMessage) error {
	var p struct {
		StateMachineName        string
		DefinitionS3Location    struct{ Key string }
		DefinitionSubstitutions map[string]json.RawMessage
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		return err
	}
	definition, err := os.ReadFile(filepath.Join(dir, "asset."+p.DefinitionS3Location.Key))
	t.machine, t.definition = p.StateMachineName, string(definition)
	for name := range p.DefinitionSubstitutions {
		t.substitute = append(t.substitute, name)
	}
	return err
}

var indexName = regexp.MustCompile(`/index/(\w+)`)

// readPolicy takes the actions of a function's role, whose logical name begins
// with the function's. Those on an index of the table name it.
func (t *template) readPolicy(doc json.RawMessage) error {
	var p struct {
		Roles          []struct{ Ref string }
		PolicyDocument struct {
			Statement []struct{ Action, Resource json.RawMessage }
		}
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		return err
	}
	for _, role := range p.Roles {
		name, _, _ := strings.Cut(strings.ToLower(role.Ref), "role")
		for _, s := range p.PolicyDocument.Statement {
			var list []string
			if json.Unmarshal(s.Action, &list) != nil {
				list = []string{strings.Trim(string(s.Action), `"`)}
			}
			indices := indexName.FindAllSubmatch(s.Resource, -1)
			for _, index := range indices {
				for _, action := range list {
					t.rights[name] = append(t.rights[name], action+" on "+string(index[1]))
				}
			}
			if len(indices) == 0 {
				t.rights[name] = append(t.rights[name], list...)
			}
		}
	}
	return nil
}

// functionAt is the function of a logical name: Feed for FeedFunction1234ABCD.
func functionAt(logical string) string {
	name, _, _ := strings.Cut(strings.ToLower(logical), "function")
	return name
}

// readMapping takes the prefixes of the partition keys that its filters have.
func (t *template) readMapping(doc json.RawMessage) error {
	var p struct {
		FunctionName   arn
		BatchSize      int
		FilterCriteria struct{ Filters []struct{ Pattern string } }
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		return err
	}
	m := testaws.Mapping{Function: functionAt(p.FunctionName.of()), Batch: p.BatchSize}
	for _, f := range p.FilterCriteria.Filters {
		var pattern struct {
			DynamoDB struct {
				Keys struct {
					PK struct{ S []struct{ Prefix string } } `json:"pk"`
				}
			} `json:"dynamodb"`
		}
		if err := json.Unmarshal([]byte(f.Pattern), &pattern); err != nil {
			return err
		}
		for _, s := range pattern.DynamoDB.Keys.PK.S {
			m.Prefixes = append(m.Prefixes, s.Prefix)
		}
	}
	t.mappings = append(t.mappings, m)
	return nil
}

// arn is a resource's ARN, by the resource's logical name.
type arn struct {
	GetAtt []string `json:"Fn::GetAtt"`
}

func (a arn) of() string { return strings.Join(a.GetAtt[:min(1, len(a.GetAtt))], "") }

// readRoute takes the routes with a method and a path; the others are $default
// and the WebSocket API's.
func (t *template) readRoute(doc json.RawMessage) error {
	var p struct {
		RouteKey string
		Target   struct {
			Join []json.RawMessage `json:"Fn::Join"` // "", ["integrations/", {"Ref": ...}]
		}
	}
	if err := json.Unmarshal(doc, &p); err != nil || !strings.Contains(p.RouteKey, " ") {
		return err
	}
	var parts []json.RawMessage
	var target struct{ Ref string }
	if len(p.Target.Join) != 2 || json.Unmarshal(p.Target.Join[1], &parts) != nil || len(parts) != 2 || json.Unmarshal(parts[1], &target) != nil {
		return fmt.Errorf("the target of route %s isn't an integration", p.RouteKey)
	}
	t.routes[p.RouteKey] = target.Ref
	return nil
}

// readIntegration takes which function is called; a WebSocket's is found in
// another way.
func (t *template) readIntegration(name string, doc json.RawMessage) error {
	var p struct {
		IntegrationURI json.RawMessage `json:"IntegrationUri"`
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		return err
	}
	var a arn
	if json.Unmarshal(p.IntegrationURI, &a) == nil && a.of() != "" {
		t.functionOf[name] = functionAt(a.of())
	}
	return nil
}

// routed are the routes of the HTTP API with their functions.
func (t *template) routed() []testaws.Route {
	var out []testaws.Route
	for key, integration := range t.routes {
		out = append(out, testaws.Route{Key: key, Function: t.functionOf[integration]})
	}
	return out
}

// readRule takes the rules for events; schedules are the tests' own.
func (t *template) readRule(doc json.RawMessage) error {
	var p struct {
		EventPattern map[string]any
		EventBusName struct{ Ref string }
		Targets      []struct{ Arn arn }
	}
	if err := json.Unmarshal(doc, &p); err != nil || p.EventPattern == nil {
		return err
	}
	bus := ""
	if p.EventBusName.Ref != "" {
		bus = busName
	}
	for _, target := range p.Targets {
		t.rules = append(t.rules, testaws.Rule{Function: functionAt(target.Arn.of()), Bus: bus, Pattern: p.EventPattern})
	}
	return nil
}

// busName is what Slipway's own bus is called in tests.
const busName = "slipway-test"

func (t *template) readFunction(doc json.RawMessage) error {
	var p struct {
		FunctionName string
		Timeout      int
		Environment  struct{ Variables map[string]json.RawMessage }
	}
	if err := json.Unmarshal(doc, &p); err != nil {
		return err
	}
	f := deployed{timeout: p.Timeout}
	for name := range p.Environment.Variables {
		f.env = append(f.env, name)
	}
	t.functions[p.FunctionName[strings.LastIndex(p.FunctionName, "-")+1:]] = f
	return nil
}
