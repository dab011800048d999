package api

import (
	"cmp"
	"encoding/base64"
	"slices"
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
