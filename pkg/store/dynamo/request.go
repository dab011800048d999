package dynamo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// errAgain: what a change was made from is no longer so, or another change was
// in its way. It can be made anew.
var errAgain = errors.New("another change was in the way")

// The pauses between tries grow from the first to the longest.
const (
	firstPause   = 10 * time.Millisecond
	longestPause = 500 * time.Millisecond
)

// again does fn until it no longer meets another change or a limit of the
// table. Only ctx bounds it: the caller knows how long an answer is wanted.
func again(ctx context.Context, fn func() error) error {
	pause := firstPause
	for {
		err := fn()
		if !passing(err) {
			return err
		}
		// The whole pause is random, so that those who met don't meet again.
		timer := time.NewTimer(rand.N(pause)) //nolint:gosec // jitter is no secret
		select {
		case <-ctx.Done():
			timer.Stop()
			return fault.New(fault.Unavailable, "the table is busy: %w", errors.Join(ctx.Err(), err))
		case <-timer.C:
		}
		pause = min(2*pause, longestPause)
	}
}

// passing says whether nothing was done, for a reason that passes.
func passing(err error) bool {
	var (
		throughput *types.ProvisionedThroughputExceededException
		limit      *types.RequestLimitExceeded
		throttled  *types.ThrottlingException
		conflict   *types.TransactionConflictException
	)
	return errors.Is(err, errAgain) || errors.As(err, &throughput) || errors.As(err, &limit) ||
		errors.As(err, &throttled) || errors.As(err, &conflict)
}

// write is a part of a transaction.
type write struct {
	types.TransactWriteItem
	lost error // what it means that its condition doesn't hold
}

// missing is the condition of an item that isn't there yet.
const missing = "attribute_not_exists(pk)"

// put writes a whole item. The condition and its values may be empty.
func (s *Store) put(it item, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{Put: &types.Put{
		TableName: &s.cfg.Table, Item: it, ConditionExpression: optional(condition),
		ExpressionAttributeNames: names(condition), ExpressionAttributeValues: values,
	}}, lost}
}

func (s *Store) update(k key, change, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{Update: &types.Update{
		TableName: &s.cfg.Table, Key: k.item(), UpdateExpression: &change, ConditionExpression: optional(condition),
		ExpressionAttributeNames: names(change + condition), ExpressionAttributeValues: values,
	}}, lost}
}

func (s *Store) remove(k key, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{Delete: &types.Delete{
		TableName: &s.cfg.Table, Key: k.item(), ConditionExpression: optional(condition),
		ExpressionAttributeNames: names(condition), ExpressionAttributeValues: values,
	}}, lost}
}

func (s *Store) check(k key, condition string, values item, lost error) write {
	return write{types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
		TableName: &s.cfg.Table, Key: k.item(), ConditionExpression: &condition,
		ExpressionAttributeNames: names(condition), ExpressionAttributeValues: values,
	}}, lost}
}

// transact does all writes or none. Of several lost conditions the first that
// isn't errAgain counts.
func (s *Store) transact(ctx context.Context, writes ...write) error {
	if len(writes) == 1 && writes[0].Put != nil {
		return s.putAlone(ctx, writes[0])
	}
	parts := make([]types.TransactWriteItem, len(writes))
	for i, w := range writes {
		parts[i] = w.TransactWriteItem
	}
	// The SDK gives it a token, so that its own retries don't do it twice.
	_, err := s.client.TransactWriteItems(ctx, &dynamodb.TransactWriteItemsInput{TransactItems: parts})
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
func (s *Store) putAlone(ctx context.Context, w write) error {
	_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
		TableName: w.Put.TableName, Item: w.Put.Item, ConditionExpression: w.Put.ConditionExpression,
		ExpressionAttributeNames: w.Put.ExpressionAttributeNames, ExpressionAttributeValues: w.Put.ExpressionAttributeValues,
	})
	var lost *types.ConditionalCheckFailedException
	if errors.As(err, &lost) {
		return w.lost
	}
	return err
}

// change updates one item and gives it as it is then. If the condition doesn't
// hold, it gives the item as it is, nil if there is none, and false.
func (s *Store) change(ctx context.Context, k key, change, condition string, values item) (item, bool, error) {
	var out *dynamodb.UpdateItemOutput
	err := again(ctx, func() (err error) {
		out, err = s.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &s.cfg.Table, Key: k.item(), UpdateExpression: &change, ConditionExpression: optional(condition),
			ExpressionAttributeNames: names(change + condition), ExpressionAttributeValues: values,
			ReturnValues: types.ReturnValueAllNew, ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	var lost *types.ConditionalCheckFailedException
	if errors.As(err, &lost) {
		return lost.Item, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	return out.Attributes, true, nil
}

// place puts one item. With the condition "missing" it gives the one that is
// there already, and false.
func (s *Store) place(ctx context.Context, it item, condition string) (item, bool, error) {
	err := again(ctx, func() error {
		_, err := s.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &s.cfg.Table, Item: it, ConditionExpression: optional(condition),
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		})
		return err
	})
	var lost *types.ConditionalCheckFailedException
	if errors.As(err, &lost) {
		return lost.Item, false, nil
	}
	return it, err == nil, err
}

// drop deletes one item if the condition holds; it is no error if it doesn't.
func (s *Store) drop(ctx context.Context, k key, condition string, values item) error {
	err := again(ctx, func() error {
		_, err := s.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &s.cfg.Table, Key: k.item(), ConditionExpression: optional(condition),
			ExpressionAttributeNames: names(condition), ExpressionAttributeValues: values,
		})
		return err
	})
	var lost *types.ConditionalCheckFailedException
	if errors.As(err, &lost) {
		return nil
	}
	return err
}

// In expressions every attribute is written #name, so that none of them meets
// a word that DynamoDB reserves; pk and sk aren't reserved.
var placeholder = regexp.MustCompile(`#\w+`)

func names(expression string) map[string]string {
	var out map[string]string
	for _, p := range placeholder.FindAllString(expression, -1) {
		if out == nil {
			out = map[string]string{}
		}
		out[p] = p[1:]
	}
	return out
}

func optional(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
