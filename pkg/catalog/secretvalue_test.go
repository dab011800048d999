package catalog

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// secretDoc is a secret whose value is written in some way.
func secretDoc(value string) string {
	return "# keep me\nsecret:\n  type: SecretText\n  name: a\n  identifier: a\n  spec:\n" +
		"    secretManagerIdentifier: harnessSecretManager\n    valueType: Inline\n    value: " + value + "\n    # and me\n"
}

func TestAValueIsTakenOutOfItsDocument(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, written, value, left string }{
		{"plain", "hunter2", "hunter2", `""`},
		{"plain with a comment", "hunter2 # mine", "hunter2", `"" # mine`},
		{"plain with a hash in it", "hun#ter2", "hun#ter2", `""`},
		{"number", "12345", "12345", `""`},
		{"double quotes", `"hun\"ter: \n2" # mine`, "hun\"ter: \n2", `"" # mine`},
		{"single quotes", `'hun''ter'`, "hun'ter", `""`},
		{"quotes over lines", "\"hun\n      ter\"", "hun ter", `""`},
		{"literal block", "|\n      hunter\n\n      2", "hunter\n\n2\n", `""`},
		{"folded block", ">-\n      hunter\n      2", "hunter 2", `""`},
		{"behind characters of several bytes", `"é…漢"`, "é…漢", `""`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			left, value, err := withoutValue([]byte(secretDoc(c.written)))
			if err != nil {
				t.Fatal(err)
			}
			if value == nil || *value != c.value {
				t.Fatalf("the value is %v; want %q", value, c.value)
			}
			if diff := cmp.Diff(secretDoc(c.left), string(left)); diff != "" {
				t.Errorf("what is left (-want +got):\n%s", diff)
			}
		})
	}
}

func TestAFlowDocumentKeepsItsOtherKeys(t *testing.T) {
	t.Parallel()
	for written, blank := range map[string]string{`"hunter2"`: `""`, `hunter2`: `""`, `hun#ter2 `: `"" `} {
		doc := `{"secret": {"name": "é", "type": "SecretText", "spec": {"value": ` + written + `, "valueType": "Inline"}}}`
		left, _, err := withoutValue([]byte(doc))
		if want := strings.Replace(doc, written, blank, 1); err != nil || string(left) != want {
			t.Errorf("left is %s, %v; want %s", left, err, want)
		}
	}
}

func TestAValueThatCantBeCutIsRefusedRatherThanKept(t *testing.T) {
	t.Parallel()
	for name, doc := range map[string]string{
		"an anchor that stands elsewhere too": "secret:\n  type: SecretText\n  spec:\n    value: &v hunter2\n  description: *v\n",
		"plain over lines within braces":      "secret: {type: SecretText, spec: {value: hunter2\n  and more, valueType: Inline}}\n",
		"a tag":                               "secret:\n  type: SecretText\n  spec: {value: !!str hunter2}\n",
	} {
		left, _, err := withoutValue([]byte(doc))
		if err == nil && strings.Contains(string(left), "hunter2") || err != nil && !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: left %q, %v; want INVALID, or a document without the value", name, left, err)
		}
	}
}

func TestWhatHasNoInlineValueStays(t *testing.T) {
	t.Parallel()
	for _, doc := range []string{
		"secret:\n  type: SecretText\n  spec: {valueType: Reference, value: path#key}\n",
		"secret:\n  type: SecretText\n  spec: {valueType: Inline, value: \"\"}\n",
		"secret:\n  type: SecretFile\n  spec: {secretManagerIdentifier: harnessSecretManager}\n",
	} {
		left, value, err := withoutValue([]byte(doc))
		if err != nil || value != nil || string(left) != doc {
			t.Errorf("%q became %q, value %v, %v; want it unchanged", doc, left, value, err)
		}
	}
}

// FuzzWithoutValue looks for documents whose value stays where it was, or that
// lose something else.
func FuzzWithoutValue(f *testing.F) {
	for _, seed := range []string{"hunter2", "|\n      a\n      b", `"a\"b"`, "'a''b'", ">-\n      x", "&a b", "!!str x", "[a]", "a\n      b", "\t"} {
		f.Add(secretDoc(seed))
	}
	f.Fuzz(func(t *testing.T, doc string) {
		before, report := yamldoc.Parse("", []byte(doc))
		if report.Failed() || secretType(before) != "SecretText" {
			return
		}
		left, value, err := withoutValue([]byte(doc))
		if err != nil || value == nil {
			return
		}
		after, report := yamldoc.Parse("", left)
		if report.Failed() || len(after) != 1 {
			t.Fatalf("%q became %q, which isn't YAML", doc, left)
		}
		if v := after[0].At("secret", "spec", "value"); v.Value != "" {
			t.Errorf("%q became %q, whose value is %q", doc, left, v.Value)
		}
		if diff := cmp.Diff(blanked(before[0]), after[0].Any()); diff != "" {
			t.Errorf("%q became %q:\n%s", doc, left, diff)
		}
	})
}
