package yamldoc

// Within adds what f reports about a part of the document, whose paths begin
// below path. Whoever decodes the part needn't know where it stands.
func (r *Report) Within(path string, f func(part *Report)) {
	part := &Report{file: r.file, strict: r.strict, resolved: r.resolved, open: r.open}
	f(part)
	for _, found := range part.findings {
		switch {
		case found.Path == "":
			found.Path = path
		case path != "" && found.Path[0] == '[':
			found.Path = path + found.Path
		default:
			found.Path = join(path, found.Path)
		}
		r.keep(found)
	}
}
