package entity

import (
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/gitops"
	"github.com/slipway-cd/slipway/pkg/gitops/access"
	"github.com/slipway-cd/slipway/pkg/gitops/appset"
	"github.com/slipway-cd/slipway/pkg/gitops/argo"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// noAgent is the code of a document of Argo CD that is nobody's.
const noAgent = "NO_AGENT"

// argoKinds are the kinds that documents of Argo CD are saved as.
func argoKinds() map[string]ref.Kind {
	return map[string]ref.Kind{
		argo.KindApplication: ref.GitOpsApplication, argo.KindApplicationSet: ref.GitOpsApplicationSet, argo.KindAppProject: ref.GitOpsProject, argo.KindRepository: ref.GitOpsRepository,
		argo.KindRepoCredentials: ref.GitOpsRepoCredentials, argo.KindCluster: ref.GitOpsCluster, argo.KindSettings: ref.GitOpsSettings,
	}
}

// decodeArgo is Decode for a document of Argo CD without an envelope.
func decodeArgo(root yamldoc.Value, r *yamldoc.Report, o Options) *Entity {
	kind, ok := argoKinds()[argo.Kind(root.Node)]
	if !ok {
		found := document.Child(root, "kind")
		r.Errorf(found, unknownKind, "found the kind %q of Argo CD; want %s, %s or %s", argo.Kind(root.Node), argo.KindApplication, argo.KindApplicationSet, argo.KindAppProject)
		return nil
	}
	e := &Entity{Kind: kind, Doc: root.Node, Scope: o.Scope}
	d := agents{newDecoder(kind, r, o)}
	d.Scope = e.Scope
	agent := argo.Agent(root.Node)
	switch {
	case agent == "" && o.Agent == "":
		r.Errorf(root, noAgent, "nobody says which GitOps agent it is for; name one by --agent, or by the annotation %s", argo.AnnotationAgent)
	case agent == "":
		agent = o.Agent
	}
	d.belongs(e, root, agent)
	r.Texts(func() {
		e.Values.Known = o.Values
		d.named(e, root, d.object(e, root))
	})
	if o.Identifier != "" && e.Identifier.Value != o.Identifier {
		d.Errorf(root, document.BadIdentifier, "found %q, but %q is addressed; a name can't be changed", e.Identifier.Value, o.Identifier)
	}
	e.References = d.references
	return e
}

// object reads a document of Argo CD.
func (d agents) object(e *Entity, v yamldoc.Value) gitops.Meta {
	var m gitops.Meta
	switch e.Kind {
	case ref.GitOpsApplication:
		e.Application = argo.Application(d.Decoder, v)
		m = e.Application.Meta
	case ref.GitOpsApplicationSet:
		e.ApplicationSet = argo.ApplicationSet(d.Decoder, v)
		m = e.ApplicationSet.Meta
	case ref.GitOpsProject:
		e.AppProject = argo.AppProject(d.Decoder, v)
		m = e.AppProject.Meta
	case ref.GitOpsRepository, ref.GitOpsRepoCredentials:
		e.Repository, m = argo.RepositorySecret(d.Decoder, v, &e.Values)
	case ref.GitOpsCluster:
		e.Cluster, m = argo.ClusterSecret(d.Decoder, v, &e.Values)
	default:
		c := argo.ReadConfigMap(d.Decoder, v, &e.Values)
		e.Settings, e.Certificates, e.Keys, m = c.Settings, c.Certificates, c.Keys, c.Meta
	}
	return m
}

// belongs notes the agent that a document is for.
func (d agents) belongs(e *Entity, v yamldoc.Value, agent string) {
	if agent == "" {
		return
	}
	before := len(d.references)
	d.refer(ref.GitOpsAgent, v, agent)
	if len(d.references) > before {
		e.Parent = d.references[before].Ref
	}
}

// named gives an entity the name of an object.
func (d agents) named(e *Entity, v yamldoc.Value, m gitops.Meta) {
	at := document.Child(document.Child(v, "metadata"), "name")
	e.Identifier = yamldoc.Field[string]{Value: m.Name, Set: m.Name != "", At: at.Pos(d.Report)}
	e.Name = e.Identifier
	if m.Name == "" {
		return
	}
	if err := ref.CheckID(e.Kind, m.Name); err != nil {
		d.Errorf(at, document.BadIdentifier, "%s", err)
	}
}

// agent decodes a gitopsAgent.
func (d agents) agent(v yamldoc.Value, e *Entity) *gitops.Agent {
	a := &gitops.Agent{}
	var typ, operator, infra yamldoc.Field[string]
	d.Fields(v, document.Merge(d.meta(e), d.servers(), document.Keys{
		"type":     d.Supported(&typ, "agent type", []string{gitops.AgentManaged, gitops.AgentUnset}, gitops.AgentConnected),
		"operator": d.Supported(&operator, "operator", []string{"ARGO", "UNKNOWN"}, "FLAMINGO"),
		"metadata": func(v yamldoc.Value) {
			d.Fields(v, document.Keys{
				"namespace": func(v yamldoc.Value) { a.Namespace = d.String(v).Value },
				// Processes of one agent take turns by themselves, however many are started.
				"highAvailability":     d.Flag(nil),
				"isNamespaced":         d.Refuse("which namespaces an agent may look into is said where it is installed (slipway gitops agent create --within); isNamespaced isn't supported"),
				"existingInstallation": d.Refuse("an agent beside an Argo CD isn't supported"),
				"infraType":            d.Supported(&infra, "kind of cluster", []string{"UNSET"}, "OPENSHIFT"),
				"mappedProjects":       document.Nothing, "deployedApplicationCount": document.Nothing,
			})
		},
		"health": document.Nothing, "version": document.Nothing, "upgradeAvailable": document.Nothing, "prefixedIdentifier": document.Nothing,
		"scope": document.Nothing, "credentials": document.Nothing,
	}))
	d.Need(v, "identifier", "name")
	return a
}

// servers are keys of Harness's answers that documents bring along.
func (d agents) servers() document.Keys {
	return document.Keys{
		"accountIdentifier": document.Nothing, "createdAt": document.Nothing, "lastModifiedAt": document.Nothing, "stale": document.Nothing,
	}
}

// envelope are the keys of what wraps a document of Argo CD.
func (d agents) envelope(e *Entity, object string, read document.Rule) document.Keys {
	return document.Merge(d.servers(), document.Keys{
		"orgIdentifier": d.Text(&e.Org), "projectIdentifier": d.Text(&e.Project), "name": d.Text(&e.Name),
		"agentIdentifier": func(v yamldoc.Value) {
			d.Takes(v, yamldoc.UsePlain)
			d.belongs(e, v, d.String(v).Value)
		},
		object: read,
	})
}

// within reads the object of an envelope, which has the last word on its name.
func (d agents) within(e *Entity, v yamldoc.Value, m gitops.Meta) {
	said := e.Name
	d.named(e, v, m)
	if said.Set && said.Value != m.Name {
		d.Errorf(v, document.WrongValue, "the object's name is %q, but the name beside it is %q", m.Name, said.Value)
	}
}

func (d agents) project(v yamldoc.Value, e *Entity) *gitops.Project {
	p := &gitops.Project{}
	d.Fields(v, d.envelope(e, "project", func(v yamldoc.Value) { p = argo.AppProject(d.Decoder, v) }))
	d.Need(v, "agentIdentifier", "project")
	if !document.Child(v, "project").Null() && v.Node.Get("project") != nil {
		d.within(e, document.Child(v, "project"), p.Meta)
	}
	return p
}

func (d agents) application(v yamldoc.Value, e *Entity) *gitops.Application {
	a := &gitops.Application{}
	idle := "the application's own source and destination say it"
	d.Fields(v, document.Merge(d.envelope(e, "app", func(v yamldoc.Value) { a = argo.Application(d.Decoder, v) }), document.Keys{
		"clusterIdentifier": d.Idle(idle, d.Text(nil)), "repoIdentifier": d.Idle(idle, d.Text(nil)), "repoIdentifiers": d.Idle(idle, d.Words(nil)),
		"skipRepoValidation": d.Flag(nil),
	}))
	d.Need(v, "agentIdentifier", "app")
	if v.Node.Get("app") != nil {
		d.within(e, document.Child(v, "app"), a.Meta)
	}
	return a
}

func (d agents) applicationSet(v yamldoc.Value, e *Entity) *appset.Set {
	s := &appset.Set{}
	d.Fields(v, document.Merge(d.envelope(e, "appset", func(v yamldoc.Value) { s = argo.ApplicationSet(d.Decoder, v) }), document.Keys{
		"identifier": d.Idle("a set is known by its name", d.Text(nil)), "owner": document.Nothing, "upsert": document.Nothing,
	}))
	d.Need(v, "agentIdentifier", "appset")
	if v.Node.Get("appset") != nil {
		d.within(e, document.Child(v, "appset"), s.Meta)
	}
	return s
}

// alike are the keys of what Harness names by an identifier.
func (d agents) alike(e *Entity, keys document.Keys) document.Keys {
	return document.Merge(d.meta(e), d.servers(), document.Keys{"agentIdentifier": func(v yamldoc.Value) {
		d.Takes(v, yamldoc.UsePlain)
		d.belongs(e, v, d.String(v).Value)
	}}, keys)
}

func (d agents) repository(v yamldoc.Value, e *Entity) *access.Repository {
	r := &access.Repository{Template: e.Kind == ref.GitOpsRepoCredentials}
	e.Values.Known = d.options.Values
	body := "repository"
	keys := document.Keys{"credsOnly": document.Nothing, "repositoryCredentialsId": document.Nothing, "upsert": document.Nothing}
	if r.Template {
		body = "repoCreds"
	} else {
		var kind yamldoc.Field[string]
		keys["genType"] = d.Supported(&kind, "maker of credentials", []string{"UNSET", "AWS_ECR"}, "GOOGLE_GCR")
		keys["ecrGen"] = argo.ECR(d.Decoder, r, &e.Values)
		keys["gcrGen"] = d.Refuse("logins of Google's registries that are made anew aren't supported; gcpServiceAccountKey is")
		keys["refreshInterval"] = d.Idle("a login is made anew before it ends", d.Text(nil))
	}
	keys[body] = argo.Repository(d.Decoder, r, &e.Values)
	d.Fields(v, d.alike(e, keys))
	d.Need(v, "agentIdentifier", "identifier", body)
	return r
}

func (d agents) cluster(v yamldoc.Value, e *Entity) *access.Cluster {
	c := &access.Cluster{}
	e.Values.Known = d.options.Values
	d.Fields(v, d.alike(e, document.Keys{
		"cluster": argo.Cluster(d.Decoder, c, &e.Values), "upsert": document.Nothing, "updatedFields": document.Nothing,
		"secretExpressions": d.Refuse("secrets of Slipway in a cluster's credentials (secretExpressions) aren't supported"),
	}))
	d.Need(v, "agentIdentifier", "identifier", "cluster")
	return c
}

func (d agents) certificate(v yamldoc.Value, e *Entity) {
	var c access.Certificate
	d.Fields(v, d.alike(e, argo.Certificate(d.Decoder, &c)))
	d.Need(v, "agentIdentifier", "identifier", "serverName", "certType", "certData")
	argo.CheckCertificate(d.Decoder, v, &c)
	e.Certificates = []access.Certificate{c}
}

func (d agents) gpgKey(v yamldoc.Value, e *Entity) {
	var k access.Key
	d.Fields(v, d.alike(e, document.Keys{"publicKey": argo.GPGKey(d.Decoder, &k), "upsert": document.Nothing}))
	d.Need(v, "agentIdentifier", "identifier", "publicKey")
	e.Keys = []access.Key{k}
}

// settings reads a ConfigMap in an envelope, which Harness hasn't.
func (d agents) settings(v yamldoc.Value, e *Entity) {
	d.Fields(v, d.envelope(e, "configMap", func(v yamldoc.Value) { d.within(e, v, d.object(e, v)) }))
	d.Need(v, "agentIdentifier", "configMap")
}
