package yamldoc

// Use is what a decoder takes a value for.
type Use uint8

// The uses. The names of the first ones are those of the Report's methods.
const (
	UseString Use = iota
	UseBool
	UseInt
	UseDuration
	UseBody
	UseEnum    // Words are those that it may be
	UseRefused // Words are those that Harness has besides
	UseStrings
	UseStringMap
	UseMapping
	UseList
	// Of a mapping's keys:
	UseUnknown // Words are the keys that the mapping may have
	UseKeys    // Words are keys that it may have besides
	UseMissing // Words are those that it must have and hasn't
	UseOneOf   // it must have exactly one of Words
	// Of any value: it is read and changes nothing; Words say why.
	UseIdle
)

// Usage is one use of a value.
type Usage struct {
	Path  string
	Use   Use
	Words []string
}

// Watch tells f what every value is taken for from now on. So what a decoder
// wants can be learned from the decoder itself (pkg/schema).
func (r *Report) Watch(f func(Usage)) *Report {
	r.watch = f
	return r
}

// Watched says whether somebody watches.
func (r *Report) Watched() bool { return r.watch != nil }

// Takes tells who watches what a value is taken for. Decoders call it where
// they read a value in a way of their own.
func (r *Report) Takes(v Value, use Use, words ...string) {
	if r.watch != nil {
		r.watch(Usage{Path: v.Path, Use: use, Words: words})
	}
}

// below puts the watched part of a report at a path.
func (r *Report) below(path string) func(Usage) {
	if r.watch == nil {
		return nil
	}
	return func(u Usage) {
		u.Path = under(path, u.Path)
		r.watch(u)
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
