package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"slices"

	"github.com/slipway-cd/slipway/pkg/access/action"
	"github.com/slipway-cd/slipway/pkg/access/grants"
	"github.com/slipway-cd/slipway/pkg/access/right"
	"github.com/slipway-cd/slipway/pkg/store"
)

// paginate is a part of a short list that is read whole: the members after
// the one that the page token names, in the order of their keys.
func paginate[T any](all []T, key func(T) string, p Paged) (part []T, next string, err error) {
	after, err := base64.RawURLEncoding.DecodeString(p.PageToken)
	if err != nil {
		return nil, "", invalid("pageToken %q isn't one that was given out", p.PageToken)
	}
	slices.SortFunc(all, func(a, b T) int { return cmp.Compare(key(a), key(b)) })
	part = slices.DeleteFunc(all, func(t T) bool { return len(after) > 0 && key(t) <= string(after) })
	if len(part) > p.Limit {
		part = part[:p.Limit]
		next = base64.RawURLEncoding.EncodeToString([]byte(key(part[len(part)-1])))
	}
	return part, next, nil
}

// list is a list that JSON shows as [] where there is none.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// mostShort is how many parts of a list are read for one answer, of which the
// caller may not see all.
const mostShort = 5

// visible reads a part of a list with what the caller may see of it. After some
// parts that have little of that an answer is short, or empty, although more
// follows.
func visible[T any](ctx context.Context, page store.Page, do action.Action, on func(T) right.Resource, read func(store.Page) ([]T, string, error)) ([]T, string, error) {
	var out []T
	wanted := page.Limit
	for range mostShort {
		list, next, err := read(page)
		if err != nil {
			return nil, "", err
		}
		if list, err = grants.Sees(ctx, asker(ctx), do, list, on); err != nil {
			return nil, "", err
		}
		out = append(out, list...)
		page.Token, page.Limit = next, wanted-len(out)
		if next == "" || page.Limit <= 0 {
			break
		}
	}
	return out, page.Token, nil
}
