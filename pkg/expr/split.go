package expr

// Piece is a part of a text: literal, or one expression with its <+ and >.
type Piece struct {
	Text       string
	Expression bool
}

// Split takes a text apart at its expressions, those within others aside.
func Split(text string) ([]Piece, error) {
	p, err := Compile(text)
	if err != nil {
		return nil, err
	}
	out := make([]Piece, 0, len(p.parts))
	for _, part := range p.parts {
		if part.expr == nil {
			out = append(out, Piece{Text: part.text})
			continue
		}
		out = append(out, Piece{Text: text[part.start:part.end], Expression: true})
	}
	return out, nil
}
