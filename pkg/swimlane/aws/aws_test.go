package aws_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/filesource"
	"github.com/slipway-cd/slipway/pkg/swimlane"
	"github.com/slipway-cd/slipway/pkg/swimlane/aws"
	"github.com/slipway-cd/slipway/pkg/swimlane/swimlanetest"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// decoded is what a kind reads of the spec of a manifest.
func decoded(t *testing.T, kind swimlane.ManifestKind, text string) (any, string) {
	t.Helper()
	docs, report := yamldoc.Parse("", []byte(text))
	if err := report.Err(); err != nil {
		t.Fatal(err)
	}
	spec := kind.New(document.New(report), yamldoc.Sub(docs[0], ""))
	said := ""
	for _, f := range report.Findings() {
		said += f.String() + "\n"
	}
	return spec, said
}

// A manifest of a higher layer takes the place of those below it, whole.
func TestLayers(t *testing.T) {
	t.Parallel()
	one, many := aws.Document("One"), aws.Documents("Many")
	manifest := func(kind swimlane.ManifestKind, id string, layer int) swimlane.Manifest {
		spec, said := decoded(t, kind, "store: {type: Inline, spec: {content: "+id+"}}")
		if said != "" {
			t.Fatal(said)
		}
		return swimlane.Manifest{ID: id, Layer: layer, Kind: kind, Spec: spec}
	}
	reach := &swimlanetest.Reach{All: []swimlane.Manifest{
		manifest(one, "a", 0), manifest(many, "b", 0), manifest(many, "c", 0), manifest(one, "d", 1), manifest(many, "e", 2), manifest(many, "f", 2), manifest(one, "g", 3), manifest(one, "h", 3),
	}}
	for kind, want := range map[string][]aws.Manifest{
		"One":  {{ID: "h", Type: "One", Store: task.Store{Inline: "h"}}},
		"Many": {{ID: "e", Type: "Many", Store: task.Store{Inline: "e"}}, {ID: "f", Type: "Many", Store: task.Store{Inline: "f"}}},
		"None": nil,
	} {
		got, err := aws.Manifests(reach, kind)
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", kind, err, diff)
		}
	}
}

func TestStores(t *testing.T) {
	t.Parallel()
	plain, bucket := aws.Document("EcsTaskDefinition"), aws.Document("EcsTaskDefinition", filesource.S3)
	const s3 = "store: {type: S3, spec: {connectorRef: aws, region: eu-central-1, bucketName: docs, paths: [task.json]}}"
	for name, c := range map[string]struct {
		kind       swimlane.ManifestKind
		text, want string
	}{
		"a bucket":              {bucket, s3, ""},
		"a bucket elsewhere":    {plain, s3, "1:9 store.type: store type S3 isn't supported yet; want one of Git, Github, GitLab, Bitbucket, AzureRepo, Inline, Harness [UNSUPPORTED]\n"},
		"no paths":              {bucket, "store: {type: S3, spec: {connectorRef: aws, region: r, bucketName: b}}", "1:25 store.spec: key \"paths\" is missing [MISSING_KEY]\n"},
		"a script":              {plain, "store: {type: CustomRemote, spec: {}}", "1:9 store.type: store type CustomRemote isn't supported yet; want one of Git, Github, GitLab, Bitbucket, AzureRepo, Inline, Harness [UNSUPPORTED]\n"},
		"a key that isn't one":  {plain, "{store: {type: Inline, spec: {content: x}}, valuesPaths: [a]}", "1:45 valuesPaths: warning: unknown key \"valuesPaths\" [UNKNOWN_KEY]\n"},
		"nothing":               {plain, "{}", "1:1 key \"store\" is missing [MISSING_KEY]\n"},
		"what consoles keep":    {plain, "{store: {type: Inline, spec: {content: x}, metadata: x}, metadata: x}", ""},
		"a folder of a bucket":  {bucket, "store: {type: S3, spec: {connectorRef: aws, region: r, bucketName: b, paths: [a], folderPath: x}}", "1:83 store.spec.folderPath: files in a bucket are named by paths; folderPath isn't supported yet [UNSUPPORTED]\n"},
		"several, for one file": {plain, "store: {type: Harness, spec: {files: [/a, /b]}}", ""}, // a delegate counts documents
	} {
		if _, got := decoded(t, c.kind, c.text); got != c.want {
			t.Errorf("%s: said\n%swant\n%s", name, got, c.want)
		}
	}
}

func TestFetched(t *testing.T) {
	t.Parallel()
	got := aws.Fetched(aws.Manifest{Store: task.Store{Inline: "x"}}, aws.Manifest{Store: task.Store{Files: &task.FileStore{Paths: []string{"/a"}}}}, aws.Manifest{Store: task.Store{S3: &task.S3Objects{}}})
	if diff := cmp.Diff(swimlane.Fetched{Files: true, Stored: []string{"/a"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := aws.Fetched(aws.Manifest{Store: task.Store{Inline: "x"}}); got.Files {
		t.Error("what is inline is fetched")
	}
}
