package dynamo

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/audit"
	"github.com/slipway-cd/slipway/pkg/plan"
	"github.com/slipway-cd/slipway/pkg/store"
)

// ChangedPrefixes are how the partition keys begin of whose changes Change
// makes something, or Superseded, so that nobody is called for the others (infra).
func ChangedPrefixes() []string {
	return []string{"X" + separator, "A" + separator, "F" + separator, pastFilesPrefix, evaluationPrefix}
}

// Change makes of a record of the table's stream what it means; nil for one
// that nobody wants to hear of.
func (s *Store) Change(ctx context.Context, r events.DynamoDBEventRecord) (*store.Change, error) {
	before, after := attributes(r.Change.OldImage), attributes(r.Change.NewImage)
	if after == nil { // it was removed
		return nil, nil //nolint:nilnil // no change and no error
	}
	c := &store.Change{At: r.Change.ApproximateCreationDateTime.UTC()}
	at := keyOf(after)
	var err error
	switch {
	case strings.HasPrefix(at.pk, "A"+separator) && at.sk != auditHeadAt("").sk && before == nil:
		c.Audit = new(audit.Record)
		err = s.bodies.decode(ctx, after, "doc", c.Audit)
	case strings.HasPrefix(at.pk, "X"+separator) && at.sk == executionAt("").sk:
		if c.Before = plan.Status(text(before, "status")); string(c.Before) == text(after, "status") {
			return nil, nil //nolint:nilnil // as above
		}
		c.Execution, err = imageOf(ctx, s.bodies, after, readExecution)
	case strings.HasPrefix(at.pk, "X"+separator) && strings.HasPrefix(at.sk, nodePrefix):
		if c.Node, err = imageOf(ctx, s.bodies, after, readNode); err != nil || before == nil {
			break
		}
		var old *store.Node
		if old, err = imageOf(ctx, s.bodies, before, readNode); err != nil {
			break
		}
		if c.Before = old.State.Status; c.Before == c.Node.State.Status {
			return nil, nil //nolint:nilnil // as above
		}
	case strings.HasPrefix(at.pk, "F"+separator) && before == nil:
		if c.Fire, err = changedFire(ctx, s.bodies, at, after); err == nil && c.Fire.Outcome != store.FireFailed {
			return nil, nil //nolint:nilnil // as above
		}
	default:
		return nil, nil //nolint:nilnil // as above
	}
	if err != nil {
		return nil, fmt.Errorf("read the change of %s %s: %w", at.pk, at.sk, err)
	}
	return c, nil
}

// Touched is the execution whose record or whose node a record of the table's stream
// has changed; empty for others.
func Touched(r events.DynamoDBEventRecord) string {
	pk, sk := r.Change.Keys["pk"], r.Change.Keys["sk"]
	if pk.DataType() != events.DataTypeString || sk.DataType() != events.DataTypeString {
		return ""
	}
	id, of := strings.CutPrefix(pk.String(), "X"+separator)
	if !of || sk.String() != executionAt("").sk && !strings.HasPrefix(sk.String(), nodePrefix) {
		return ""
	}
	return id
}

func changedFire(ctx context.Context, b bodies, at key, it item) (*store.Fire, error) {
	trigger, err := parseEntity(strings.TrimPrefix(at.pk, "F"+separator))
	if err != nil {
		return nil, err
	}
	f, err := readFire(ctx, b, trigger, it)
	return &f, err
}

func imageOf[T any](ctx context.Context, b bodies, it item, decode func(context.Context, bodies, item) (T, error)) (*T, error) {
	v, err := decode(ctx, b, it)
	return &v, err
}

// attributes are an item as the SDK has it, of what Lambda gives; nil for
// none. Only the types that items are made of are kept.
func attributes(image map[string]events.DynamoDBAttributeValue) item {
	if len(image) == 0 {
		return nil
	}
	it := item{}
	for name, v := range image {
		switch v.DataType() {
		case events.DataTypeString:
			it[name] = str(v.String())
		case events.DataTypeNumber:
			it[name] = &types.AttributeValueMemberN{Value: v.Number()}
		case events.DataTypeBinary:
			it[name] = bin(v.Binary())
		default: // an entity's references, of which no change is made
		}
	}
	return it
}
