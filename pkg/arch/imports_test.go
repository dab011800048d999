package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// rule says what packages may not depend on, and why.
type rule struct {
	name     string
	packages []string
	except   []string
	never    []string // import paths; "x/..." means x and all below it
	but      []string // of those, what they may depend on
	indirect bool     // not through other packages either
	reason   string
}

func clusterLibraries() []string {
	return []string{"k8s.io/...", "sigs.k8s.io/...", "helm.sh/...", "github.com/fluxcd/..."}
}

// deployedTo are the services of AWS that deployment types put something into.
func deployedTo() []string {
	const sdk = "github.com/aws/aws-sdk-go-v2/service/"
	return []string{sdk + "applicationautoscaling/...", sdk + "autoscaling/...", sdk + "cloudformation/...", sdk + "ec2/...", sdk + "ecs/...", sdk + "elasticloadbalancingv2/...", lambdas}
}

// lambdas is the service that deployment types deploy to, and by which functions ask
// another one of theirs.
const lambdas = "github.com/aws/aws-sdk-go-v2/service/lambda/..."

func databases() []string { return []string{"database/sql", "modernc.org/..."} }

func rules() []rule {
	return []rule{
		{
			name: "cluster libraries are those of what deploys to clusters, and the test cluster's", packages: []string{"..."},
			except: []string{"delegate/applying/...", "delegate/gitops/...", "delegate/helm/...", "delegate/kubernetes/...", "delegate/kustomize", "delegate/manifest", "internal/testcluster/..."}, never: clusterLibraries(),
			but:    []string{"k8s.io/client-go/util/jsonpath"}, // kubectl's own templates for -o jsonpath; it imports nothing of a cluster
			reason: "one place to upgrade them, and to look when they change their mind",
		},
		{
			name: "no library of clusters or registries reaches the control plane", packages: []string{"pkg/...", "functions/..."},
			except: []string{"pkg/wire"}, never: append(clusterLibraries(), "github.com/google/go-containerregistry/..."), indirect: true,
			reason: "a function pays for every import at each cold start; pkg/wire holds a whole machine, delegate included",
		},
		{
			name: "who asks identity providers is one function", packages: []string{"..."},
			except: []string{"functions/login", "pkg/login/ldap", "pkg/login/oidc", "pkg/login/saml", "pkg/login/terminal", "pkg/wire", "cmd/...", "internal/..."}, indirect: true,
			never:  []string{"github.com/coreos/go-oidc/...", "github.com/crewjam/saml/...", "github.com/russellhaering/goxmldsig/...", "github.com/go-ldap/...", module + "/pkg/login/ldap", module + "/pkg/login/oidc", module + "/pkg/login/saml"},
			reason: "a function pays for every import at each cold start, and no other logs anybody in",
		},
		{
			name: "no directory is asked from a function", packages: []string{"functions/..."}, never: []string{"github.com/go-ldap/...", module + "/pkg/login/ldap"}, indirect: true,
			reason: "none has a way into a directory's network",
		},
		{
			name: "no service of AWS that is deployed to reaches the control plane", packages: []string{"pkg/...", "functions/..."},
			except: []string{"pkg/wire"}, never: deployedTo(), but: []string{lambdas}, indirect: true,
			reason: "a function pays for every import at each cold start, and calls nothing of an account but its own",
		},
		{
			name: "functions ask each other in one place", packages: []string{"pkg/...", "functions/..."},
			except: []string{"pkg/policy/remote", "pkg/wire/aws"}, never: []string{lambdas},
			reason: "what one function does in another's name is to be seen at a glance",
		},
		{
			name: "Rego is evaluated in one place", packages: []string{"..."}, except: []string{"pkg/policy/rego"},
			never:  []string{"github.com/open-policy-agent/..."},
			reason: "one place to bound what others write in it, and to upgrade the library",
		},
		{
			name: "no evaluator of Rego reaches a delegate, or a function but its own", packages: []string{"functions/...", "pkg/wire/aws", "delegate/..."},
			except: []string{"functions/policy"}, never: []string{"github.com/open-policy-agent/..."}, indirect: true,
			reason: "it is larger than all else that a function has, which pays for it at each cold start",
		},
		{
			name: "what decides is pure",
			packages: []string{
				"pkg/artifact", "pkg/builtin", "pkg/connector/...", "pkg/dispatch", "pkg/document", "pkg/entity", "pkg/expr", "pkg/fault", "pkg/filesource", "pkg/identity", "pkg/input", "pkg/notify/message", "pkg/plan", "pkg/planning", "pkg/policy", "pkg/provision", "pkg/provisioner/...", "pkg/ref", "pkg/step/...", "pkg/swimlane/...", "pkg/task", "pkg/template",
				"pkg/trigger", "pkg/trigger/cron", "pkg/trigger/match", "pkg/yamldoc",
			},
			except: []string{"pkg/step/steptest"},
			never:  append(databases(), "net/http/...", "os/exec", module+"/pkg/sqlitedb", module+"/pkg/api"), indirect: true,
			reason: "the same input gives the same decision, anywhere, without anything running",
		},
		{
			name: "what runs doesn't save", packages: []string{"pkg/engine", "pkg/execution", "pkg/launch", "pkg/planning", "pkg/resolve", "pkg/target"},
			never: []string{module + "/pkg/catalog", module + "/pkg/lint", module + "/pkg/builtin"}, indirect: true,
			reason: "whoever runs a pipeline reads documents that were saved, with the step types that it is given",
		},
		{
			name: "databases stay behind the store", packages: []string{"..."},
			except: []string{"pkg/sqlitedb", "pkg/asl/...", "pkg/store/sqlite"}, never: databases(),
			reason: "the same control plane runs over DynamoDB",
		},
		{
			name: "the contract of the store knows no store", packages: []string{"pkg/store", "pkg/store/storetest", "pkg/audit"},
			never: append(databases(), module+"/pkg/sqlitedb", module+"/pkg/store/sqlite"), indirect: true,
			reason: "DynamoDB must pass the same suite",
		},
		{
			name: "one store is chosen where things are wired", packages: []string{"..."},
			except: []string{"pkg/wire", "cmd/..."}, never: []string{module + "/pkg/store/sqlite", module + "/pkg/statemachine/embedded"},
			reason: "nothing else can tell whether it runs on one machine or as functions",
		},
		{
			name: "the control plane knows no agent", packages: []string{"pkg/...", "functions/..."}, except: []string{"pkg/wire"},
			never: []string{module + "/delegate/..."}, indirect: true,
			reason: "delegates connect outward and speak pkg/task; whoever needs more has found a hole in the protocol",
		},
		{
			name: "a delegate knows no store and no engine", packages: []string{"delegate/..."},
			never: []string{
				"modernc.org/...", // database/sql comes with Helm's library, which can keep its releases in one
				module + "/pkg/store/...", module + "/pkg/engine", module + "/pkg/execution", module + "/pkg/api", module + "/pkg/secret",
			}, indirect: true,
			reason: "it runs in somebody's network with a token, and has nothing but the task that it claimed",
		},
		{
			name: "HTTP is the API's", packages: []string{"pkg/..."}, except: []string{"pkg/api", "pkg/apiclient", "pkg/awshttp", "pkg/egress", "pkg/feed/webhook", "pkg/login/oidc", "pkg/login/saml", "pkg/notify/send", "pkg/session", "pkg/wire", "pkg/wire/door"},
			never:  []string{"net/http"},
			reason: "one table maps errors to statuses",
		},
		{
			name: "a deployment type is known by the lists and by its own delegate", packages: []string{"..."},
			// What delegates do with manifests and charts is the same in several.
			except: []string{"pkg/builtin", "pkg/provisioner/...", "pkg/swimlane/...", "delegate", "delegate/asg", "delegate/awsdoc", "delegate/awslambda", "delegate/awssam", "delegate/cloudformation", "delegate/ecs", "delegate/elastigroup", "delegate/gitops/render", "delegate/gitops/source", "delegate/helm/...", "delegate/instances", "delegate/kubernetes/...", "delegate/kustomize", "delegate/manifest", "delegate/serverless", "delegate/workspace", "pkg/step/background", "pkg/step/downloadawss3", "pkg/step/downloadmanifests", "pkg/step/gitclone"},
			never:  []string{module + "/pkg/swimlane/..."}, but: []string{module + "/pkg/swimlane", module + "/pkg/swimlane/swimlanetest"},
			reason: "the next one would have to be added there too, and nothing would say so",
		},
		{
			name: "test suites stay out of programs", packages: []string{"..."},
			except: []string{"internal/...", "cmd/testcluster", "pkg/store/storetest", "pkg/step/steptest", "pkg/swimlane/swimlanetest", "delegate/applying/applyingtest", "delegate/awsdoc/awsdoctest", "delegate/executor/executortest", "delegate/workspace/workspacetest"},
			never:  []string{"testing", module + "/pkg/store/storetest", module + "/pkg/step/steptest", module + "/pkg/swimlane/swimlanetest", module + "/internal/testcluster", module + "/internal/testmail"},
			reason: "importing package testing adds its flags to the program",
		},
	}
}

func TestImports(t *testing.T) {
	t.Parallel()
	list := packages(t)
	for _, r := range rules() {
		t.Run(r.name, func(t *testing.T) {
			t.Parallel()
			checked := 0
			for _, p := range list {
				if !within(p.path(), r.packages) || within(p.path(), r.except) {
					continue
				}
				checked++
				imports := p.Imports
				if r.indirect {
					imports = p.Deps
				}
				for _, path := range imports {
					if within(path, r.never) && !within(path, r.but) {
						t.Errorf("%s depends on %s; %s", p.path(), path, r.reason)
					}
				}
			}
			if checked == 0 {
				t.Error("the rule is about no package that exists")
			}
		})
	}
}

// longest is how many packages of this module the longest chain of imports has.
// Who reads the last has to believe all before it: it may become shorter only.
const longest = 12

func TestChainsOfImportsAreShort(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{}
	for _, p := range packages(t) {
		imports[p.ImportPath] = p.Imports
	}
	chains := map[string][]string{}
	var chain func(path string) []string
	chain = func(path string) []string {
		if known, ok := chains[path]; ok {
			return known
		}
		var below []string
		for _, i := range imports[path] {
			if _, own := imports[i]; own {
				if c := chain(i); len(c) > len(below) {
					below = c
				}
			}
		}
		chains[path] = append([]string{strings.TrimPrefix(path, module+"/")}, below...)
		return chains[path]
	}
	var found []string
	for path := range imports {
		if c := chain(path); len(c) > len(found) {
			found = c
		}
	}
	if len(found) != longest {
		t.Errorf("the longest chain of imports has %d packages; want %d, or a lower bound where it is shorter now:\n%s", len(found), longest, strings.Join(found, "\n"))
	}
}

// TestDecisionsAreInPureFiles: the engine's package also does what it has
// decided, so its rule is about files.
func TestDecisionsAreInPureFiles(t *testing.T) {
	t.Parallel()
	pure := []string{"engine.go", "container.go", "failure.go", "step.go", "when.go"}
	allowed := []string{"cmp", "errors", "fmt", "maps", "slices", "strings", "time", module + "/pkg/fault", module + "/pkg/plan", module + "/pkg/task"}
	for _, name := range pure {
		file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root(), "pkg", "engine", name), nil, parser.SkipObjectResolution)
		if err != nil {
			t.Error(err)
			continue
		}
		for _, i := range file.Imports {
			if path, err := strconv.Unquote(i.Path.Value); err != nil || !slices.Contains(allowed, path) {
				t.Errorf("pkg/engine/%s imports %s; it decides, and what it decides by comes with its input", name, i.Path.Value)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if selects(n, "time", "Now", "Since", "Until", "After", "NewTimer", "NewTicker", "Sleep") {
				t.Errorf("pkg/engine/%s reads the clock; the time comes with its input", name)
			}
			return true
		})
	}
}

// TestEnvironmentIsReadByMains: configuration is read once, at the edge.
func TestEnvironmentIsReadByMains(t *testing.T) {
	t.Parallel()
	for _, p := range packages(t) {
		// The test cluster is found through the variable that its tool sets; a
		// sandbox's child is known by one, and has few of the others; so are the
		// processes of a session, and a program that stands for a tool.
		if p.Name == "main" || within(p.path(), []string{"pkg/wire", "internal/testcluster", "internal/testservers/sam", "delegate/sandbox", "pkg/session"}) {
			continue
		}
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Error(err)
				continue
			}
			ast.Inspect(file, func(n ast.Node) bool {
				if selects(n, "os", "Getenv", "LookupEnv") {
					t.Errorf("%s reads an environment variable; its main should hand it the value", filepath.Join(p.path(), name))
				}
				return true
			})
		}
	}
}

// selects says whether a node is one of the names of a package, e.g. os.Getenv.
func selects(n ast.Node, pkg string, names ...string) bool {
	s, ok := n.(*ast.SelectorExpr)
	if !ok || !slices.Contains(names, s.Sel.Name) {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg
}

func TestWithin(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		path, pattern string
		want          bool
	}{
		{"k8s.io/api/core/v1", "k8s.io/...", true},
		{"k8s.io", "k8s.io/...", true},
		{"k8s.iox/api", "k8s.io/...", false},
		{"pkg/wire", "pkg/wire", true},
		{"pkg/wire/x", "pkg/wire", false},
		{"anything", "...", true},
	} {
		if got := within(c.path, strings.Fields(c.pattern)); got != c.want {
			t.Errorf("%s within %s: %t, want %t", c.path, c.pattern, got, c.want)
		}
	}
}
