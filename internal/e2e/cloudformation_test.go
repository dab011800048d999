package e2e_test

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/ecs"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

// stacksFolder is what the examples of stacks need.
const stacksFolder = "../../examples/cloudformation"

// stackPipeline makes a stack of a template, and takes that back if a script
// fails.
const stackPipeline = `pipeline:
  identifier: stack
  name: Stack
  orgIdentifier: default
  projectIdentifier: default_project
  variables:
    - {name: template, type: String, value: <+input>}
    - {name: script, type: String, value: <+input>}
  stages:
    - stage:
        identifier: make
        name: make
        type: Custom
        failureStrategies: [{onFailure: {errors: [AllErrors], action: {type: StageRollback}}}]
        spec:
          execution:
            steps:
              - step:
                  identifier: stack
                  name: Stack
                  type: CreateStack
                  timeout: 5m
                  spec:
                    provisionerIdentifier: web_<+project.identifier>
                    configuration:
                      connectorRef: aws
                      region: REGION
                      stackName: web
                      templateFile: {type: Inline, spec: {templateBody: <+pipeline.variables.template>}}
                      parameterOverrides:
                        - {name: Password, type: Secret, value: password}
              - step:
                  identifier: check
                  name: Check
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    onDelegate: true
                    source: {type: Inline, spec: {script: "echo the topic is <+execution.steps.stack.output.Topic>; <+pipeline.variables.script>"}}
            rollbackSteps:
              - step: {identifier: back, name: Back, type: RollbackStack, timeout: 5m, spec: {configuration: {provisionerIdentifier: "web_<+project.identifier>"}}}
`

// stackTemplate has a topic of each name.
func stackTemplate(names ...string) string {
	text := "{Parameters: {Password: {Type: String, NoEcho: true}}, Outputs: {Topic: {Value: !Ref " + names[0] + "}}, Resources: {"
	for _, name := range names {
		text += name + ": {Type: 'AWS::SNS::Topic'}, "
	}
	return text + "}}"
}

// TestAStackIsMadeAndTakenBack: an execution makes a stack, the next one changes
// it, and one that fails leaves what that one has made. Its secret is nowhere to
// be read.
func TestAStackIsMadeAndTakenBack(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w)
		s.Apply(t, byTheAccounts(read(t, stacksFolder+"/entities.yaml")))
		s.Apply(t, "secret: {identifier: password, name: password, type: SecretText, orgIdentifier: default, projectIdentifier: default_project, spec: {valueType: Inline, secretManagerIdentifier: harnessSecretManager, value: correct-horse}}")
		s.Apply(t, strings.Replace(stackPipeline, "REGION", testaws.Region, 1))
		run := func(template, script string) e2e.Execution {
			t.Helper()
			return finish(t, s, s.Begin(t, "stack", map[string]string{"variables.template": template, "variables.script": script}))
		}
		client := cloudformation.NewFromConfig(w.Config())
		has := func(want string) {
			t.Helper()
			name := "web"
			out, err := client.DescribeStackResources(t.Context(), &cloudformation.DescribeStackResourcesInput{StackName: &name})
			got := ""
			if err == nil {
				for _, r := range out.StackResources {
					if !strings.HasPrefix(string(r.ResourceStatus), "DELETE_") {
						got += sdk.ToString(r.LogicalResourceId) + " "
					}
				}
			} else if !strings.Contains(err.Error(), "does not exist") {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("the stack has %q; want %q", got, want)
			}
		}
		if e := run(stackTemplate("Sales"), "exit 1"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is taken back is %s: %s", e.Status, e.Message)
		}
		has("") // this execution had made it
		e := run(stackTemplate("Sales"), "true")
		if e.Status != "Success" {
			t.Fatalf("the first is %s: %s", e.Status, e.Message)
		}
		has("Sales ")
		if e := run(stackTemplate("Sales", "Bills"), "exit 1"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what is taken back is %s: %s", e.Status, e.Message)
		}
		has("Sales ")
		if e := run(stackTemplate("Sales", "CrashBills"), "true"); e.Status != "Failed" || !strings.Contains(e.Message, "CrashBills") || e.Root.Find("back").Status != "Success" {
			t.Fatalf("what can't be made is %s: %s", e.Status, e.Message)
		}
		has("Sales ")
		undone(t, s, run(stackTemplate("Sales", "Bills"), "true"))
		has("Sales ")
		shownAndForgotten(t, s)
		has("Sales ")
	})
}

// shownAndForgotten looks at what is kept of the one provisioner, and forgets it.
func shownAndForgotten(t *testing.T, s *e2e.Server) {
	t.Helper()
	var list struct {
		Provisioners []struct{ Kind, Identifier string }
	}
	if err := s.Call(t.Context(), "GET", "/v1/provisioners", nil, &list); err != nil {
		t.Fatal(err)
	}
	if len(list.Provisioners) != 1 || list.Provisioners[0].Kind != "cloudformation" || list.Provisioners[0].Identifier != "web_default_project" {
		t.Fatalf("the provisioners are %+v", list)
	}
	const one = "/v1/provisioners/cloudformation/web_default_project"
	var shown json.RawMessage
	if err := s.Call(t.Context(), "GET", one, nil, &shown); err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]bool{`"status":"rolledBack"`: true, `"name":"template"`: true, `"stackName":"web"`: true, "correct-horse": false, "AWS::SNS::Topic": false} {
		if strings.Contains(string(shown), text) != want {
			t.Errorf("what is shown has %s: %t; it is %s", text, !want, shown)
		}
	}
	if err := s.Call(t.Context(), "DELETE", one, nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.Call(t.Context(), "GET", one, nil, &shown); err == nil {
		t.Errorf("what was forgotten is %s", shown)
	}
}

// TestAStageMakesWhereItDeploysTo: a stack's output names the cluster that a stage
// deploys to. What the stage has made goes when its deployment fails, and stays
// for the next one that goes well.
func TestAStageMakesWhereItDeploysTo(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		s, w := start(t), testaws.NewWorld(t)
		delegateOf(t, s, w)
		entities := byTheAccounts(ecsEntities(t, w))
		s.Apply(t, entities)
		s.Apply(t, strings.ReplaceAll(read(t, stacksFolder+"/provisioned.yaml"), "eu-central-1", testaws.Region))
		d := preview(t, s, "provisioned", nil)
		if !slices.Equal(d.Changed, []string{"AWS::ECS::Cluster/Cluster"}) || w.Count("cloudformation:ExecuteChangeSet")+w.Count("cloudformation:CreateStack") > 0 {
			t.Errorf("the preview tells of %v:\n%s", d.Changed, d.Diff)
		}
		run := func(tag string) e2e.Execution {
			t.Helper()
			s.Apply(t, strings.Replace(entities, `value: "1"`, "value: "+strconv.Quote(tag), 1))
			id := s.Begin(t, "provisioned", nil)
			e, err := s.Until(t.Context(), id, func(e e2e.Execution) bool { return e.Status == "ApprovalWaiting" || e2e.Ended(e) })
			if err != nil {
				t.Fatal(err)
			}
			ask := e.Root.Find("approve")
			if ask == nil || ask.Status != "ApprovalWaiting" {
				t.Fatalf("the section has come to %+v: %s", ask, e.Message)
			}
			if err := s.Call(t.Context(), "POST", "/v1/executions/"+id+"/nodes/"+ask.ID+"/approval", map[string]any{"action": "APPROVE"}, nil); err != nil {
				t.Fatal(err)
			}
			return finish(t, s, id)
		}
		if e := run("crash-3"); e.Status != "Failed" || e.Root.Find("back").Status != "Success" || e.Root.Find("unstack").Status != "Success" {
			t.Fatalf("what is taken back is %s: %s", e.Status, e.Message)
		}
		if e := run("1"); e.Status != "Success" {
			t.Fatalf("the deployment is %s: %s", e.Status, e.Message)
		}
		out, err := ecs.NewFromConfig(w.Config()).DescribeServices(t.Context(), &ecs.DescribeServicesInput{Cluster: sdk.String("web-dev"), Services: []string{"web"}})
		if err != nil || len(out.Services) != 1 || out.Services[0].RunningCount != 2 {
			t.Errorf("the cluster has %+v, %v", out, err)
		}
	})
}
