package testaws_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// Clients understand the proxy's refusals as DynamoDB's: reads are throttled,
// writes and transactions meet others at times, too.
func TestProxyRefusesAsDynamoDBDoes(t *testing.T) {
	t.Parallel()
	url := testaws.Proxy(t, "http://127.0.0.1:1", &testaws.Recorder{}, func() float64 { return 1 })
	client := dynamodb.New(dynamodb.Options{
		Region: testaws.Region, BaseEndpoint: &url, Retryer: aws.NopRetryer{}, Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})
	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "a"}}
	put := types.TransactWriteItem{Put: &types.Put{TableName: aws.String("t"), Item: key}}
	var throughput, conflict, cancelled bool
	for range 64 { // a die decides
		_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("t"), Key: key})
		if busy := (*types.ProvisionedThroughputExceededException)(nil); !errors.As(err, &busy) {
			t.Fatalf("a read gives %v, want that there is too much to do", err)
		}
		_, err = client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("t"), Item: key})
		throughput = throughput || errors.As(err, new(*types.ProvisionedThroughputExceededException))
		conflict = conflict || errors.As(err, new(*types.TransactionConflictException))
		_, err = client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: []types.TransactWriteItem{put, put}})
		if met := (*types.TransactionCanceledException)(nil); errors.As(err, &met) {
			cancelled = len(met.CancellationReasons) == 2 && aws.ToString(met.CancellationReasons[1].Code) == "TransactionConflict"
		}
	}
	if !throughput || !conflict || !cancelled {
		t.Errorf("writes were throttled: %t, met others: %t; transactions met others: %t; want all of them", throughput, conflict, cancelled)
	}
}
