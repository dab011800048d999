package dynamo_test

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
)

// What was saved before there was an index of names is in it from the first look on.
func TestNamesOfWhatWasSavedBefore(t *testing.T) {
	t.Parallel()
	client, name := table(t)
	s := dynamo.New(client, config(name))
	for _, id := range []string{"a", "b"} {
		save(t, s, id)
	}
	out, err := client.Query(t.Context(), &dynamodb.QueryInput{
		TableName: &name, IndexName: aws.String(dynamo.IndexAccount), KeyConditionExpression: aws.String("pk1 = :pk"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":pk": &types.AttributeValueMemberS{Value: "EN#" + scope.Account + "#" + scope.Org + "#" + scope.Project + "#service"}},
	})
	if err != nil || len(out.Items) != 2 {
		t.Fatalf("%d in the index, %v; want 2", len(out.Items), err)
	}
	_, err = client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &name, UpdateExpression: aws.String("REMOVE pk1, sk1"),
		Key: map[string]types.AttributeValue{"pk": out.Items[0]["pk"], "sk": out.Items[0]["sk"]},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, look := range []string{"first", "second"} {
		names, err := s.Names(t.Context(), scope, ref.Service)
		if err != nil {
			t.Fatal(err)
		}
		if len(names) != 2 || names[0].Key.ID != "a" || names[1].Key.ID != "b" {
			t.Errorf("the %s look finds %+v; want a and b", look, names)
		}
	}
	e, err := s.Entity(t.Context(), save(t, s, "c").Key)
	if err != nil || e.Version != 1 {
		t.Errorf("c is %+v, %v", e, err)
	}
	if names, err := s.Names(t.Context(), scope, ref.Service); err != nil || len(names) != 3 {
		t.Errorf("with another one there are %+v, %v", names, err)
	}
}
