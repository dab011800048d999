// Scripted is a Lambda function that asks its test, at SCRIPT, what to answer.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambda/messages"
)

func ask(ctx context.Context, event json.RawMessage) (json.RawMessage, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, os.Getenv("SCRIPT"), bytes.NewReader(event))
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("ask the test: %w", err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, fmt.Errorf("hear the test: %w", err)
	}
	if kind := resp.Header.Get("Error-Type"); kind != "" {
		return nil, messages.InvokeResponse_Error{Type: kind, Message: string(body)}
	}
	return body, nil
}

func main() { lambda.Start(ask) }
