package dynamo_test

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slipway-cd/slipway/internal/testdynamo"
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
		stream, err := testdynamo.NewStream(t.Context(), server.Endpoint(), testdynamo.Region, name)
		if err != nil {
			t.Fatal(err)
		}
		return s, func() []store.Change { return changes(t, s, stream) }
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
