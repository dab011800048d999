package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// All reads of the table are consistent: what was answered to a change is what
// the next read sees. Those of its indices can't be.

// get reads one item; nil if there is none.
func (t *table) get(ctx context.Context, k key) (item, error) {
	var out *dynamodb.GetItemOutput
	err := again(ctx, func() (err error) {
		out, err = t.client.GetItem(ctx, &dynamodb.GetItemInput{TableName: &t.name, Key: k.item(), ConsistentRead: aws.Bool(true)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", k.pk, err)
	}
	return out.Item, nil
}

// find is get for a thing such as `task "t1"` that has to be there.
func (t *table) find(ctx context.Context, k key, format string, args ...any) (item, error) {
	it, err := t.get(ctx, k)
	if err == nil && it == nil {
		return nil, absent(format, args...)
	}
	return it, err
}

func absent(format string, args ...any) error {
	return fault.New(fault.NotFound, "%s doesn't exist", fmt.Sprintf(format, args...))
}

// expired says whether DynamoDB will remove an item: it takes its time.
func (t *table) expired(it item) bool { return number(it, Expires) <= t.now().Unix() }

// batch is how many items DynamoDB reads in one request.
const batch = 100

// getAll reads items in the order of their keys, which are all different; those
// that aren't there are left out.
func (t *table) getAll(ctx context.Context, keys []key) ([]item, error) {
	found := make(map[key]item, len(keys))
	for from := 0; from < len(keys); from += batch {
		var wanted []map[string]types.AttributeValue
		for _, k := range keys[from:min(from+batch, len(keys))] {
			wanted = append(wanted, k.item())
		}
		// DynamoDB gives as much as it likes to at a time.
		err := again(ctx, func() error {
			out, err := t.client.BatchGetItem(ctx, &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{
				t.name: {Keys: wanted, ConsistentRead: aws.Bool(true)},
			}})
			if err != nil {
				return err
			}
			for _, it := range out.Responses[t.name] {
				found[keyOf(it)] = it
			}
			if wanted = out.UnprocessedKeys[t.name].Keys; len(wanted) > 0 {
				return errAgain
			}
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("read %d items from %s on: %w", len(keys), keys[0].pk, err)
		}
	}
	var out []item
	for _, k := range keys {
		if it, ok := found[k]; ok {
			out = append(out, it)
		}
	}
	return out, nil
}

// query is a range of one partition.
type query struct {
	index     string // "" for the table itself
	pk        string
	sk        string // the condition on the sort key, e.g. "sk > :after"; "" for all
	values    item   // of the conditions
	filter    string
	only      string // the attributes that are read; "" for all
	backwards bool
	limit     int // 0: all
}

// query reads the range in the order of its sort keys.
func (t *table) query(ctx context.Context, q query) ([]item, error) {
	in := &dynamodb.QueryInput{TableName: &t.name, ScanIndexForward: aws.Bool(!q.backwards), FilterExpression: optional(q.filter), ProjectionExpression: optional(q.only)}
	pk := "pk"
	switch q.index {
	case "":
		in.ConsistentRead = aws.Bool(true)
	case IndexAccount:
		in.IndexName, pk = &q.index, "pk1"
	case IndexUnderWay:
		in.IndexName, pk = &q.index, "pk2"
	}
	condition := pk + " = :pk"
	if q.sk != "" {
		condition += " AND " + q.sk
	}
	in.KeyConditionExpression, in.ExpressionAttributeNames = &condition, names(condition+q.filter+q.only)
	in.ExpressionAttributeValues = item{":pk": str(q.pk)}
	for name, v := range q.values {
		in.ExpressionAttributeValues[name] = v
	}
	var found []item
	for {
		if q.limit > 0 && q.filter == "" {
			in.Limit = aws.Int32(int32(min(q.limit-len(found), 10_000))) //nolint:gosec // that fits
		}
		var out *dynamodb.QueryOutput
		err := again(ctx, func() (err error) {
			out, err = t.client.Query(ctx, in)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", q.pk, err)
		}
		found = append(found, out.Items...)
		if q.limit > 0 && len(found) >= q.limit {
			return found[:q.limit], nil
		}
		if len(out.LastEvaluatedKey) == 0 {
			return found, nil
		}
		in.ExclusiveStartKey = out.LastEvaluatedKey
	}
}
