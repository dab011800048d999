package dynamo_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/internal/testdynamo"
	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/store/storetest"
)

func TestChanges(t *testing.T) {
	t.Parallel()
	storetest.RunChanges(t, func(t *testing.T) (store.Store, func() []store.Change) {
		t.Helper()
		client, name := table(t)
		s := dynamo.New(client, config(name))
		server, err := testdynamo.Start()
		if err != nil {
			t.Fatal(err)
		}
		stream, err := testdynamo.NewStream(t.Context(), server.Endpoint(), name, testdynamo.Region, name)
		if err != nil {
			t.Fatal(err)
		}
		return s.Store, func() []store.Change { return changes(t, s, stream) }
	})
}

// changes are what the next records of the stream mean.
func changes(t *testing.T, s *dynamo.Store, stream *testdynamo.Stream) []store.Change {
	t.Helper()
	records, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []store.Change
	for _, doc := range records {
		var r events.DynamoDBEventRecord
		if err := json.Unmarshal(doc, &r); err != nil {
			t.Fatalf("%v: %s", err, doc)
		}
		c, err := s.Change(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if c != nil {
			list = append(list, *c)
		}
	}
	return list
}

// A node's state that is in a blob has it for itself: when the state changes,
// nothing refers to the blob any more, and the stream says so.
func TestSupersededBlobs(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	b := &blobs{}
	cfg := config(name)
	cfg.Blobs = b
	s := dynamo.New(client, cfg)
	server, err := testdynamo.Start()
	if err != nil {
		t.Fatal(err)
	}
	stream, err := testdynamo.NewStream(t.Context(), server.Endpoint(), name, testdynamo.Region, name)
	if err != nil {
		t.Fatal(err)
	}
	x := store.Execution{ID: "x1", Scope: scope, Pipeline: "p", PlanHash: "h", Status: plan.Running}
	if _, err := s.CreateExecution(t.Context(), x, large("plan"), audit.Record{Scope: scope, Action: audit.Start}); err != nil {
		t.Fatal(err)
	}
	outputs, err := json.Marshal(string(large("out")))
	if err != nil {
		t.Fatal(err)
	}
	var gone []string
	for version := range int64(3) { // the same state again is a blob of its own again
		n := store.Node{ID: "a", Version: version, State: plan.State{Status: plan.Running, Outputs: outputs}}
		if err := s.CommitExecution(t.Context(), "x1", store.Commit{Nodes: []store.Node{n}}); err != nil {
			t.Fatal(err)
		}
	}
	records, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range records {
		var r events.DynamoDBEventRecord
		if err := json.Unmarshal(doc, &r); err != nil {
			t.Fatal(err)
		}
		gone = append(gone, dynamo.Superseded(r)...)
	}
	if len(gone) != 2 || gone[0] == gone[1] {
		t.Fatalf("superseded are %q; want two", gone)
	}
	for _, key := range gone {
		if !strings.HasPrefix(key, dynamo.BlobPrefix) || b.bodies[key] == nil {
			t.Errorf("%q was never a blob", key)
		}
		delete(b.bodies, key)
	}
	nodes, err := s.AllNodes(t.Context(), "x1")
	if err != nil || len(nodes) != 1 || !bytes.Equal(nodes[0].State.Outputs, outputs) {
		t.Errorf("without what was superseded: %d nodes, %v", len(nodes), err)
	}
}

// So has a file of the file store, whose blob goes when its past version has
// expired.
func TestSupersededFiles(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	s := dynamo.New(client, config(name))
	server, err := testdynamo.Start()
	if err != nil {
		t.Fatal(err)
	}
	stream, err := testdynamo.NewStream(t.Context(), server.Endpoint(), name, testdynamo.Region, name)
	if err != nil {
		t.Fatal(err)
	}
	f := store.File{Key: ref.File{Scope: scope, Path: "/a"}}
	record := audit.Record{Scope: scope, Action: audit.Update, Kind: "file", ID: "/a"}
	for range 2 { // the same content again is a blob of its own again
		if f, err = s.SaveFile(t.Context(), f, []byte("one"), record); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.DeleteFile(t.Context(), f.Key, f.Version, false, record); err != nil {
		t.Fatal(err)
	}
	if gone := superseded(t, stream); len(gone) > 0 {
		t.Errorf("superseded are %v, while past versions have them", gone)
	}
	all, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
	if err != nil {
		t.Fatal(err)
	}
	for _, it := range all.Items {
		if _, expires := it[dynamo.Expires]; !expires {
			continue
		}
		_, err := client.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{TableName: &name, Key: map[string]types.AttributeValue{"pk": it["pk"], "sk": it["sk"]}})
		if err != nil {
			t.Fatal(err)
		}
	}
	if gone := superseded(t, stream); len(gone) != 2 {
		t.Errorf("superseded are %v; want both contents", gone)
	}
}

// superseded are the blobs to which nothing refers since the stream was read.
func superseded(t *testing.T, stream *testdynamo.Stream) map[string]bool {
	t.Helper()
	records, err := stream.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	gone := map[string]bool{}
	for _, doc := range records {
		var r events.DynamoDBEventRecord
		if err := json.Unmarshal(doc, &r); err != nil {
			t.Fatal(err)
		}
		for _, key := range dynamo.Superseded(r) {
			gone[key] = true
		}
	}
	return gone
}

// Touched names the execution whose record or whose node has changed, also where that
// means nothing to others, and nothing else.
func TestTouched(t *testing.T) {
	t.Parallel()
	for keys, want := range map[[2]string]string{
		{"X#x1", "x"}: "x1", {"X#x1", "n#pipeline/stages/a"}: "x1", {"X#x1", "opened"}: "", {"X#x1", "kept"}: "", {"XX#x1", "x"}: "", {"A#default", "head"}: "", {"", ""}: "",
	} {
		var r events.DynamoDBEventRecord
		r.Change.Keys = map[string]events.DynamoDBAttributeValue{"pk": events.NewStringAttribute(keys[0]), "sk": events.NewStringAttribute(keys[1])}
		if got := dynamo.Touched(r); got != want {
			t.Errorf("%v: %q, want %q", keys, got, want)
		}
	}
	if got := dynamo.Touched(events.DynamoDBEventRecord{}); got != "" {
		t.Errorf("a record without keys: %q", got)
	}
}
