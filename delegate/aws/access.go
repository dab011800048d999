package aws

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/slipway-cd/slipway/pkg/task"
)

// kept is how long an access is given to tasks after the one that it was made
// for: a connector that was changed meanwhile is another one.
const kept = 15 * time.Minute

// Access is what a task works in: an account and a region, with credentials.
type Access struct {
	sdk.Config
	made time.Time

	once   sync.Once
	caller string
}

// Failed is the error of a call that AWS refused, or that never reached it, with
// the failure types that a failure strategy goes by. call is its name, e.g.
// ecs:CreateService. Only of a context that has ended it has none.
func (a *Access) Failed(ctx context.Context, call string, err error) error {
	return failed(ctx, call, err, a.who)
}

// Account is the number of the account that the caller belongs to; empty if AWS doesn't
// say.
func (a *Access) Account(ctx context.Context) string {
	of, err := arn.Parse(a.who(ctx))
	if err != nil {
		return ""
	}
	return of.AccountID
}

// who is the caller as AWS knows it, asked once; empty if AWS doesn't say.
func (a *Access) who(ctx context.Context) string {
	a.once.Do(func() {
		if out, err := sts.NewFromConfig(a.Config).GetCallerIdentity(ctx, &sts.GetCallerIdentityInput{}); err == nil {
			a.caller = sdk.ToString(out.Arn)
		}
	})
	return a.caller
}

// Accesses are those of a delegate. One is shared by the tasks of an execution
// that have the same connector, role and region, so that STS isn't asked for each
// task; another execution is another session in AWS's own logs. The zero value is
// ready.
type Accesses struct {
	// Options are applied last to each, such as an endpoint.
	Options []func(*config.LoadOptions) error
	// Untagged leaves out the tags that say what resources are of, for accounts that
	// forbid tagging.
	Untagged bool

	mu  sync.Mutex
	all map[string]*Access
}

// Get is the access of an execution's tasks, or of none: of a watch.
func (s *Accesses) Get(ctx context.Context, a task.AWS, execution string) (*Access, error) {
	key := PlaceOf(a) + " " + execution
	s.mu.Lock()
	defer s.mu.Unlock()
	for k, one := range s.all {
		if time.Since(one.made) > kept {
			delete(s.all, k)
		}
	}
	if one := s.all[key]; one != nil {
		return one, nil
	}
	cfg, err := configAs(ctx, a, session(execution), s.Options...)
	if err != nil {
		return nil, err
	}
	if s.all == nil {
		s.all = map[string]*Access{}
	}
	s.all[key] = &Access{Config: cfg, made: time.Now()}
	return s.all[key], nil
}

// PlaceOf tells accounts and regions apart, and the credentials for them, of which
// it tells nothing.
func PlaceOf(a task.AWS) string {
	doc, err := json.Marshal(a) //nolint:gosec // only its hash is kept
	if err != nil {
		doc = fmt.Append(nil, a) // it is a struct of texts and numbers
	}
	return fmt.Sprintf("%x", sha256.Sum256(doc))
}
