package dynamo_test

import (
	"context"
	"crypto/rand"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slipway-cd/slipway/internal/testdynamo"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/store/dynamo"
	"github.com/slipway-cd/slipway/pkg/store/storetest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	storetest.Run(t, func(t *testing.T) store.Store {
		t.Helper()
		return open(t).Store
	})
}

// blobs is a blob store in memory.
type blobs struct {
	mu     sync.Mutex
	bodies map[string][]byte
}

// Retire takes the blob away at once.
func (b *blobs) Retire(_ context.Context, key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.bodies, key)
	return nil
}

func (b *blobs) Put(_ context.Context, key string, body []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.bodies == nil {
		b.bodies = map[string][]byte{}
	}
	b.bodies[key] = body
	return nil
}

func (b *blobs) Get(_ context.Context, key string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	body, ok := b.bodies[key]
	if !ok {
		return nil, fault.New(fault.NotFound, "blob %s doesn't exist", key)
	}
	return body, nil
}

// table makes an empty table of the test's own.
func table(t *testing.T, options ...func(*dynamodb.Options)) (*dynamodb.Client, string) {
	t.Helper()
	server, err := testdynamo.Start()
	if errors.Is(err, testdynamo.ErrMissing) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	name := rand.Text() // its access key too: tests wait for none of each other's locks
	if _, err := server.Client(name).CreateTable(t.Context(), dynamo.TableInput(name)); err != nil {
		t.Fatal(err)
	}
	return server.Client(name, options...), name
}

// open gives a store over an empty table.
func open(t *testing.T, options ...func(*dynamodb.Options)) *dynamo.Store {
	t.Helper()
	client, name := table(t, options...)
	return dynamo.New(client, config(name))
}

func config(table string) dynamo.Config {
	return dynamo.Config{
		Table: table, Blobs: &blobs{}, PageKey: []byte("a key that only tests have"),
		// The suite's own time: by the machine's its delegates are long gone.
		Now: func() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) },
	}
}
