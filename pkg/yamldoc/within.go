package yamldoc

// Within adds what f reports about a part of the document, whose paths begin
// below path. Whoever decodes the part needn't know where it stands.
func (r *Report) Within(path string, f func(part *Report)) {
	part := &Report{file: r.file, strict: r.strict, resolved: r.resolved, open: r.open, watch: r.watch}
	f(part)
	for _, found := range part.findings {
		found.Path = under(path, found.Path)
		r.keep(found)
	}
}

// under is a path that begins below another.
func under(path, rest string) string {
	switch {
	case rest == "":
		return path
	case path != "" && rest[0] == '[':
		return path + rest
	}
	return join(path, rest)
}
