package match_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/trigger"
	"github.com/slipway-cd/slipway/pkg/trigger/match"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

func pushed(action, result, tag string) string {
	return fmt.Sprintf(`{"id":"e1","source":"aws.ecr","detail-type":"ECR Image Action","account":"123456789012","region":"eu-west-1","detail":{
  "result":%q,"repository-name":"acme/web","image-digest":"sha256:ab","action-type":%q,"image-tag":%q}}`, result, action, tag)
}

const created = `{"id":"e2","source":"aws.s3","detail-type":"Object Created","account":"123456789012","region":"eu-west-1","detail":{
  "bucket":{"name":"builds"},"object":{"key":"web/a b.zip","etag":"e","version-id":"v"}}}`

// artifactTrigger decodes the spec of an Artifact trigger.
func artifactTrigger(tb testing.TB, spec string) entity.ArtifactTrigger {
	tb.Helper()
	docs, report := yamldoc.Parse("t.yaml", []byte(
		"trigger: {name: t, identifier: t, pipelineIdentifier: p, source: {type: Artifact, spec: "+spec+"}}"))
	e := entity.Decode(docs[0], report, entity.Options{Scope: ref.Scope{Account: "acme", Org: "default", Project: "web"}})
	if err := report.Err(); err != nil {
		tb.Fatal(err)
	}
	return e.Trigger.Artifact
}

func TestWhatAnArtifactTriggerWants(t *testing.T) {
	t.Parallel()
	ecr := func(more string) string {
		return "{type: Ecr, spec: {connectorRef: aws, region: eu-west-1, imagePath: acme/web" + more + "}}"
	}
	s3 := func(more string) string {
		return "{type: AmazonS3, spec: {connectorRef: aws, bucketName: builds" + more + "}}"
	}
	const elsewhere = "it isn't for it"
	for _, tt := range []struct{ name, trigger, account, event, want string }{
		{"any image", ecr(""), "", pushed("PUSH", "SUCCESS", "1.0"), ""},
		{"its account", ecr(""), "123456789012", pushed("PUSH", "SUCCESS", "1.0"), ""},
		{"another account", ecr(""), "210987654321", pushed("PUSH", "SUCCESS", "1.0"), elsewhere},
		{"another region", strings.Replace(ecr(""), "west", "central", 1), "", pushed("PUSH", "SUCCESS", "1.0"), elsewhere},
		{"another repository", strings.Replace(ecr(""), "/web", "/api", 1), "", pushed("PUSH", "SUCCESS", "1.0"), elsewhere},
		{"a deletion", ecr(""), "", pushed("DELETE", "SUCCESS", "1.0"), elsewhere},
		{"a push that failed", ecr(""), "", pushed("PUSH", "FAILURE", "1.0"), elsewhere},
		{"an image without a tag", ecr(""), "", pushed("PUSH", "SUCCESS", ""), elsewhere},
		{"an object isn't an image", ecr(""), "", created, elsewhere},
		{"a version that fits", ecr(`, eventConditions: [{key: build, operator: StartsWith, value: "1."}]`), "", pushed("PUSH", "SUCCESS", "1.0"), ""},
		{"one that doesn't", ecr(`, eventConditions: [{key: build, operator: Regex, value: "2.*"}]`), "", pushed("PUSH", "SUCCESS", "1.0"), `build> is "1.0"`},
		{"metadata", ecr(`, metaDataConditions: [{key: <+trigger.artifact.metadata.digest>, operator: Equals, value: "sha256:cd"}]`), "", pushed("PUSH", "SUCCESS", "1.0"), `is "sha256:ab"`},
		{"a JEXL condition", ecr(`, jexlCondition: '<+trigger.payload.detail["image-tag"]> == "2"'`), "", pushed("PUSH", "SUCCESS", "1.0"), "jexlCondition is false"},
		{"any object", s3(""), "", created, ""},
		{"an object's key", s3(", filePathRegex: web/.*zip"), "", created, ""},
		{"a part of a key isn't all", s3(", filePathRegex: web"), "", created, `isn't "web"`},
		{"an object in another region", s3(", region: eu-central-1"), "", created, elsewhere},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			e, err := trigger.ReadAWS([]byte(tt.event))
			if err != nil {
				t.Fatal(err)
			}
			a := artifactTrigger(t, tt.trigger)
			got := elsewhere
			if match.ConcernsArtifact(a, tt.account, e) {
				if got, err = match.Artifact(a, e); err != nil {
					t.Fatal(err)
				}
			}
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestExpressionsOfAnArtifact(t *testing.T) {
	t.Parallel()
	image := artifactTrigger(t, "{type: Ecr, spec: {connectorRef: aws, region: eu-west-1, imagePath: acme/web}}")
	object := artifactTrigger(t, "{type: AmazonS3, spec: {connectorRef: aws, bucketName: builds}}")
	for _, tt := range []struct {
		trigger           entity.ArtifactTrigger
		event, text, want string
	}{
		{image, pushed("PUSH", "SUCCESS", "1.0"), "<+trigger.type> <+trigger.artifact.build> <+trigger.artifact.source.imagePath> <+trigger.artifact.metadata.image>",
			"Artifact 1.0 acme/web 123456789012.dkr.ecr.eu-west-1.amazonaws.com/acme/web:1.0"},
		{image, pushed("PUSH", "SUCCESS", "1.0"), `<+trigger.payload.detail["image-digest"]> <+trigger.artifact.source.nothing>`, "sha256:ab null"},
		{object, created, "<+trigger.artifact.build> <+trigger.artifact.metadata.url> <+trigger.artifact.source.bucketName>", "web/a b.zip s3://builds/web/a b.zip builds"},
	} {
		e, err := trigger.ReadAWS([]byte(tt.event))
		if err != nil {
			t.Fatal(err)
		}
		kept, err := match.For(e, "t", tt.trigger).Encode()
		if err != nil {
			t.Fatal(err)
		}
		if e, err = trigger.Decode(kept); err != nil {
			t.Fatal(err)
		}
		v, err := expr.Interpolate(tt.text, e.Names())
		if err != nil || v.Text() != tt.want {
			t.Errorf("%s\n got %q, %v\nwant %q", tt.text, v.Text(), err, tt.want)
		}
	}
}

func FuzzReadAWS(f *testing.F) {
	f.Add(pushed("PUSH", "SUCCESS", "1.0"))
	f.Add(created)
	f.Fuzz(func(t *testing.T, body string) {
		e, err := trigger.ReadAWS([]byte(body))
		if err == nil && (e.Artifact.Name == "" || e.Source == "" || len(e.Types) > 0 && e.Artifact.Build == "") {
			t.Errorf("%q is the event %+v", body, e)
		}
	})
}
