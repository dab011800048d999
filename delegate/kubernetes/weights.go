package kubernetes

import (
	"cmp"
	"slices"

	"github.com/slipway-cd/slipway/pkg/fault"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/kubernetes"
)

// whole is what the weights of a route add up to.
const whole = 100

// normal gives every destination of a route a weight, so that they add up to
// 100 (semantics/kubernetes §16): what has none shares the rest equally.
// changed says that weights didn't add up and were scaled.
func normal(list []lane.TrafficDestination) (out []lane.TrafficDestination, changed bool) {
	sum, open := 0, 0
	for _, d := range list {
		if d.Weight == nil {
			open++
		} else {
			sum += *d.Weight
		}
	}
	parts := make([]int, len(list))
	for i, d := range list {
		switch {
		case open == len(list):
			parts[i] = 1
		case d.Weight != nil:
			parts[i] = *d.Weight * max(open, 1)
		default:
			parts[i] = max(whole-sum, 0)
		}
	}
	return weighted(list, share(whole, parts)), sum != whole && open == 0 || sum > whole
}

// share splits a total by parts, with the largest remainders rounded up. Parts
// that are all nothing are equal.
func share(total int, parts []int) []int {
	sum := 0
	for _, p := range parts {
		sum += p
	}
	if sum == 0 {
		parts = slices.Repeat([]int{1}, len(parts))
		sum = len(parts)
	}
	out := make([]int, len(parts))
	order := make([]int, len(parts))
	left := total
	for i, p := range parts {
		out[i], order[i] = total*p/sum, i
		left -= out[i]
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(total*parts[b]%sum, total*parts[a]%sum) })
	for _, i := range order[:left] {
		out[i]++
	}
	return out
}

func weighted(list []lane.TrafficDestination, weights []int) []lane.TrafficDestination {
	out := slices.Clone(list)
	for i := range out {
		out[i].Weight = &weights[i]
	}
	return out
}

// shift gives some destinations of a route new weights; the others keep their
// ratio in what is left (semantics/kubernetes §16).
func shift(old, updates []lane.TrafficDestination) ([]lane.TrafficDestination, error) {
	out, _ := normal(old)
	set := map[string]int{}
	sum := 0
	for _, u := range updates {
		if u.Weight == nil {
			return nil, fault.New(fault.Invalid, "the destination %s has no weight", u.Host)
		}
		if !slices.ContainsFunc(out, func(d lane.TrafficDestination) bool { return d.Host == u.Host }) {
			return nil, fault.New(fault.NotFound, "the route has no destination %s", u.Host)
		}
		set[u.Host] = *u.Weight
		sum += *u.Weight
	}
	if sum > whole || sum < whole && len(set) == len(out) {
		return nil, fault.New(fault.Invalid, "the weights add up to %d; want %d", sum, whole)
	}
	var parts, at []int
	for i := range out {
		if w, ok := set[out[i].Host]; ok {
			out[i].Weight = &w
			continue
		}
		parts, at = append(parts, *out[i].Weight), append(at, i)
	}
	rest := share(whole-sum, parts)
	for k, i := range at {
		out[i].Weight = &rest[k]
	}
	return out, nil
}

// allTo gives what a destination has to the stable one, or to the others.
func allTo(list []lane.TrafficDestination, from, stable string) []lane.TrafficDestination {
	out, _ := normal(list)
	none, freed := 0, 0
	to := -1
	for i := range out {
		if out[i].Host == from {
			freed += *out[i].Weight
			out[i].Weight = &none
		} else if to < 0 || out[i].Host == stable {
			to = i
		}
	}
	more := *out[to].Weight + freed
	out[to].Weight = &more
	return out
}
