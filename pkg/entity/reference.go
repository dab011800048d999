package entity

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Reference is an entity that a document names.
type Reference struct {
	Kind ref.Kind
	Ref  ref.Ref
	// Environment is the environment of an infrastructure definition or the
	// pipeline of an input set, in Ref.Scope; empty for other kinds.
	Environment string
	Text        string // as written, e.g. account.git
	At          yamldoc.Pos
}

// chosen is Reference for what the plan must know: no expression but a
// runtime input may stand for it.
func (d *decoder) chosen(kind ref.Kind, f *yamldoc.Field[string]) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		d.Reference(kind, f)(v)
		d.Fixed(v, f.Expr)
	}
}

// refer adds a reference to what the document names.
func (d *decoder) refer(kind ref.Kind, v yamldoc.Value, text string) {
	if text == "" {
		return
	}
	r, err := ref.Parse(text, d.Scope)
	if err != nil {
		d.Errorf(v, document.BadReference, "%s %s", kind, err)
		return
	}
	if d.shared() && !strings.Contains(text, ".") {
		d.Errorf(v, document.BadReference, "%s %q would be looked for where the template is used; want account.%[2]s or, if it is the organization's, org.%[2]s", kind, text)
		return
	}
	d.references = append(d.references, Reference{Kind: kind, Ref: r, Text: text, At: v.Pos(d.Report)})
	if d.options.qualify && (kind == ref.Connector || kind == ref.Secret) {
		if v.Node.Value == text {
			v.Node.Value = r.Text(ref.Scope{Account: d.Scope.Account, Org: d.Scope.Org, Project: "-"})
		} else {
			v.Node.Value = QualifySecrets(v.Node.Value, d.Scope)
		}
	}
}

// Qualify makes the connectors and secrets that a document names the same ones
// where it is read by what is in a project: a name without a scope is one of
// the document's own scope (semantics/entities §1). Files aren't: one without a
// scope is the project's that uses it.
func Qualify(doc *yamldoc.Node, scope ref.Scope, types Types) {
	if scope.Project == "" {
		Decode(doc, yamldoc.NewReport(""), Options{Scope: scope, Types: types, qualify: true})
	}
}

var secretCall = regexp.MustCompile(`secrets\.getValue\(\s*["']([^"'<>]+)["']\s*\)`)

// SecretsIn lists the secrets that the expressions of a text name by themselves,
// as written. A name that is made of others isn't among them.
func SecretsIn(text string) []string {
	var out []string
	for _, m := range secretCall.FindAllStringSubmatch(text, -1) {
		out = append(out, m[1])
	}
	return out
}

// QualifySecrets makes the secrets that a text of an entity in a scope names
// the same ones where the text is resolved in a scope below.
func QualifySecrets(text string, scope ref.Scope) string {
	prefix := "org."
	switch {
	case scope.Project != "":
		return text
	case scope.Org == "":
		prefix = "account."
	}
	return secretCall.ReplaceAllStringFunc(text, func(call string) string {
		name := secretCall.FindStringSubmatch(call)[1]
		if strings.HasPrefix(name, "account.") || strings.HasPrefix(name, "org.") {
			return call
		}
		at := strings.LastIndex(call, name)
		return call[:at] + prefix + call[at:]
	})
}

// deferred goes through the whole document for what may stand in any text:
// secrets in expressions, and inputs that are asked for while a pipeline runs.
func (d *decoder) deferred(v yamldoc.Value) {
	switch {
	case v.Is(yamldoc.Mapping):
		d.storedFiles(v)
		for _, e := range v.Node.Entries {
			d.deferred(document.At(v, e.Key, e.Value))
		}
	case v.Is(yamldoc.Sequence):
		for i, item := range v.Node.Items {
			d.deferred(yamldoc.Sub(item, fmt.Sprintf("%s[%d]", v.Path, i)))
		}
	case v.Is(yamldoc.Scalar) && strings.Contains(v.Node.Value, "<+"):
		d.expression(v)
	}
}

func (d *decoder) expression(v yamldoc.Value) {
	for _, m := range secretCall.FindAllStringSubmatch(v.Node.Value, -1) {
		if !d.shared() || strings.Contains(m[1], ".") {
			settings{d}.referNamed(v, m[1])
		}
	}
	for _, m := range fileCall.FindAllStringSubmatch(v.Node.Value, -1) {
		d.storedFile(v, m[1])
	}
	if !expr.IsRuntimeInput(v.Node.Value) {
		return
	}
	if in, err := expr.ParseInput(v.Node.Value); err == nil && in.AtStart && !d.askable(v.Path) {
		d.Unsupported(v, "an input that is asked for while the pipeline runs (executionInput) is supported only in a step's spec and in a stage's variables")
	}
}

// askable says whether an input may be asked for while the pipeline runs: in
// what is read when a step or a stage starts, and not by the plan. A template
// and an input set are looked at again where they are used.
func (d *decoder) askable(path string) bool {
	switch d.kind {
	case ref.Template, ref.InputSet:
		return true
	case ref.Pipeline:
		return latePlace.MatchString(path) && !plannedPlace.MatchString(path)
	case ref.Service, ref.Environment, ref.EnvironmentGroup, ref.Infrastructure, ref.Overrides, ref.ServiceOverrides, ref.Connector, ref.Secret, ref.Trigger, ref.OverlayInputSet,
		ref.Organization, ref.Project, ref.UserGroup, ref.Freeze, ref.Policy, ref.PolicySet, ref.User, ref.ServiceAccount, ref.Role, ref.ResourceGroup, ref.RoleAssignment, ref.LoginProvider, ref.LoginBinding, ref.StreamingDestination, ref.IPAllowlist, ref.Setting, ref.Variable, ref.GitOpsAgent, ref.GitOpsSettings, ref.GitOpsCertificate, ref.GitOpsGPGKey, ref.GitOpsRepoCredentials,
		ref.GitOpsRepository, ref.GitOpsCluster, ref.GitOpsProject, ref.GitOpsApplicationSet, ref.GitOpsApplication:
	}
	return false
}

var (
	latePlace    = regexp.MustCompile(`\.step\.spec\.|\.stage\.variables\[\d+\]\.value$|\.template\.templateInputs\.`)
	plannedPlace = regexp.MustCompile(`\.step\.spec\.(delegateSelectors|barrierRef|scope)(\[\d+\])?$`)
)
