package entity

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// A containerized group has a session, in which its steps that run programs do
// (semantics/pipeline §1.3). Sessions are opened on a delegate's machine: what is
// said of pods has no effect there, and is checked all the same.

// onDelegate is the code of the warning that a group runs on a delegate.
const onDelegate = "RUNS_ON_DELEGATE"

// infra decodes where the steps of a containerized group run.
func (d containers) infra(v yamldoc.Value, p place, g *StepGroup) {
	if p.session && !document.Neutral(v.Node) {
		d.Errorf(v, "NESTED_SESSION", "the group around this one has a stepGroupInfra already")
	}
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": func(v yamldoc.Value) {
			switch f := d.String(v); f.Value {
			case "KubernetesDirect", "Delegate":
			case "VM":
				d.Unsupported(v, "VM pools aren't supported yet; use type Delegate with delegateSelectors of a machine of yours")
			case "ECSDirect":
				d.Unsupported(v, "groups in ECS tasks aren't supported yet")
			case "Noop":
				d.Unsupported(v, "stepGroupInfra of type Noop isn't supported yet: nobody documents it")
			default:
				d.Errorf(v, document.WrongValue, "found %q; want KubernetesDirect or Delegate", f.Value)
			}
			d.Takes(v, yamldoc.UseEnum, "KubernetesDirect", "Delegate")
		},
		"spec": func(v yamldoc.Value) {
			if typ == "KubernetesDirect" || typ == "Delegate" {
				d.podSpec(v, typ, g)
			}
		},
	})
	d.Need(v, "type")
	if typ == "KubernetesDirect" {
		d.Need(v, "spec")
	}
}

// podSpec decodes what a group says of its pod.
func (d containers) podSpec(v yamldoc.Value, typ string, g *StepGroup) {
	var connector yamldoc.Field[string]
	amounts := func(v yamldoc.Value) { d.Fields(v, document.Keys{"cpu": d.quantity, "memory": d.quantity}) }
	d.Fields(v, document.Keys{
		"connectorRef":                 d.Reference(ref.Connector, &connector),
		"namespace":                    d.Text(nil),
		"serviceAccountName":           d.Text(nil),
		"automountServiceAccountToken": d.Flag(nil),
		"labels":                       d.ownKeys,
		"annotations":                  d.ownKeys,
		"containerSecurityContext":     d.securityContext,
		"runAsUser":                    d.Text(nil),
		"nodeSelector":                 d.Texts(nil),
		"tolerations":                  d.Node(new(*yamldoc.Node)),
		"priorityClassName":            d.Text(nil),
		"initTimeout":                  d.Time(nil),
		"os":                           func(v yamldoc.Value) { d.system(v, g) },
		"resources":                    func(v yamldoc.Value) { d.Fields(v, document.Keys{"limits": amounts, "requests": amounts}) },
		"volumes":                      d.volumes,
		"hostNames":                    d.hostNames,
		"harnessImageConnectorRef":     d.Reference(ref.Connector, new(yamldoc.Field[string])),
		"imagePullPolicy":              d.Word(nil, "Always", "Never", "IfNotPresent"),
		"podSpecOverlay":               d.Refuse("an overlay of the pod isn't supported"),
	})
	if typ == "KubernetesDirect" {
		d.Need(v, "connectorRef")
		d.Warnf(v, onDelegate, "the group's steps run as processes on a delegate, not in pods of %s: what the group says of pods has no effect", connector.Value+connector.Expr)
	}
}

// quantity is an amount of a resource.
func (d containers) quantity(v yamldoc.Value) {
	if f := d.String(v); f.Expr == "" && f.Value != "" && !amount.MatchString(f.Value) {
		d.Errorf(v, document.WrongValue, "found %q; want an amount such as 400m, 0.5, 500Mi or 1G", f.Value)
	}
}

var amount = regexp.MustCompile(`^[0-9]+(\.[0-9]+)?(m|[kMGT]i?)?$`)

// ownKeys are labels or annotations, of which some are Slipway's.
func (d containers) ownKeys(v yamldoc.Value) {
	for key := range d.StringMap(v).Value {
		if strings.HasPrefix(key, "slipway.dev/") {
			d.Errorf(document.Child(v, key), document.WrongValue, "keys that begin with slipway.dev/ are Slipway's own")
		}
	}
}

func (d containers) securityContext(v yamldoc.Value) {
	d.Fields(v, document.Keys{
		"allowPrivilegeEscalation": d.Flag(nil), "privileged": d.Flag(nil), "procMount": d.Text(nil), "readOnlyRootFilesystem": d.Flag(nil),
		"runAsNonRoot": d.Flag(nil), "runAsUser": d.Text(nil), "runAsGroup": d.Text(nil),
		"capabilities": func(v yamldoc.Value) { d.Fields(v, document.Keys{"add": d.Words(nil), "drop": d.Words(nil)}) },
	})
}

// system is the operating system that a group's steps need.
func (d containers) system(v yamldoc.Value, g *StepGroup) {
	f := d.Enum(v, "Linux", "MacOS", "Windows")
	d.Settled(v, f.Expr, "Linux or MacOS")
	switch f.Value {
	case "Linux":
		d.need(v, g, "os", "linux")
	case "MacOS":
		d.need(v, g, "os", "darwin")
	case "Windows":
		d.Unsupported(v, "steps aren't run on Windows yet")
	}
}

// need notes what the machine of a group's session must be: delegates tell it among
// their tools.
func (d containers) need(v yamldoc.Value, g *StepGroup, what, value string) {
	for _, one := range g.Needs {
		if other, ok := strings.CutPrefix(one, what+"="); ok {
			if other != value {
				d.Errorf(v, document.WrongValue, "found %q; the group's %s is %s elsewhere", v.Node.Value, what, other)
			}
			return
		}
	}
	g.Needs = append(g.Needs, what+"="+value)
}

// volumes are those of the pod. A process has no volumes: what it needs is on its
// machine.
func (d containers) volumes(v yamldoc.Value) {
	seen := map[string]bool{}
	for item := range d.List(v) {
		d.Fields(item, document.Keys{
			"mountPath": func(v yamldoc.Value) {
				at := d.String(v).Value
				if at != "" && seen[at] {
					d.Errorf(v, document.WrongValue, "%s has a volume already", at)
				}
				seen[at] = true
			},
			"type": func(v yamldoc.Value) {
				d.Enum(v, "EmptyDir", "PersistentVolumeClaim", "HostPath", "ConfigMap", "Secret")
			},
			"spec": d.Node(new(*yamldoc.Node)),
		})
		d.Need(item, "mountPath", "type")
	}
}

var hostName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$`)

func (d containers) hostNames(v yamldoc.Value) {
	for item := range d.List(v) {
		if f := d.String(item); f.Expr == "" && !hostName.MatchString(f.Value) {
			d.Errorf(item, document.WrongValue, "found %q; want a name of a host: small letters, digits, hyphens and dots", f.Value)
		}
	}
}

// sharedPaths are folders that a group's containers share. Processes share the
// machine's.
func (d containers) sharedPaths(v yamldoc.Value) {
	var seen []string
	for item := range d.List(v) {
		f := d.String(item)
		if f.Expr != "" {
			continue
		}
		at := path.Clean(f.Value)
		if why := unshared(at, seen); why != "" {
			d.Errorf(item, document.WrongValue, "%s", why)
		}
		seen = append(seen, at)
	}
}

// unshared says why a path can't be shared.
func unshared(at string, seen []string) string {
	if !path.IsAbs(at) || at == "/" {
		return fmt.Sprintf("found %q; want an absolute path below /", at)
	}
	for _, own := range []string{"/proc", "/sys", "/dev", "/slipway", "/harness"} {
		if at == own || strings.HasPrefix(at, own+"/") {
			return fmt.Sprintf("%s can't be shared: it is the system's, or Slipway's own", at)
		}
	}
	if slices.Contains(seen, at) {
		return at + " stands twice"
	}
	return ""
}

// platform is what a group's steps need of their machine.
func (d containers) platform(v yamldoc.Value, g *StepGroup) {
	d.Fields(v, document.Keys{
		"os": func(v yamldoc.Value) { d.system(v, g) },
		"arch": func(v yamldoc.Value) {
			f := d.Enum(v, "Amd64", "Arm64")
			d.Settled(v, f.Expr, "Amd64 or Arm64")
			if f.Value != "" {
				d.need(v, g, "arch", strings.ToLower(f.Value))
			}
		},
	})
}

// placed reports a platform that no session opens on.
func (d containers) placed(v yamldoc.Value, g *StepGroup) {
	platform := v.Node.Get("platform")
	if document.Neutral(platform) || d.options.Steps == nil || g.Linked || d.opens(g.Steps) && g.Containerized {
		return
	}
	why := "no step of it runs programs in a session; choose the delegates of its steps by delegateSelectors"
	if !g.Containerized {
		why = "it opens none without a stepGroupInfra"
	}
	d.Errorf(document.Child(v, "platform"), document.WrongValue, "platform is that of the machine on which the group's session opens, and %s", why)
}

// opens says whether a step of a list, or of a plain group in it, may need a session.
// Of templates that nobody has put in their places, and of types that nobody knows, that
// isn't known.
func (d containers) opens(list StepList) bool {
	return list.Open || slices.ContainsFunc(list.Flat(), func(item StepItem) bool {
		switch {
		case item.Step != nil:
			typ := d.options.Steps.Of(item.Step.Type.Value)
			return item.Step.Linked || typ.Session || typ.Name == ""
		case item.Group != nil:
			return item.Group.Linked || !item.Group.Containerized && (d.opens(item.Group.Steps) || d.opens(item.Group.RollbackSteps))
		}
		return d.opens(item.Parallel)
	})
}
