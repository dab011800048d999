package legacy

import (
	"bytes"

	"github.com/slipway-cd/slipway/pkg/ref"
)

// Set is documents of which each stands once. The zero value has none.
type Set struct {
	docs []Document
	at   map[name]origin
}

type name struct {
	kind ref.Kind
	id   string
}

// origin says which of the docs it is, and who said so first.
type origin struct {
	index int
	by    string
}

// Add adds a document that somebody says. The same again is the same one; if
// it differs, nothing is added, and who has said the other is given.
func (s *Set) Add(d Document, by string) (other string, ok bool) {
	key := name{d.Kind, d.ID}
	if before, again := s.at[key]; again {
		return before.by, bytes.Equal(s.docs[before.index].YAML, d.YAML)
	}
	if s.at == nil {
		s.at = map[name]origin{}
	}
	s.at[key] = origin{len(s.docs), by}
	s.docs = append(s.docs, d)
	return "", true
}

// Documents are those that were added, in that order.
func (s *Set) Documents() []Document { return s.docs }
