package cron

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// set is the values of a field, in order.
type set struct{ list []int }

func (s set) has(n int) bool {
	_, found := slices.BinarySearch(s.list, n)
	return found
}

func (s set) values() []int { return s.list }

func months() []string {
	return []string{"JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC"}
}

// parseSet reads a list of numbers, ranges and steps. names stand for the
// numbers from low on.
func parseSet(text string, low, top int, names []string) (set, error) {
	var out []int
	for _, part := range strings.Split(text, ",") {
		from, to, step, err := parseRange(part, low, top, names)
		if err != nil {
			return set{}, err
		}
		for n := from; n <= to; n += step {
			out = append(out, n)
		}
		if from > to { // over the end, as in 22-2
			n := from
			for ; n <= top; n += step {
				out = append(out, n)
			}
			for n = low + (n - top - 1); n <= to; n += step {
				out = append(out, n)
			}
		}
	}
	slices.Sort(out)
	return set{slices.Compact(out)}, nil
}

// parseRange reads one of *, */5, 3, 3/5, 3-9 and 3-9/2.
func parseRange(part string, low, top int, names []string) (from, to, step int, err error) {
	span, by, stepped := strings.Cut(part, "/")
	step = 1
	if stepped {
		if step, err = number(by); err != nil || step < 1 || step > top {
			return 0, 0, 0, fmt.Errorf("has the step %q; want a number from 1 to %d", by, top)
		}
	}
	if span == "*" {
		return low, top, step, nil
	}
	first, last, ranged := strings.Cut(span, "-")
	if from, err = value(first, low, top, names); err != nil {
		return 0, 0, 0, err
	}
	switch {
	case ranged:
		to, err = value(last, low, top, names)
	case stepped:
		to = top
	default:
		to = from
	}
	return from, to, step, err
}

// value is a number or a name within bounds.
func value(text string, low, top int, names []string) (int, error) {
	if i := slices.Index(names, text); i >= 0 {
		return low + i, nil
	}
	n, err := number(text)
	if err != nil || n < low || n > top {
		return 0, fmt.Errorf("is %q; want a number from %d to %d", text, low, top)
	}
	return n, nil
}

// number reads digits alone: strconv would take a sign.
func number(text string) (int, error) {
	if strings.Trim(text, "0123456789") != "" {
		return 0, fmt.Errorf("%q isn't a number", text)
	}
	return strconv.Atoi(text)
}
