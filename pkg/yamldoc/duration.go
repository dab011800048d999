package yamldoc

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// maxDuration is the longest time that a step may take
// (semantics/pipeline §1.4).
const maxDuration = 53 * 7 * 24 * time.Hour

// ParseDuration reads a time such as "1h 30m" or "2w3d": whole numbers with
// the units w, d, h, m, s and ms, which may be separated by a space.
// Milliseconds are rounded up to a second (semantics/pipeline §1.4).
func ParseDuration(text string) (time.Duration, error) {
	wrong := fmt.Errorf("%q isn't a duration; want numbers with units, such as 30s, 10m or 1h 30m", Shorten(text))
	rest := strings.TrimSpace(text)
	var total time.Duration
	for rest != "" {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.ParseInt(rest[:digits], 10, 64)
		if err != nil {
			return 0, wrong
		}
		unit, length := unitOf(rest[digits:])
		if unit == 0 {
			return 0, wrong
		}
		if n > int64((maxDuration-total)/unit) {
			return 0, fmt.Errorf("%q is longer than 53w", Shorten(text))
		}
		total += time.Duration(n) * unit
		rest = strings.TrimPrefix(rest[digits+length:], " ")
	}
	if total == 0 {
		return 0, wrong
	}
	return total.Truncate(time.Second) + roundUp(total), nil
}

func roundUp(d time.Duration) time.Duration {
	if d%time.Second == 0 {
		return 0
	}
	return time.Second
}

// unitOf reads the unit at the start of a text; 0 if there is none.
func unitOf(text string) (time.Duration, int) {
	switch {
	case strings.HasPrefix(text, "ms"):
		return time.Millisecond, 2
	case strings.HasPrefix(text, "w"):
		return 7 * 24 * time.Hour, 1
	case strings.HasPrefix(text, "d"):
		return 24 * time.Hour, 1
	case strings.HasPrefix(text, "h"):
		return time.Hour, 1
	case strings.HasPrefix(text, "m"):
		return time.Minute, 1
	case strings.HasPrefix(text, "s"):
		return time.Second, 1
	}
	return 0, 0
}
