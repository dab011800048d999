package redact

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
)

// head is how many bytes of a text choose the patterns that may begin there.
// Every pattern has as many.
const head = 3

// matcher finds patterns. Almost every place of a log begins none of them; a
// set of hashed heads says so at the cost of one look-up per byte, and needs
// far less memory than an automaton over keys and certificates would.
type matcher struct {
	heads    [1 << 10]uint64 // a set of 16-bit hashes
	patterns map[[head]byte][]string
	starts   [256]bool // first bytes
}

func newMatcher(patterns []string) *matcher {
	m := &matcher{patterns: map[[head]byte][]string{}}
	for _, p := range patterns {
		key := [head]byte([]byte(p))
		if slices.Contains(m.patterns[key], p) {
			continue
		}
		m.patterns[key] = append(m.patterns[key], p)
		h := hash(key[0], key[1], key[2])
		m.heads[h>>6] |= 1 << (h & 63)
		m.starts[key[0]] = true
	}
	for _, list := range m.patterns {
		slices.SortFunc(list, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	}
	return m
}

func (m *matcher) empty() bool { return len(m.patterns) == 0 }

// hash takes 24 bits to 16 (Fibonacci hashing).
func hash(a, b, c byte) uint32 {
	return (uint32(a) | uint32(b)<<8 | uint32(c)<<16) * 2654435769 >> 16
}

// at gives the length of the longest pattern that the text begins with, 0 for
// none. unsure: the text is too short to say.
func (m *matcher) at(text []byte, last bool) (length int, unsure bool) {
	if len(text) < head {
		return 0, !last && m.mayBegin(text)
	}
	if h := hash(text[0], text[1], text[2]); m.heads[h>>6]&(1<<(h&63)) == 0 {
		return 0, false
	}
	for _, p := range m.patterns[[head]byte(text)] { // the longest first
		if len(p) <= len(text) {
			if string(text[:len(p)]) == p {
				return len(p), false
			}
		} else if !last && strings.HasPrefix(p, string(text)) {
			return 0, true
		}
	}
	return 0, false
}

// mayBegin says whether a text of one or two bytes begins a pattern.
func (m *matcher) mayBegin(text []byte) bool {
	if !m.starts[text[0]] {
		return false
	}
	for key := range m.patterns {
		if bytes.HasPrefix(key[:], text) {
			return true
		}
	}
	return false
}

// scan goes through a text in parts. Every byte of every occurrence is
// hidden; occurrences that overlap are hidden by one mask.
type scan struct {
	out    []byte
	hidden int // how many of the bytes that come next are within an occurrence
}

// run adds the masked text to out and gives the rest that can't be judged
// before more of the text is known.
func (s *scan) run(m *matcher, text []byte, last bool) (rest []byte) {
	clear := 0 // start of what is passed on as it is
	for i := 0; i < len(text); i++ {
		length, unsure := m.at(text[i:], last)
		if unsure {
			s.out = append(s.out, text[clear:i]...)
			return text[i:]
		}
		if length > 0 && s.hidden == 0 {
			s.out = append(append(s.out, text[clear:i]...), Mask...)
		}
		if s.hidden = max(s.hidden, length); s.hidden > 0 {
			s.hidden--
			clear = i + 1
		}
	}
	s.out = append(s.out, text[clear:]...)
	return nil
}
