package schema_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/tools/txtar"

	"github.com/slipway-cd/slipway/pkg/builtin"
	"github.com/slipway-cd/slipway/pkg/entity"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// sample is a document of the repository.
type sample struct {
	from string
	doc  *yamldoc.Node
}

// samples are all documents of a known kind in YAML files and archives of tests.
var samples = sync.OnceValues(func() ([]sample, error) {
	var out []sample
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2):
			return filepath.SkipDir
		case strings.HasSuffix(path, ".yaml"):
			text, err := os.ReadFile(path)
			out = append(out, documents(path, text)...)
			return err
		case strings.HasSuffix(path, ".txtar"):
			archive, err := txtar.ParseFile(path)
			if err != nil {
				return err
			}
			for _, f := range archive.Files {
				out = append(out, documents(path+"/"+f.Name, f.Data)...)
				if f.Name == "spec.yaml" {
					out = append(out, stepOf(path, f.Data)...)
				}
			}
		}
		return nil
	})
	slices.SortStableFunc(out, func(a, b sample) int { return size(a.doc) - size(b.doc) }) // changes are made of small ones
	return out, err
})

func size(n *yamldoc.Node) int {
	all := 1
	for _, item := range n.Items {
		all += size(item)
	}
	for _, e := range n.Entries {
		all += size(e.Value)
	}
	return all
}

// documents are those of a text that have a known kind.
func documents(from string, text []byte) []sample {
	docs, report := yamldoc.Parse(from, text)
	if report.Failed() {
		return nil
	}
	var out []sample
	for i, doc := range docs {
		if slices.ContainsFunc(ref.Kinds(), func(k ref.Kind) bool { return doc.Get(string(k)) != nil }) {
			out = append(out, sample{fmt.Sprintf("%s#%d", strings.TrimPrefix(filepath.ToSlash(from), "../../"), i), doc})
		}
	}
	return out
}

// stepOf is a pipeline with a spec of the step type in whose folder it is.
func stepOf(path string, spec []byte) []sample {
	folder := filepath.Dir(path)
	if filepath.Base(folder) == "testdata" { // of a type that has a folder of its own
		folder = filepath.Dir(folder)
	}
	for _, name := range builtin.Steps().Names() {
		if strings.ToLower(name) != filepath.Base(folder) {
			continue
		}
		docs, _ := yamldoc.Parse("", spec)
		whole := documents(path, fmt.Appendf(nil, "pipeline: {identifier: p, name: p, stages: [{stage: {identifier: s, name: s, type: Deployment, spec: {"+
			"deploymentType: Kubernetes, service: {serviceRef: s}, environment: {environmentRef: e, infrastructureDefinitions: [{identifier: i}]}, "+
			"execution: {steps: [{step: {identifier: t, name: t, type: %s, spec: {}}}]}}}}]}", name))
		if len(docs) != 1 || len(whole) != 1 {
			return nil
		}
		stage := whole[0].doc.At("pipeline", "stages").Items[0]
		step := stage.At("stage", "spec", "execution", "steps").Items[0].Get("step")
		step.Entries[len(step.Entries)-1].Value = docs[0]
		return whole
	}
	return nil
}

// options are those of the server, but for the scope. To make them for each of
// thousands of documents would take longer than to read those.
var options = sync.OnceValue(func() entity.Options { return builtin.Options(ref.Scope{}) })

// decoded are the errors of a document, unknown keys among them.
func decoded(doc *yamldoc.Node) []yamldoc.Finding {
	scope := entity.ScopeOf(doc, ref.Scope{Account: "a"})
	if scope.Org == "" && scope.Project == "" {
		scope.Org, scope.Project = "o", "p"
	}
	report := yamldoc.NewReport("").Strict()
	o := options()
	o.Scope = scope
	entity.Decode(doc, report, o)
	return slices.DeleteFunc(report.Findings(), func(f yamldoc.Finding) bool { return f.Severity != yamldoc.Error })
}

// validated is what the schema has against a document.
func validated(t *testing.T, valid *jsonschema.Schema, doc *yamldoc.Node) error {
	t.Helper()
	text, err := json.Marshal(doc.Any())
	if err != nil {
		t.Fatal(err)
	}
	plain, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return valid.Validate(plain)
}

// change is a document with one change.
type change struct {
	place, what string
	doc         *yamldoc.Node
}

// changes are those of a document at places where nothing was changed before:
// a key is taken out, one is added that nobody knows, and values of other
// sorts are put in the place of each.
func changes(kind string, doc *yamldoc.Node, seen map[string]bool) []change {
	var out []change
	text := func(s string) *yamldoc.Node { return &yamldoc.Node{Kind: yamldoc.Scalar, Value: s} }
	mapping := func(entries ...yamldoc.Entry) *yamldoc.Node {
		return &yamldoc.Node{Kind: yamldoc.Mapping, Entries: entries}
	}
	others := map[string]*yamldoc.Node{
		"a text": text("~"), "an input": text("<+input>"), "an expression": text("<+pipeline.name>"),
		"a mapping": mapping(yamldoc.Entry{Key: "nobody", Value: text("x")}),
		"a list":    {Kind: yamldoc.Sequence, Items: []*yamldoc.Node{mapping(yamldoc.Entry{Key: "nobody", Value: text("x")})}},
	}
	var walk func(n *yamldoc.Node, place string, whole func(*yamldoc.Node) *yamldoc.Node)
	walk = func(n *yamldoc.Node, place string, whole func(*yamldoc.Node) *yamldoc.Node) {
		if n == nil {
			return
		}
		if typ := n.Get("type"); typ != nil {
			place += "(" + typ.Value + ")"
		}
		at := func(what string, n *yamldoc.Node) {
			if id := near(place) + what; !seen[id] {
				seen[id] = true
				out = append(out, change{place, what, whole(n)})
			}
		}
		for what, other := range others {
			at(" is "+what, other)
		}
		for i, e := range n.Entries {
			with := func(v *yamldoc.Node) *yamldoc.Node {
				entries := slices.Clone(n.Entries)
				entries[i].Value = v
				return whole(mapping(entries...))
			}
			at(" without "+e.Key, mapping(slices.Delete(slices.Clone(n.Entries), i, i+1)...))
			walk(e.Value, place+"."+e.Key, with)
		}
		if n.Kind == yamldoc.Mapping {
			at(" with a key that nobody knows", mapping(append(slices.Clone(n.Entries), yamldoc.Entry{Key: "nobody", Value: text("x")})...))
		}
		for i, item := range n.Items {
			walk(item, place+"[]", func(v *yamldoc.Node) *yamldoc.Node {
				items := slices.Clone(n.Items)
				items[i] = v
				return whole(&yamldoc.Node{Kind: yamldoc.Sequence, Items: items})
			})
		}
	}
	walk(doc.Get(kind), kind, func(n *yamldoc.Node) *yamldoc.Node { return mapping(yamldoc.Entry{Key: kind, Value: n}) })
	return out
}

// near is the end of a place: what may stand there hardly depends on more.
func near(place string) string {
	parts := strings.Split(place, ".")
	return strings.Join(parts[max(0, len(parts)-2):], ".")
}

// beyond are what decoders refuse and the schema doesn't, though it is about
// keys, sorts or expressions: parts of the path of the finding or of the place
// of the change, and of the finding.
func beyond() []string {
	return []string{
		"is missing, which ", // one key says which other ones are needed
		// what one of several keys says
		`one of the keys `, `nobody would be told`, `key "fixedValue" is missing`, `for a script that doesn't run on the delegate`,
		`key "ticketNumber" is missing`, `key "authToken" is missing`, `key "templateName" is missing`, `key "filePaths" is missing`,
		`key "chartName" is missing`, `key "environmentRef" is missing`, `key "values" is missing`,
		`no attribute is named`, `one of deployToAll`, `primary(DockerRegistry) without type`,
		// a key that may be null, but not absent
		`it may be empty`, `save-missing.txtar`,
		// parts that are kept as they are, or have keys of the user's
		`an expression for the whole of`, `inputSet.pipeline`, `pipeline: want the part`, `pipeline: key "identifier"`, `.strategy.matrix`,
		`.headers.`, `.environmentVariables.`, `spec.inputs is a list`, `inputSetRefs is a text`,
		// texts that are looked into
		`the flag `, `commandFlags can't be honoured`, `pollInterval`, `found an expression; want identifiers`, `secrets that are named as`, `changedFiles needs a Push`,
		`executionInput`, `no containers are run for steps, so`, `it says what runs in the background`,
		// what goes by an identifier or a word
		`the freeze has no entityConfigs`,
		`the freeze is Enabled and has no windows`,
		`the group has no resources`,
		`the group is linked, and nothing says`,
		// service accounts may approve alone
		`approvers: key "userGroups" is missing`,
		// what goes by a word that is absent or an expression
		`the filter is `,
		`step(K8sCanaryDeploy).spec`, `.type is an `, `trafficRouting.provider is`,
		// what a deployment type takes of what all have
		`a function can't be made of an artifact of`,
		// the server's own rules on who keeps a secret
		`harnessSecretManager`,
	}
}

// agreement holds decoders and the schema against each other.
type agreement struct {
	valid *jsonschema.Schema
	used  map[string]bool // what is beyond the schema
}

func newAgreement(t *testing.T) *agreement {
	t.Helper()
	valid, err := validator()
	if err != nil {
		t.Fatal(err)
	}
	return &agreement{valid, map[string]bool{}}
}

// check says where the two differ about a document.
func (a *agreement) check(t *testing.T, what string, doc *yamldoc.Node) {
	t.Helper()
	errs, bad := decoded(doc), validated(t, a.valid, doc)
	if len(errs) == 0 && bad != nil {
		t.Errorf("%s: only the schema refuses it: %v", what, bad)
	}
	if bad != nil {
		return
	}
	for _, f := range errs {
		shaped := slices.Contains([]string{"WRONG_TYPE", "MISSING_KEY", "UNKNOWN_KEY", "UNSUPPORTED"}, f.Code) || strings.HasPrefix(f.Message, "found an expression")
		text := what + " " + f.Path + ": " + f.Message
		i := slices.IndexFunc(beyond(), func(b string) bool { return strings.Contains(text, b) })
		switch {
		case !shaped:
		case i >= 0:
			a.used[beyond()[i]] = true
		default:
			t.Errorf("%s: only the decoder refuses it: %v", what, f)
		}
	}
}

// TestDocumentsAreTakenByBoth: decoders and the schema take the same documents,
// and refuse the same if they are changed: a key less, one that nobody knows, a
// value of another sort, an input, an expression. The schema doesn't look at
// what texts say, and at what depends on another part of the document.
func TestDocumentsAreTakenByBoth(t *testing.T) {
	t.Parallel()
	list, err := samples()
	if err != nil {
		t.Fatal(err)
	}
	a, seen := newAgreement(t), map[string]bool{}
	for _, s := range list {
		a.check(t, s.from, s.doc)
		if len(decoded(s.doc)) > 0 || len(s.doc.Entries) != 1 {
			continue
		}
		for _, c := range changes(s.doc.Entries[0].Key, s.doc, seen) {
			if !strings.HasPrefix(c.place, "pipeline.notificationRules[]") || strings.HasSuffix(s.from, "pipeline-notifications.yaml#0") { // others are switched off
				a.check(t, c.place+c.what+" ("+s.from+")", c.doc)
			}
		}
	}
	if len(list) < 800 || len(seen) < 10000 {
		t.Errorf("found %d documents and made %d changes; are there documents in other places now?", len(list), len(seen))
	}
	for _, b := range beyond() {
		if !a.used[b] {
			t.Errorf("nothing is beyond the schema for %q any more", b)
		}
	}
}
