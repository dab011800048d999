package dynamo

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The names of the table's parts that its definition outside this package
// repeats (infra).
const (
	// IndexAccount lists what belongs to an account: tokens, and what entities are called.
	IndexAccount = "index1"
	// IndexUnderWay lists what is under way: running executions, held tasks.
	IndexUnderWay = "index2"
	// Expires is the attribute by which DynamoDB removes items: seconds since 1970.
	Expires = "expires"
)

// TableInput defines the table, but for its time to live (see
// TimeToLiveInput), which DynamoDB sets by a call of its own.
//
// The indices have keys only: an item that changes without moving in an index
// costs nothing there, and what is read through one is never an old copy.
func TableInput(name string) *dynamodb.CreateTableInput {
	index := func(name, pk, sk string) types.GlobalSecondaryIndex {
		return types.GlobalSecondaryIndex{
			IndexName: aws.String(name), KeySchema: keySchema(pk, sk),
			Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		}
	}
	in := &dynamodb.CreateTableInput{
		TableName: aws.String(name), KeySchema: keySchema("pk", "sk"), BillingMode: types.BillingModePayPerRequest,
		StreamSpecification:    &types.StreamSpecification{StreamEnabled: aws.Bool(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
		GlobalSecondaryIndexes: []types.GlobalSecondaryIndex{index(IndexAccount, "pk1", "sk1"), index(IndexUnderWay, "pk2", "sk2")},
	}
	for _, name := range []string{"pk", "sk", "pk1", "sk1", "pk2", "sk2"} {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: aws.String(name), AttributeType: types.ScalarAttributeTypeS})
	}
	return in
}

// TimeToLiveInput makes DynamoDB remove what has expired, within some days.
func TimeToLiveInput(name string) *dynamodb.UpdateTimeToLiveInput {
	return &dynamodb.UpdateTimeToLiveInput{
		TableName:               aws.String(name),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String(Expires), Enabled: aws.Bool(true)},
	}
}

func keySchema(pk, sk string) []types.KeySchemaElement {
	return []types.KeySchemaElement{
		{AttributeName: aws.String(pk), KeyType: types.KeyTypeHash},
		{AttributeName: aws.String(sk), KeyType: types.KeyTypeRange},
	}
}
