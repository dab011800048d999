// Function is a Lambda function that does what its event says, for the tests
// of internal/testaws.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// event is what a test asks for.
type event struct {
	Do string `json:"do"`
	// Path is a file that the function makes (Do "hold") and whose removal lets
	// it go on.
	Path string `json:"path"`
}

// report is what the function knows of itself.
type report struct {
	Name      string        `json:"name"`
	Greeting  string        `json:"greeting"`
	ARN       string        `json:"arn"`
	PID       int           `json:"pid"`
	Remaining time.Duration `json:"remaining"`
}

// refusal is an error that names itself, as a state machine catches it.
type refusal struct{}

func (*refusal) Error() string { return "the event was refused" }

func handle(ctx context.Context, e event) (*report, error) {
	switch e.Do {
	case "refuse":
		return nil, &refusal{}
	case "exit":
		os.Exit(3)
	case "allocate":
		block := make([]byte, 64<<20)
		for i := 0; i < len(block); i += os.Getpagesize() {
			block[i] = 1
		}
	case "hold":
		if err := hold(ctx, e.Path); err != nil {
			return nil, err
		}
	}
	deadline, _ := ctx.Deadline()
	r := &report{Name: lambdacontext.FunctionName, Greeting: os.Getenv("GREETING"), PID: os.Getpid(), Remaining: time.Until(deadline)}
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		r.ARN = lc.InvokedFunctionArn
	}
	return r, nil
}

// hold makes a file and stays until somebody has removed it. It doesn't heed
// the deadline: that is for the host to enforce.
func hold(ctx context.Context, path string) error {
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	for {
		if _, err := os.Stat(path); err != nil {
			return nil
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func main() {
	if os.Getenv("BROKEN") != "" {
		fmt.Fprintln(os.Stderr, "the function is broken")
		os.Exit(1)
	}
	lambda.Start(func(ctx context.Context, doc json.RawMessage) (*report, error) {
		var e event
		if err := json.Unmarshal(doc, &e); err != nil {
			return nil, fmt.Errorf("decode the event: %w", err)
		}
		return handle(ctx, e)
	})
}
