package dynamo

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// write is a part of a transaction.
type write struct {
	types.TransactWriteItem
	lost error // what it means that its condition doesn't hold
}

// missing is the condition of an item that isn't there yet.
const missing = "attribute_not_exists(pk)"

// present is the condition of an item that is still there.
const present = "attribute_exists(pk)"

// put writes a whole item. The condition and its values may be empty.
func (t *table) put(it item, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{Put: &types.Put{
		TableName: &t.name, Item: it, ConditionExpression: optional(condition),
		ExpressionAttributeNames: names(condition), ExpressionAttributeValues: values,
	}}, lost}
}

func (t *table) update(k key, change, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{Update: &types.Update{
		TableName: &t.name, Key: k.item(), UpdateExpression: &change, ConditionExpression: optional(condition),
		ExpressionAttributeNames: names(change + condition), ExpressionAttributeValues: values,
	}}, lost}
}

func (t *table) remove(k key, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{Delete: &types.Delete{
		TableName: &t.name, Key: k.item(), ConditionExpression: optional(condition),
		ExpressionAttributeNames: names(condition), ExpressionAttributeValues: values,
	}}, lost}
}

func (t *table) check(k key, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &t.name, Key: k.item(), ConditionExpression: &condition,
		ExpressionAttributeNames: names(condition), ExpressionAttributeValues: values,
	}}, lost}
}

// transact does all writes or none. Of several lost conditions the first that
// isn't errAgain counts.
func (t *table) transact(ctx context.Context, writes ...write) error {
	if len(writes) == 1 && writes[0].Put != nil {
		return t.putAlone(ctx, writes[0])
	}
	parts := make([]types.TransactWriteItem, len(writes))
	for i, w := range writes {
		parts[i] = w.TransactWriteItem
	}
	// The SDK gives it a token, so that its own retries don't do it twice.
	_, err := t.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts})
	var cancelled *types.TransactionCanceledException
	if !errors.As(err, &cancelled) {
		return err
	}
	inTheWay := false
	reasons := cancelled.CancellationReasons // one per write
	for i := range min(len(writes), len(reasons)) {
		switch aws.ToString(reasons[i].Code) {
		case "ConditionalCheckFailed":
			if lost := writes[i].lost; !errors.Is(lost, errAgain) {
				return lost
			}
			inTheWay = true
		case "TransactionConflict", "ProvisionedThroughputExceeded", "ThrottlingError":
			inTheWay = true
		}
	}
	if inTheWay {
		return fmt.Errorf("%w: %w", errAgain, err)
	}
	return err
}

// putAlone costs half of what a transaction of one does. A transaction isn't
// done twice if its answer gets lost on the way; this is refused then, like any
// other that comes late.
func (t *table) putAlone(ctx context.Context, w write) error {
	_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: w.Put.TableName, Item: w.Put.Item, ConditionExpression: w.Put.ConditionExpression,
		ExpressionAttributeNames: w.Put.ExpressionAttributeNames, ExpressionAttributeValues: w.Put.ExpressionAttributeValues,
	})
	var lost *types.ConditionalCheckFailedException
	if errors.As(err, &lost) {
		return w.lost
	}
	return err
}
