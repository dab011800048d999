// Package bus puts Slipway's events onto a bus of EventBridge.
//
// Which events there are is pkg/feed's; who gets them is said by rules.
package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/slipway-cd/slipway/pkg/feed"
)

// Bus is a bus.
type Bus struct {
	client *eventbridge.Client
	name   string
}

// New gives the bus of a name.
func New(client *eventbridge.Client, name string) *Bus { return &Bus{client: client, name: name} }

// atOnce is how many events EventBridge takes in a call. They have less than
// its 256 KB: pkg/feed cuts messages.
const atOnce = 10

// Put puts events onto the bus, in their order. After an error any of them may
// be there.
func (b *Bus) Put(ctx context.Context, events []feed.Event) error {
	for some := range slices.Chunk(events, atOnce) {
		in := &eventbridge.PutEventsInput{}
		for _, e := range some {
			detail, err := json.Marshal(e.Detail)
			if err != nil {
				return fmt.Errorf("encode event %s: %w", e.Detail.ID, err)
			}
			in.Entries = append(in.Entries, types.PutEventsRequestEntry{
				EventBusName: &b.name, Source: aws.String(feed.Source), DetailType: aws.String(string(e.Type)), Time: &e.At, Detail: aws.String(string(detail)),
			})
		}
		out, err := b.client.PutEvents(ctx, in)
		if err != nil {
			return fmt.Errorf("put %d events onto bus %s: %w", len(some), b.name, err)
		}
		if err := refused(some, out); err != nil {
			return fmt.Errorf("put events onto bus %s: %w", b.name, err)
		}
	}
	return nil
}

// refused says which events weren't taken.
func refused(events []feed.Event, out *eventbridge.PutEventsOutput) error {
	var errs []error
	for i, entry := range out.Entries {
		if code := aws.ToString(entry.ErrorCode); code != "" && i < len(events) {
			errs = append(errs, fmt.Errorf("event %s: %s: %s", events[i].Detail.ID, code, aws.ToString(entry.ErrorMessage)))
		}
	}
	return errors.Join(errs...)
}
