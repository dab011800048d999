package dynamo

import (
	"context"
	"errors"
	"regexp"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// change updates one item and gives it as it is then. If the condition doesn't
// hold, it gives the item as it is, nil if there is none, and false.
func (t *table) change(ctx context.Context, k key, change, condition string, values item) (item, bool, error) {
	var out *dynamodb.UpdateItemOutput
	err := again(ctx, func() (err error) {
		out, err = t.client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
			TableName: &t.name, Key: k.item(), UpdateExpression: &change, ConditionExpression: optional(condition),
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
func (t *table) place(ctx context.Context, it item, condition string) (item, bool, error) {
	err := again(ctx, func() error {
		_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &t.name, Item: it, ConditionExpression: optional(condition),
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
func (t *table) drop(ctx context.Context, k key, condition string, values item) error {
	err := again(ctx, func() error {
		_, err := t.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{
			TableName: &t.name, Key: k.item(), ConditionExpression: optional(condition),
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
