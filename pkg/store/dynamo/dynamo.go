// Package dynamo keeps what pkg/store says in one DynamoDB table, for Slipway
// on AWS.
//
// It holds keys, conditions and transactions only: what a change means is its
// caller's. Nothing is locked: a change is a conditional write, and one that
// lost to another is made anew from what is there now, or refused. What is too
// large for an item is kept by its hash in a blob store.
//
// Each sort of pkg/store is a type with what it needs: the table, and some the
// audit trail or the references besides.
package dynamo

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slipway-cd/slipway/pkg/store"
)

// Blobs keeps what is too large for an item. A key begins with BlobPrefix and
// the hash of its body, so that nothing is ever overwritten with something else.
type Blobs interface {
	Put(ctx context.Context, key string, body []byte) error
	// Get is fault.NotFound if there is no such blob.
	Get(ctx context.Context, key string) ([]byte, error)
	// Retire gives up a blob to which nothing refers. It may stay readable for
	// a while.
	Retire(ctx context.Context, key string) error
}

// Config is what a Store needs besides its client.
type Config struct {
	Table string
	Blobs Blobs
	// PageKey is the secret that page tokens are sealed with, so that nobody
	// can read or forge them: at least 16 random bytes, the same in every
	// process that serves the table. Lists that page don't work without it.
	PageKey []byte
	// Now is what expired delegates are judged by; nil means time.Now.
	Now func() time.Time
}

// Store keeps everything in one table. It is for many goroutines.
type Store struct {
	store.Store
	Connections store.Connections
	Viewers     store.Viewers
	bodies      bodies
}

// New gives the store over a table that was made from TableInput.
func New(client *dynamodb.Client, cfg Config) *Store {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	t := &table{client: client, name: cfg.Table, bodies: bodies{cfg.Blobs}, pages: pages{cfg.PageKey}, now: cfg.Now}
	a, r := audits{t}, references{t}
	return &Store{
		Store: store.Store{
			Entities:    entities{table: t, audits: a, references: r},
			Executions:  executions{table: t, audits: a},
			Turns:       turns{t},
			Tasks:       tasks{t},
			Checkpoints: checkpoints{t},
			Provisions:  provisions{table: t, audits: a},
			Delegates:   delegates{t},
			Secrets:     secrets{t},
			Logs:        logs{t},
			Audits:      a,
			Keys:        keys{t},
			Fires:       fires{t},
			Evaluations: evaluations{t},
			Polls:       polls{t},
			Placements:  placements{t},
			Files:       files{table: t, audits: a, references: r},
			GitOps:      gitOps{table: t, audits: a},
			Streams:     streams{t},
		},
		Connections: connections{t}, Viewers: viewers{t},
		bodies: t.bodies,
	}
}

// table is the table, with what its items and its lists are made of: the one
// place that calls DynamoDB.
type table struct {
	client *dynamodb.Client
	name   string
	bodies
	pages
	now func() time.Time
}
