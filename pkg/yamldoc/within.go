package yamldoc

// Within adds what f reports about a part of the document, whose paths begin
// below path. Whoever decodes the part needn't know where it stands.
func (r *Report) Within(path string, f func(part *Report)) {
	part := &Report{file: r.file, strict: r.strict, resolved: r.resolved, open: r.open, watch: r.below(path)}
	f(part)
	for _, found := range part.findings {
		found.Path = under(path, found.Path)
		r.keep(found)
	}
}
