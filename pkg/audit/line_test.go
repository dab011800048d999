package audit_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/pkg/audit"
)

// A record's line holds all of which its hash is made.
func TestLinesHoldTheChain(t *testing.T) {
	t.Parallel()
	records := chain(t, 4)
	records = records[1:] // a receiver needn't have the beginning
	text, err := audit.Lines(records)
	if err != nil {
		t.Fatal(err)
	}
	var v audit.Verifier
	v.From(audit.Place{Sequence: 1, Hash: records[0].Previous})
	var got []audit.Record
	if err := audit.ReadLines(strings.NewReader(string(text)), func(r audit.Record) error {
		got = append(got, r)
		return v.Check(r)
	}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(records, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	want := `{"auditEventId":"acme-2","auditEventAuthor":{"principal":{"identifier":"ann"}},"auditModule":"CD","auditResource":{"type":"pipeline","identifier":"p1"},` +
		`"auditResourceScope":{"accountIdentifier":"acme","orgIdentifier":"default"},"auditAction":"UPDATE","auditEventTime":"2026-01-02T02:04:01.999Z",` +
		`"before":"a: 1\n","after":"a: <2>\n","request":"r1","sequence":2,"previous":"` + records[0].Previous + `","hash":"` + records[0].Hash + `"}`
	if line, _, _ := strings.Cut(string(text), "\n"); line != want {
		t.Errorf("the first line is\n%s\nwant\n%s", line, want)
	}
}

func TestWhatIsNoLine(t *testing.T) {
	t.Parallel()
	good, err := audit.Lines(chain(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"{}\n", "no\n", `{"sequence":1}`, string(good) + "x"} {
		err := audit.ReadLines(strings.NewReader(text), func(audit.Record) error { return nil })
		if err == nil || !strings.Contains(err.Error(), "isn't an audit record") {
			t.Errorf("%q: got %v", text, err)
		}
	}
	if err := audit.ReadLines(strings.NewReader("\n"+string(good)+"\n"), func(audit.Record) error { return nil }); err != nil {
		t.Errorf("empty lines: %v", err)
	}
}
