// Command empty is a function that does nothing, with the clients that
// Slipway's functions have: what a cold start costs anyway.
package main

import (
	"context"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/apigatewaymanagementapi"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/kms"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sfn"
)

func main() {
	sdk, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		os.Exit(1)
	}
	clients := []any{
		dynamodb.NewFromConfig(sdk), s3.NewFromConfig(sdk), sfn.NewFromConfig(sdk), kms.NewFromConfig(sdk), apigatewaymanagementapi.NewFromConfig(sdk),
	}
	lambda.Start(func(context.Context) (int, error) { return len(clients), nil })
}
