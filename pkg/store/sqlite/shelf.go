package sqlite

// shelf holds values up to a number of bytes; those that were put there first
// go first.
type shelf[K comparable, V any] struct {
	most, bytes int
	values      map[K]sized[V]
	order       []K
}

type sized[V any] struct {
	value V
	bytes int
}

func newShelf[K comparable, V any](most int) shelf[K, V] {
	return shelf[K, V]{most: most, values: map[K]sized[V]{}}
}

func (s *shelf[K, V]) get(k K) (V, bool) {
	v, ok := s.values[k]
	return v.value, ok
}

// put puts a value in the place of what is there, or as the newest. One that
// has grown may have to go itself.
func (s *shelf[K, V]) put(k K, v V, bytes int) {
	old, ok := s.values[k]
	if !ok {
		s.order = append(s.order, k)
	}
	s.values[k] = sized[V]{value: v, bytes: bytes}
	s.bytes += bytes - old.bytes
	for s.bytes > s.most {
		first := s.order[0]
		s.bytes -= s.values[first].bytes
		delete(s.values, first)
		s.order = s.order[1:]
	}
}
