package executor

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/slipway-cd/slipway/pkg/task"
)

// Keep keeps what is there before it is changed for the first time, and gives
// what the stage has kept of the key: that of an earlier attempt, if there was
// one. It is durable when it returns.
func Keep[T any](ctx context.Context, env Env, key string, data T) (T, error) {
	kept, err := env.Checkpoint(ctx, key, data)
	if err != nil {
		var none T
		return none, err
	}
	return decoded[T](kept)
}

// Kept is what the stage has kept under the keys that begin so, the newest first.
func Kept[T any](ctx context.Context, env Env, prefix string) ([]T, error) {
	all, err := env.Checkpoints(ctx)
	if err != nil {
		return nil, err
	}
	var out []T
	for _, c := range all {
		if !strings.HasPrefix(c.Key, prefix) {
			continue
		}
		one, err := decoded[T](c)
		if err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

func decoded[T any](c task.Checkpoint) (T, error) {
	var data T
	if err := json.Unmarshal(c.Data, &data); err != nil {
		return data, fmt.Errorf("decode the checkpoint %s: %w", c.Key, err)
	}
	return data, nil
}
