package redact_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/slipway-cd/slipway/pkg/redact"
)

func TestText(t *testing.T) {
	t.Parallel()
	const m = redact.Mask
	for _, c := range []struct {
		name   string
		values []string
		text   string
		want   string
	}{
		{"nothing to hide", nil, "hello", "hello"},
		{"a value", []string{"hunter2"}, "pass hunter2!", "pass " + m + "!"},
		{"twice", []string{"hunter2"}, "hunter2 hunter2", m + " " + m},
		{"side by side", []string{"abc"}, "abcabc", m + m},
		{"overlapping itself", []string{"aba"}, "xababay", "x" + m + "y"},
		{"one in the other", []string{"pass", "password"}, "a password, a pass", "a " + m + ", a " + m},
		{"one into the other", []string{"abcd", "cdef"}, "-abcdef-", "-" + m + "-"},
		{"a longer one that doesn't come", []string{"abcdef", "abc"}, "abcde", m + "de"},
		{"almost", []string{"hunter2"}, "hunter hunter1", "hunter hunter1"},
		{"at the very end", []string{"hunter2"}, "hunterhunter2", "hunter" + m},
		{"two characters", []string{"ab", " c ", "\n\n\n\n"}, "ab c \n\n\n\n", "ab c \n\n\n\n"},
		{"three characters", []string{"äöü"}, "xäöüx", "x" + m + "x"},
		{"white space around it", []string{" hunter2\n"}, "[hunter2] [ hunter2\n]", "[" + m + "] [" + m + "]"},
		{"whole and by line", []string{"first line\r\nsecond\nab\n"}, "second; first line\r\nsecond\nab|ab", m + "; " + m + "|ab"},
		{"JSON", []string{`a"b\c<d`}, `{"x":"a\"b\\c<d","y":"a\"b\\c\u003cd"}`, `{"x":"` + m + `","y":"` + m + `"}`},
		{"%q", []string{"tab\tbell\a"}, fmt.Sprintf("%q", "tab\tbell\a"), `"` + m + `"`},
		{"%+q", []string{"größe!"}, fmt.Sprintf("%+q", "größe!"), `"` + m + `"`},
		{"YAML", []string{"#it's"}, "value: '#it''s'", "value: '" + m + "'"},
		{"a shell's trace", []string{"it's me"}, `+ login 'it'\''s me'`, "+ login '" + m + "'"},
		{"XML", []string{`a<"b'&`}, `<x y="a&lt;&#34;b&#39;&amp;">a&lt;&quot;b&apos;&amp;</x>a&lt;"b'&amp;`, `<x y="` + m + `">` + m + "</x>" + m},
		{"URL", []string{"p@ss w/rd"}, "https://u:p%40ss+w%2Frd@h p@ss%20w%2Frd", "https://u:" + m + "@h " + m},
		{"encodeURIComponent", []string{"it's (a) *b c!"}, "it's%20(a)%20*b%20c!", m},
		{"encodeURIComponent, more of it", []string{"p@ss'w/rd"}, "p%40ss'w%2Frd p%40ss'w%2frd", m + " " + m},
		{"encodeURI", []string{"a+b/c d"}, "?x=a+b/c%20d", "?x=" + m},
		{"Python's quote", []string{"p@ss w/rd"}, "p%40ss%20w/rd", m},
		{"lower digits in a URL", []string{"p@ss w/rd"}, "p%40ss+w%2frd", m},
		{"hexadecimal digits", []string{"hunter2"}, "68756e74657232 68756E74657232", m + " " + m},
		{"few of them", []string{"abc"}, "616263", "616263"},
		{"bash's %q", []string{"a $b'c\"d\\e"}, `a\ \$b\'c\"d\\e`, m},
		{"bash's %q of lines", []string{"one\ntwo's\t\x01"}, `$'one\ntwo\'s\t\001'`, "$'" + m + "'"},
		{"bash's %q of letters that the locale hasn't", []string{"grö\nße"}, `$'gr\303\266\n\303\237e'`, "$'" + m + "'"},
		{"base64 of a line of it", []string{"first secret line\nsecond secret line"}, "c2Vjb25kIHNlY3JldCBsaW5l", m},
		{"base64", []string{"hunter2"}, "aHVudGVyMg== aHVudGVyMg.", m + " " + m + "."},
		{"URL base64", []string{"\xff\xfe\xfdabc?"}, "__79YWJjPw", m},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := redact.New(c.values...).Text(c.text); got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestBase64OfMoreThanTheValue(t *testing.T) {
	t.Parallel()
	const value = "correct horse battery"
	masker := redact.New(value)
	for before := range 7 {
		for after := range 4 {
			whole := strings.Repeat("u", before) + value + strings.Repeat("z", after)
			for _, e := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding} {
				got := masker.Text(e.EncodeToString([]byte(whole)))
				left := strings.ReplaceAll(got, redact.Mask, "")
				// What is left is the text around the value and at most a character on each side.
				if most := (before*8+5)/6 + (after*8+5)/6 + 2 + 2; got == left || len(left) > most {
					t.Errorf("%d bytes before and %d after: %q shows %d characters, want at most %d", before, after, got, len(left), most)
				}
			}
		}
	}
}

func TestWrappedBase64(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("0123456789abcdefghijklmnopqrstuvwxyz", 5)
	whole := base64.StdEncoding.EncodeToString([]byte(value))
	var wrapped strings.Builder
	for ; len(whole) > 76; whole = whole[76:] {
		wrapped.WriteString(whole[:76] + "\n")
	}
	wrapped.WriteString(whole)
	got := strings.NewReplacer(redact.Mask, "", "\n", "").Replace(redact.New(value).Text(wrapped.String()))
	if got != "" {
		t.Errorf("%q is left", got)
	}
}

// chunked writes a text in parts of the given size.
func chunked(t *testing.T, m *redact.Masker, text []byte, size int) string {
	t.Helper()
	var out bytes.Buffer
	w := m.Writer(&out)
	for len(text) > 0 {
		n := min(size, len(text))
		if got, err := w.Write(text[:n]); got != n || err != nil {
			t.Fatalf("wrote %d and %v, want %d", got, err, n)
		}
		text = text[n:]
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestWriterPassesOnWhatIsClear(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	w := redact.New("hunter2").Writer(&out)
	for _, c := range []struct{ write, want string }{
		{"hello\n", "hello\n"}, // nothing of it can begin a value: nothing waits
		{"a hun", "hello\na "},
		{"ter1 hunter", "hello\na hunter1 "},
		{"2", "hello\na hunter1 " + redact.Mask},
		{" h", "hello\na hunter1 " + redact.Mask + " "},
	} {
		if _, err := w.Write([]byte(c.write)); err != nil {
			t.Fatal(err)
		}
		if out.String() != c.want {
			t.Fatalf("after %q: %q, want %q", c.write, out.String(), c.want)
		}
	}
	if err := w.Flush(); err != nil || !strings.HasSuffix(out.String(), " h") {
		t.Errorf("after Flush: %q and %v", out.String(), err)
	}
}

func TestAddedValuesAreHiddenInOpenWriters(t *testing.T) {
	t.Parallel()
	m := redact.New()
	var out bytes.Buffer
	w := m.Writer(&out)
	_, _ = w.Write([]byte("hunter2 hun"))
	m.Add("hunter2", "ter3")
	_, _ = w.Write([]byte("ter3 hunter2"))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if want := "hunter2 hun" + redact.Mask + " " + redact.Mask; out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

func TestPrintingShowsNoValue(t *testing.T) {
	t.Parallel()
	m := redact.New("hunter2")
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		if got := fmt.Sprintf(verb, m); strings.Contains(got, "hunter2") {
			t.Errorf("%s shows %q", verb, got)
		}
	}
}

// FuzzWriter: however a text is cut, the result is that of the whole text, and
// no value is in it in any form that is promised.
func FuzzWriter(f *testing.F) {
	f.Add("hunter2", "two\nlines of it", "a hunter2 b aHVudGVyMg== two\nlines of it", 3)
	f.Add("aaa", "aab", "aaaaaaabaab", 1)
	f.Add(`q"\`, "abcabcabd", `abcabcabcabd q"\ {"q\"\\"}`, 2)
	f.Fuzz(func(t *testing.T, one, two, text string, size int) {
		if strings.Contains(one+two, "*") {
			t.Skip("masks beside text may look like a value with *")
		}
		masker := redact.New(one, two)
		text += one + "x" + two + one[len(one)/2:] + base64.StdEncoding.EncodeToString([]byte(two)) + url.QueryEscape(one)
		if doc, err := json.Marshal(two); err == nil {
			text += string(doc)
		}
		whole := masker.Text(text)
		for _, size := range []int{1, 2, 1 + abs(size)%64, len(text)} {
			if got := chunked(t, masker, []byte(text), max(size, 1)); got != whole {
				t.Fatalf("values %q and %q, by %d: got %q, want %q", one, two, size, got, whole)
			}
		}
		for _, v := range []string{one, two} {
			for _, form := range append(strings.Split(v, "\n"), v, base64.StdEncoding.EncodeToString([]byte(v)), url.QueryEscape(v)) {
				if trimmed := strings.TrimSpace(form); len([]rune(trimmed)) >= 3 && len([]rune(strings.TrimSpace(v))) >= 3 && strings.Contains(whole, form) {
					t.Fatalf("values %q and %q: %q shows in %q", one, two, form, whole)
				}
			}
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }

func BenchmarkWriter(b *testing.B) {
	line := []byte("2026-01-02T03:04:05Z deployment.apps/web configured, waiting for 3 of 5 replicas to be ready\n")
	for _, n := range []int{0, 1, 20} {
		b.Run(fmt.Sprintf("secrets=%d", n), func(b *testing.B) {
			var values []string
			for i := range n {
				values = append(values, fmt.Sprintf("s3cr3t-%d-%s", i, strings.Repeat("x", 30)))
			}
			w := redact.New(values...).Writer(&discard{})
			b.SetBytes(int64(len(line)))
			for b.Loop() {
				_, _ = w.Write(line)
			}
		})
	}
}

type discard struct{}

func (*discard) Write(p []byte) (int, error) { return len(p), nil }

// BenchmarkWorstCase is a log that looks like a long value almost all along.
func BenchmarkWorstCase(b *testing.B) {
	value := strings.Repeat("a", 4000) + "b"
	text := bytes.Repeat([]byte("a"), 64<<10)
	w := redact.New(value).Writer(&discard{})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = w.Write(text)
	}
}

// BenchmarkForms is what a value costs when it is learnt, and how long lines
// take that have nothing to hide beside many large ones: keys and certificates.
func BenchmarkForms(b *testing.B) {
	key := strings.Repeat(strings.Repeat("MIIEvQIBADANBgkqhkiG9w0", 3)[:64]+"\n", 28)
	for b.Loop() {
		redact.New(key)
	}
}
