package yamldoc

// Field is a value that keeps its place. It is either a value or the text of
// an expression, never both: where Expr isn't empty, Value is zero. Text is for
// whoever keeps it as it was written, such as a plan.
type Field[T any] struct {
	Value T
	Expr  string // the whole scalar, when it holds <+...>
	Text  string // the whole scalar as it is written
	Must  string // the scalar's, see Node
	At    Pos
	Set   bool // the key is there and not null
}

// Or is the field's value, or another if it isn't set.
func (f Field[T]) Or(other T) T {
	if !f.Set {
		return other
	}
	return f.Value
}
