package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecr"

	"github.com/slipway-cd/slipway/internal/e2e"
	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/poll"
)

const onPolledImage = `connector: {name: images, identifier: images, type: Aws, spec: {delegateSelectors: [account], credential: {type: InheritFromDelegate}}}
---
pipeline:
  identifier: pushed
  name: pushed
  variables: [{name: tag, type: String, value: <+input>}]
  stages:
    - stage:
        identifier: s
        name: s
        type: Custom
        spec:
          execution:
            steps:
              - step: {identifier: say, name: say, type: ShellScript, timeout: 1m, spec: {shell: Bash, onDelegate: true, source: {type: Inline, spec: {script: "echo pushed <+pipeline.variables.tag>"}}}}
---
trigger:
  name: new image
  identifier: new_image
  pipelineIdentifier: pushed
  source:
    type: Artifact
    pollInterval: 2m
    spec:
      type: Ecr
      spec: {connectorRef: images, region: REGION, imagePath: acme/web}
  inputYaml: |
    pipeline: {identifier: pushed, variables: [{name: tag, type: String, value: <+trigger.artifact.build>}]}`

// TestAPolledImageStartsAPipeline: what is there when a delegate begins to ask
// starts nothing; what is pushed later starts one execution each, with an event of
// it or without, and when the delegate is killed, by the next one.
func TestAPolledImageStartsAPipeline(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		w := testaws.NewWorld(t)
		client := ecr.NewFromConfig(w.Config())
		if _, err := client.CreateRepository(t.Context(), &ecr.CreateRepositoryInput{RepositoryName: sdk.String("acme/web")}); err != nil {
			t.Fatal(err)
		}
		push := func(tags ...string) {
			for _, tag := range tags {
				manifest := fmt.Sprintf(`{"schemaVersion": 2, "mediaType": "application/vnd.docker.distribution.manifest.v2+json", "config": {"digest": "sha256:%064x", "size": 1}, "layers": []}`, len(tag)*1000+int(tag[len(tag)-1]))
				if _, err := client.PutImage(t.Context(), &ecr.PutImageInput{RepositoryName: sdk.String("acme/web"), ImageManifest: &manifest, ImageTag: &tag}); err != nil {
					t.Fatal(err)
				}
			}
		}
		for n := range poll.MaxNews + 5 { // more than one look may tell of
			push(fmt.Sprintf("0.%d", n))
		}
		s := start(t)
		s.Apply(t, strings.ReplaceAll(onPolledImage, "REGION", testaws.Region))
		again := []string{pollEnv + "=50ms", journalEnv + "=" + t.TempDir(), tokenEnv + "=" + delegateToken(t, s)}
		looked := func() { // what was there before has been told
			t.Helper()
			w.Await("ecr:DescribeImages", w.Count("ecr:DescribeImages")+3)
		}
		first := delegateOf(t, s, w, again...)
		looked()
		push("1.1")
		fires(t, s, "pushed", "new_image", 1)
		tellAWS(t, s, fmt.Sprintf(`{"id":"e","source":"aws.ecr","detail-type":"ECR Image Action","account":"123456789012","region":%q,"detail":{"result":"SUCCESS","repository-name":"acme/web","image-digest":"sha256:ab","action-type":"PUSH","image-tag":"1.1"}}`, testaws.Region))
		looked()
		first.kill()
		push("1.2", "1.3")
		delegateOf(t, s, w, again...)
		all := fires(t, s, "pushed", "new_image", 3)
		looked()
		if now := fires(t, s, "pushed", "new_image", 3); len(now) != 3 {
			t.Errorf("the history is %+v; want one entry for each version", now)
		}
		for i, want := range []string{"1.3", "1.2", "1.1"} {
			e := finish(t, s, all[i].Execution)
			if log := logOf(t, s, e.ID, e.Root.Find("say")); e.Status != "Success" || !strings.Contains(log, "pushed "+want) {
				t.Errorf("execution %d is %s: %s, with the log %q; want %s", i, e.Status, e.Message, log, want)
			}
		}
	})
}
