package printable_test

import (
	"bytes"
	"testing"

	"github.com/slipway-cd/slipway/pkg/printable"
)

func TestWhatIsHiddenIsShown(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, line, text, log string }{
		{"plain", "größe 💥 日本", "größe 💥 日本", "größe 💥 日本", "größe 💥 日本"},
		{"lines and tabs", "a\n\tb", `a\n\tb`, "a\n\tb", `a\n` + "\tb"},
		{"a title (OSC)", "\x1b]0;owned\x07x", `\x1b]0;owned\x07x`, `\x1b]0;owned\x07x`, `\x1b]0;owned\x07x`},
		{"the cursor", "\x1b[2A\x1b[2Kok", `\x1b[2A\x1b[2Kok`, `\x1b[2A\x1b[2Kok`, `\x1b[2A\x1b[2Kok`},
		{"colours", "\x1b[1;31mred\x1b[0m", `\x1b[1;31mred\x1b[0m`, `\x1b[1;31mred\x1b[0m`, "\x1b[1;31mred\x1b[0m\x1b[0m"},
		{"an 8-bit CSI", "\u009b2Ax", `\u009b2Ax`, `\u009b2Ax`, `\u009b2Ax`},
		{"a byte of it", "\x9b2Ax", `\x9b2Ax`, `\x9b2Ax`, `\x9b2Ax`},
		{"back to the line's beginning", "bad\rgood", `bad\rgood`, `bad\rgood`, `bad\rgood`},
		{"an end of line of Windows", "x\r", `x\r`, `x\r`, "x"},
		{"turned around", "a\u202eb\u2066c\u2069", `a\u202eb\u2066c\u2069`, `a\u202eb\u2066c\u2069`, `a\u202eb\u2066c\u2069`},
		{"other ends of lines", "a\u2028b\u0085c", `a\u2028b\u0085c`, `a\u2028b\u0085c`, `a\u2028b\u0085c`},
		{"backspace and NUL", "a\bb\x00\x7f", `a\x08b\x00\x7f`, `a\x08b\x00\x7f`, `a\x08b\x00\x7f`},
		{"half a colour", "\x1b[31", `\x1b[31`, `\x1b[31`, `\x1b[31`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			for way, pair := range map[string][2]string{
				"Line": {printable.Line(c.in), c.line}, "Text": {printable.Text(c.in), c.text}, "Log": {printable.Log(c.in), c.log},
			} {
				if pair[0] != pair[1] {
					t.Errorf("%s is %q, want %q", way, pair[0], pair[1])
				}
			}
			if printable.Clean(c.in) != (c.in == c.line) {
				t.Errorf("Clean is %t", printable.Clean(c.in))
			}
		})
	}
}

func TestWriterKeepsLinesAndColours(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	in := "a\tb\n\x1b[31mc\x1b[0m\x1b]0;x\x07\n"
	n, err := printable.Writer(&out).Write([]byte(in))
	if want := "a\tb\n\x1b[31mc\x1b[0m\\x1b]0;x\\x07\n"; n != len(in) || err != nil || out.String() != want {
		t.Errorf("%d, %v: %q, want %q", n, err, out.String(), want)
	}
}
