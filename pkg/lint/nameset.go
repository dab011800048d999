package lint

// nameset are names in their order. A document may have thousands, and
// thousands of expressions that ask for them, so nothing here goes through all.
type nameset struct {
	list  []string
	known map[string]bool
}

func (n *nameset) add(name string) {
	if n.known == nil {
		n.known = map[string]bool{}
	}
	n.list, n.known[name] = append(n.list, name), true
}

// has says whether there is such a name.
func (n *nameset) has(name string) bool { return n.known[name] }

// longestName bounds what is looked for: no identifier or name of a variable is
// longer (128 characters, or so many bytes).
const longestName = 512

// copied says whether an identifier is that of a copy that a loop makes of one
// of them, e.g. deploy_1.
func (n *nameset) copied(id string) bool {
	for i := range min(len(id), longestName) {
		if id[i] == '_' && n.known[id[:i]] {
			return true
		}
	}
	return false
}

// begins says whether a path, or what its first keys make, is one of them:
// names of variables may have dots.
func (n *nameset) begins(path []string) bool {
	full := ""
	for _, key := range path {
		if full += key; n.known[full] {
			return true
		}
		if full += "."; len(full) > longestName {
			return false
		}
	}
	return false
}
