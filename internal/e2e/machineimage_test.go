package e2e_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
)

const onMachineImage = `connector: {name: images, identifier: images, type: Aws, spec: {delegateSelectors: [account], credential: {type: InheritFromDelegate}}}
---
pipeline:
  identifier: baked
  name: baked
  variables: [{name: ami, type: String, value: <+input>}]
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        spec:
          execution:
            steps:
              - step:
                  identifier: look
                  name: look
                  type: ShellScript
                  timeout: 1m
                  spec:
                    shell: Bash
                    onDelegate: true
                    source: {type: Inline, spec: {script: '[ "<+pipeline.variables.ami> <+trigger.artifact.build> <+trigger.artifact.metadata.tags.team>" = "IMAGE web-1 web" ]'}}
---
trigger:
  name: new image
  identifier: new_image
  pipelineIdentifier: baked
  source:
    type: Artifact
    spec:
      type: AmazonMachineImage
      spec: {connectorRef: images, region: REGION, tags: [{name: team, value: web}], versionRegex: "web-.*"}
  inputYaml: |
    pipeline: {identifier: baked, variables: [{name: ami, type: String, value: <+trigger.artifact.metadata.amiId>}]}`

// TestAMachineImageStartsAPipeline: an event that has the id alone makes a
// delegate of the account look at the image. One that fits starts an execution,
// however often the event comes; the history says why another doesn't.
func TestAMachineImageStartsAPipeline(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		w := testaws.NewWorld(t)
		client := ec2.NewFromConfig(w.Config())
		image := func(name, team string) string {
			out, err := client.RegisterImage(t.Context(), &ec2.RegisterImageInput{Name: &name})
			if err == nil {
				_, err = client.CreateTags(t.Context(), &ec2.CreateTagsInput{Resources: []string{*out.ImageId}, Tags: []types.Tag{{Key: sdk.String("team"), Value: &team}}})
			}
			if err != nil {
				t.Fatal(err)
			}
			return *out.ImageId
		}
		fits, other := image("web-1", "web"), image("web-2", "db")
		s := start(t)
		s.Apply(t, strings.NewReplacer("IMAGE", fits, "REGION", testaws.Region).Replace(onMachineImage))
		for _, id := range []string{fits, other, fits} {
			tellAWS(t, s, fmt.Sprintf(`{"id":"e","source":"aws.ec2","detail-type":"EC2 AMI State Change","account":"123456789012","region":%q,"detail":{"ImageId":%q,"State":"available"}}`, testaws.Region, id))
		}
		delegateOf(t, s, w)
		outcomes := fired(t, s, "baked", "new_image", 2)
		if outcomes["Started"].Execution == "" || outcomes["Skipped"].Reason != `its tag team is "db", not "web"` {
			t.Fatalf("the history is %+v; want one that started, and why the other didn't", outcomes)
		}
		if e := finish(t, s, outcomes["Started"].Execution); e.Status != "Success" {
			t.Errorf("the execution ended %s: %s", e.Status, e.Message)
		}
		// Now that the delegate is there, it is woken.
		late := image("web-3", "db")
		tellAWS(t, s, fmt.Sprintf(`{"id":"e","source":"aws.ec2","detail-type":"EC2 AMI State Change","account":"123456789012","region":%q,"detail":{"ImageId":%q,"State":"available"}}`, testaws.Region, late))
		fired(t, s, "baked", "new_image", 3)
	})
}

// fireOf is an entry of a trigger's history.
type fireOf struct{ Outcome, Reason, Execution string }

// fired waits until a trigger's history has so many entries, and gives one for
// each outcome.
func fired(t *testing.T, s *e2e.Server, pipeline, trigger string, n int) map[string]fireOf {
	t.Helper()
	out := map[string]fireOf{}
	for _, f := range fires(t, s, pipeline, trigger, n) {
		out[f.Outcome] = f
	}
	return out
}

// fires waits until a trigger's history has so many entries, and gives all of
// them, the newest first.
func fires(t *testing.T, s *e2e.Server, pipeline, trigger string, n int) []fireOf {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), e2e.Patience)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		var history struct{ Fires []fireOf }
		if err := s.Call(ctx, "GET", "/v1/pipelines/"+pipeline+"/triggers/"+trigger+"/fires", nil, &history); err != nil {
			t.Fatal(err)
		}
		if len(history.Fires) >= n {
			return history.Fires
		}
		select {
		case <-ctx.Done():
			t.Fatalf("the history has %+v; want %d", history.Fires, n)
		case <-tick.C:
		}
	}
}

// tellAWS forwards an event as EventBridge's API destination does.
func tellAWS(t *testing.T, s *e2e.Server, event string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/webhooks/aws", strings.NewReader(event))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Api-Key", s.Token)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if doc, err := io.ReadAll(resp.Body); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("an event of AWS: %d %s %v", resp.StatusCode, doc, err)
	}
}
