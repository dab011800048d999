package bus_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/feed"
	"github.com/slipway-cd/slipway/pkg/feed/bus"
)

// What is put comes out as an envelope, in order, however much it is.
func TestPut(t *testing.T) {
	t.Parallel()
	heard := testaws.NewBus(t, testaws.NewHost(t))
	b := bus.New(eventbridge.NewFromConfig(testaws.Config(heard.URL)), "slipway-test")
	var want []feed.Event
	for i := range 25 {
		want = append(want, feed.Event{Type: feed.StepEnded, At: time.Date(2026, 1, 2, 3, 4, i, 0, time.UTC), Detail: feed.Detail{
			ID: fmt.Sprint(i), Account: "acme", Message: strings.Repeat("<", 2048), Step: &feed.Node{ID: "a"},
		}})
	}
	for _, list := range [][]feed.Event{want, nil} {
		if err := b.Put(t.Context(), list); err != nil {
			t.Fatal(err)
		}
	}
	var got []feed.Event
	for _, doc := range heard.Events() {
		var e feed.Envelope
		if err := json.Unmarshal(doc, &e); err != nil {
			t.Fatal(err)
		}
		if e.Source != feed.Source {
			t.Errorf("the source is %q", e.Source)
		}
		got = append(got, e.Event())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
