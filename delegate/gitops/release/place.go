package release

import (
	"strconv"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
)

// segment is a part of a place in a file: a key, or an item of a list.
type segment struct {
	key  string
	item int // -1: a key
}

// placeOf reads where a value stands: keys with dots between, of which \. is part of a
// key, and items of lists by their numbers.
func placeOf(path string) ([]segment, error) {
	wrong := fault.New(fault.Invalid, "%q is no place in a file; want one such as image.tag or containers[0].image", path)
	var out []segment
	var key strings.Builder
	flush := func() bool {
		if key.Len() == 0 {
			return false
		}
		out = append(out, segment{key: key.String(), item: -1})
		key.Reset()
		return true
	}
	for i := 0; i < len(path); i++ {
		switch c := path[i]; c {
		case '\\':
			if i++; i == len(path) {
				return nil, wrong
			}
			key.WriteByte(path[i])
		case '.':
			if !flush() && (len(out) == 0 || out[len(out)-1].item < 0) {
				return nil, wrong
			}
		case '[':
			flush()
			end := strings.IndexByte(path[i:], ']')
			if end < 0 || len(out) == 0 {
				return nil, wrong
			}
			n, err := strconv.Atoi(path[i+1 : i+end])
			if err != nil || n < 0 {
				return nil, wrong
			}
			out = append(out, segment{item: n})
			i += end
		case ']':
			return nil, wrong
		default:
			key.WriteByte(c)
		}
	}
	if !flush() && (len(out) == 0 || out[len(out)-1].item < 0) {
		return nil, wrong
	}
	return out, nil
}
