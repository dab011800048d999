package yamldoc

// Use is what a decoder takes a value for.
type Use uint8

// The uses. The names of the first ones are those of the methods of document.Decoder.
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
	UseAnyCase // the words of an enum may be written in any case
	// Of what may stand for any value:
	UseInput // no expression but a runtime input
	UsePlain // no expression at all
	UseBlank // a blank text or an empty mapping is as good as none
	// Of a list:
	UseFilled // it mustn't be empty
	// Of a mapping:
	UseKeys   // Keys are those that it may have
	UseNeeded // Words are keys that it must have
	UseOneOf  // it must have exactly one of Words
	UseEmpty  // it may be empty in spite of what is needed
	UseOpened // a runtime input may stand for any part of it
	UseClosed // nothing in it may be a runtime input
	UseNamed  // the first of Words is what it is called wherever it stands
	// Of any value; Words say why:
	UseIdle      // it is read and changes nothing
	UseNever     // it is refused
	UseForbidden // it goes with another word of the mapping
	UseWithout   // the first of Words is refused for the second
	UseElsewhere // its key belongs somewhere else
)

// Usage is one use of a value.
type Usage struct {
	Node  *Node
	Use   Use
	Words []string
	Keys  map[string]func(Value) // the rules of a mapping's keys
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
		r.watch(Usage{Node: v.Node, Use: use, Words: words})
	}
}

// takesWhole is Takes for what a runtime input may stand for in a part that is
// open.
func (r *Report) takesWhole(v Value, use Use) {
	if r.Takes(v, use); r.open != nil {
		r.Takes(v, UseInput)
	}
}

// TakesKeys tells who watches which keys a mapping may have.
func (r *Report) TakesKeys(v Value, keys map[string]func(Value)) {
	if r.watch != nil {
		r.watch(Usage{Node: v.Node, Use: UseKeys, Keys: keys})
	}
}
