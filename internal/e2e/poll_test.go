package e2e_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ecr"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

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

// asked are triggers for objects and for machine images that a delegate asks for.
const asked = `trigger:
  name: new object
  identifier: new_object
  pipelineIdentifier: pushed
  source:
    type: Artifact
    pollInterval: 2m
    spec:
      type: AmazonS3
      spec: {connectorRef: images, region: REGION, bucketName: builds, filePathRegex: "web/.*"}
  inputYaml: |
    pipeline: {identifier: pushed, variables: [{name: tag, type: String, value: <+trigger.artifact.build>}]}
---
trigger:
  name: new machine image
  identifier: new_ami
  pipelineIdentifier: pushed
  source:
    type: Artifact
    pollInterval: 2m
    spec:
      type: AmazonMachineImage
      spec: {connectorRef: images, region: REGION, versionRegex: "web-.*"}
  inputYaml: |
    pipeline: {identifier: pushed, variables: [{name: tag, type: String, value: <+trigger.artifact.build>}]}`

// TestPolledObjectsAndMachineImages: so are objects of a bucket, and machine images: those
// that come start one execution each, also where an event tells of them, too, and others
// none.
func TestPolledObjectsAndMachineImages(t *testing.T) {
	t.Parallel()
	onEveryHost(t, func(t *testing.T, start func(testing.TB) *e2e.Server) {
		t.Helper()
		w := testaws.NewWorld(t)
		images, objects := ec2.NewFromConfig(w.Config()), s3.NewFromConfig(w.Config(), func(o *s3.Options) { o.UsePathStyle = true })
		if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: ptr("builds"), CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: testaws.Region}}); err != nil {
			t.Fatal(err)
		}
		put := func(keys ...string) {
			t.Helper()
			for _, key := range keys {
				if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: ptr("builds"), Key: &key, Body: strings.NewReader(key)}); err != nil {
					t.Fatal(err)
				}
			}
		}
		image := func(name string) string {
			t.Helper()
			out, err := images.RegisterImage(t.Context(), &ec2.RegisterImageInput{Name: &name})
			if err != nil {
				t.Fatal(err)
			}
			return *out.ImageId
		}
		put("web/1.zip")
		image("web-1")
		s := start(t)
		pipeline, _, _ := strings.Cut(onPolledImage, "---\ntrigger:")
		s.Apply(t, pipeline+"---\n"+strings.ReplaceAll(asked, "REGION", testaws.Region))
		delegateOf(t, s, w, pollEnv+"=50ms")
		ids := map[int]string{}
		comes := map[string]func(n int){
			"new_object": func(n int) { put(fmt.Sprintf("other/%d.zip", n), fmt.Sprintf("web/%d.zip", n)) },
			"new_ami":    func(n int) { image(fmt.Sprintf("db-%d", n)); ids[n] = image(fmt.Sprintf("web-%d", n)) },
		}
		last := map[string]int{"new_object": 1, "new_ami": 1}
		tick := time.NewTicker(200 * time.Millisecond)
		defer tick.Stop()
		more := func(trigger string) { // nobody tells when it was looked at first
			t.Helper()
			for before := len(fires(t, s, "pushed", trigger, 0)); len(fires(t, s, "pushed", trigger, 0)) == before; {
				last[trigger]++
				comes[trigger](last[trigger])
				select {
				case <-tick.C:
				case <-t.Context().Done():
					t.Fatalf("%s: nothing starts anything", trigger)
				}
			}
		}
		more("new_object")
		more("new_ami")
		for _, event := range []string{
			fmt.Sprintf(`"source":"aws.s3","detail-type":"Object Created","detail":{"bucket":{"name":"builds"},"object":{"key":"web/%d.zip","etag":"ab","size":9}}`, last["new_object"]),
			`"source":"aws.ec2","detail-type":"EC2 AMI State Change","detail":{"ImageId":"` + ids[last["new_ami"]] + `","State":"available"}`,
		} {
			tellAWS(t, s, fmt.Sprintf(`{"id":"e","account":"123456789012","region":%q,%s}`, testaws.Region, event))
		}
		more("new_object")
		more("new_ami")
		for trigger, begins := range map[string]string{"new_object": "pushed web/", "new_ami": "pushed web-"} {
			said := map[string]bool{begins + "1": true, begins + "1.zip": true}
			for _, f := range fires(t, s, "pushed", trigger, 2) {
				if f.Outcome == "Skipped" { // of another name
					continue
				}
				e := finish(t, s, f.Execution)
				log := strings.TrimSpace(logOf(t, s, e.ID, e.Root.Find("say")))
				if e.Status != "Success" || !strings.Contains(log, begins) || said[log] {
					t.Errorf("%s: the execution is %s: %s, with the log %q", trigger, e.Status, e.Message, log)
				}
				said[log] = true
			}
		}
	})
}
