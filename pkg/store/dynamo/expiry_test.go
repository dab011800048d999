package dynamo_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

// TestExpired: DynamoDB removes what has expired in its own time; until then it
// isn't there for readers.
func TestExpired(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	cfg := config(name)
	seen := cfg.Now()
	now := seen
	cfg.Now = func() time.Time { return now }
	s := dynamo.New(client, cfg)
	d := store.Delegate{ID: "d1", Scope: scope, LastSeen: seen}
	c := store.Connection{ID: "c1", Delegate: "d1", Scope: scope, Opened: seen}
	if err := errors.Join(s.PutDelegate(t.Context(), d), s.Connections.PutConnection(t.Context(), c)); err != nil {
		t.Fatal(err)
	}
	for _, at := range []struct {
		after                  time.Duration
		delegates, connections int
	}{{0, 1, 1}, {2*time.Hour - time.Second, 1, 1}, {2 * time.Hour, 1, 0}, {24*time.Hour - time.Second, 1, 0}, {24 * time.Hour, 0, 0}} {
		now = seen.Add(at.after)
		delegates, err := s.ListDelegates(t.Context(), scope.Account, time.Time{})
		if err != nil || len(delegates) != at.delegates {
			t.Errorf("after %s %d delegates are listed, %v; want %d", at.after, len(delegates), err, at.delegates)
		}
		if _, err := s.Delegate(t.Context(), scope.Account, "d1"); (err == nil) != (at.delegates > 0) {
			t.Errorf("after %s the delegate is read with the error %v", at.after, err)
		}
		connections, err := s.Connections.Connections(t.Context(), scope.Account)
		if err != nil || len(connections) != at.connections {
			t.Errorf("after %s there are %d connections, %v; want %d", at.after, len(connections), err, at.connections)
		}
	}
}

// TestTimeToLive: DynamoDB takes the definition, and answers and delegates have
// the attribute that it names, after the time until which they are good.
func TestTimeToLive(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	s := dynamo.New(client, config(name))
	until := config("").Now().Add(time.Hour + time.Millisecond)
	if _, _, err := s.PutAnswer(t.Context(), store.Answer{Key: "k", Expires: until}); err != nil {
		t.Fatal(err)
	}
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{
		"pk": &types.AttributeValueMemberS{Value: "I#k"}, "sk": &types.AttributeValueMemberS{Value: "i"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if n, ok := out.Item[dynamo.Expires].(*types.AttributeValueMemberN); !ok || n.Value != "1767326646" {
		t.Errorf("the answer's attribute %q is %v, want the second after %s", dynamo.Expires, out.Item[dynamo.Expires], until)
	}
	if _, err := client.UpdateTimeToLive(t.Context(), dynamo.TimeToLiveInput(name)); err != nil {
		t.Error(err)
	}
}

func TestConnections(t *testing.T) {
	t.Parallel()
	s := open(t)
	opened := config("").Now()
	first := store.Connection{ID: "c1", Delegate: "d1", Scope: scope, Opened: opened}
	second, other := first, first
	second.ID, other.ID, other.Delegate = "c2", "c3", "d2"
	elsewhere := first
	elsewhere.Scope.Account += "x"
	for _, c := range []store.Connection{first, second, other, elsewhere} {
		if err := s.Connections.PutConnection(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(s.Connections.DeleteConnection(t.Context(), first), s.Connections.DeleteConnection(t.Context(), other)); err != nil {
		t.Fatal(err)
	}
	got, err := s.Connections.Connections(t.Context(), scope.Account)
	if diff := cmp.Diff([]store.Connection{second}, got); diff != "" || err != nil {
		t.Errorf("%v; connections (-want +got):\n%s", err, diff)
	}
}

// TestViewers: pages are listed until they are forgotten, or API Gateway has closed
// them for sure.
func TestViewers(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	cfg := config(name)
	opened := cfg.Now()
	now := opened
	cfg.Now = func() time.Time { return now }
	s := dynamo.New(client, cfg)
	first := store.Viewer{ID: "c1=", Token: "s1", Since: opened.Add(-time.Hour), Scope: scope, Execution: "x1", Address: "192.0.2.1", Opened: opened}
	second, elsewhere := first, first
	second.ID, elsewhere.Scope.Account = "c2", scope.Account+"x"
	for _, v := range []store.Viewer{first, first, second, elsewhere} {
		if err := s.Viewers.PutViewer(t.Context(), v); err != nil {
			t.Fatal(err)
		}
	}
	for i, want := range []bool{true, false} {
		if was, err := s.Viewers.DeleteViewer(t.Context(), scope.Account, "c2"); err != nil || was != want {
			t.Errorf("deletion %d: %t, %v; want %t", i, was, err, want)
		}
	}
	for _, at := range []struct {
		after time.Duration
		want  []store.Viewer
	}{{0, []store.Viewer{first}}, {2*time.Hour - time.Second, []store.Viewer{first}}, {2 * time.Hour, nil}} {
		now = opened.Add(at.after)
		got, err := s.Viewers.Viewers(t.Context(), scope.Account)
		if diff := cmp.Diff(at.want, got); diff != "" || err != nil {
			t.Errorf("after %s: %v; viewers (-want +got):\n%s", at.after, err, diff)
		}
	}
}
