package artifact

import (
	"strings"

	"github.com/slipway-cd/slipway/pkg/connector"
	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// docker is the format of a repository, or the type of a package, that is images.
const (
	docker    = "docker"
	container = "container"
	generic   = "generic"
)

// GitHub is a package of a GitHub host.
type GitHub struct {
	Base
	Type, Package, Org, User   yamldoc.Field[string]
	Group, Artifact, Extension yamldoc.Field[string] // maven
}

func decodeGitHub(d *Decoder, v yamldoc.Value) Source {
	s := &GitHub{Base: Base{FixedKey: "version", PatternKey: "versionRegex"}}
	s.decode(d, v, form{need: []string{"packageType", "packageName"}, digest: true}, document.Keys{
		"packageType": d.Literal(&s.Type, container, "maven", "npm", "nuget", "rubygems"),
		"packageName": d.Text(&s.Package), "org": d.Text(&s.Org), "user": d.Text(&s.User),
		"groupId": d.Text(&s.Group), "artifactId": d.Text(&s.Artifact), "extension": d.Text(&s.Extension),
	})
	return s
}

// LookedUp says whether a delegate must ask.
func (s *GitHub) LookedUp() bool { return !s.fixed() || s.Type.Value != container }

// Ask fills in the package.
func (s *GitHub) Ask(_ Reach, c connector.Connector, a *Asked) error {
	login, err := c.Packages()
	if err != nil {
		return err
	}
	at, err := web(c, login.URL)
	if err != nil {
		return err
	}
	g := &lookup.GithubPackages{
		Server: task.Server{URL: "https://api.github.com", Auth: task.AuthBearer, Token: login.Password},
		Type:   s.Type.Value, Package: s.Package.Value, Group: s.Group.Value, Artifact: s.Artifact.Value, Extension: s.Extension.Value,
	}
	host := "ghcr.io"
	if at.Host != "github.com" {
		g.Server.URL, host = at.Scheme+"://"+at.Host+"/api/v3", "containers."+at.Host
	}
	if login.Token != "" {
		g.Server.Token = login.Token
	}
	if g.Server.Token == "" {
		g.Server.Auth = task.AuthNone
	}
	owner := s.Org.Value
	switch {
	case owner != "":
		g.Owner = "orgs/" + owner
	case s.User.Value != "":
		owner = s.User.Value
		g.Owner = "users/" + owner
	default:
		g.Owner, owner = "user", login.Username
	}
	a.Github, a.Name = g, g.Type+" package "+owner+"/"+g.Package
	if g.Type != container {
		return nil
	}
	a.image(host, strings.ToLower(owner)+"/"+g.Package)
	g.Image = a.Registry.Image
	if login.Password != "" {
		a.Registry.Server.Auth = task.AuthBasic
	}
	a.Registry.Server.Username, a.Registry.Server.Password = login.Username, login.Password
	return nil
}

// Pull fills in the connector's login.
func (s *GitHub) Pull(a Asked, p *task.PullSecret) { a.pull(p) }

// Nexus is a component of Nexus 3. Its format says which of the fields are set.
type Nexus struct {
	Base
	Repository, Format                     yamldoc.Field[string]
	Path, URL, Port                        yamldoc.Field[string] // docker
	Group, Artifact, Classifier, Extension yamldoc.Field[string] // maven
	Package                                yamldoc.Field[string] // npm, nuget
	Folder                                 yamldoc.Field[string] // raw
}

func decodeNexus(d *Decoder, v yamldoc.Value) Source {
	s := &Nexus{Base: Base{FixedKey: "tag", PatternKey: "tagRegex"}}
	format := document.Peek(v, "repositoryFormat")
	known := map[string]document.Keys{
		docker:  {"artifactPath": d.Text(&s.Path), "repositoryUrl": d.Text(&s.URL), "repositoryPort": d.Text(&s.Port)},
		"maven": {"groupId": d.Text(&s.Group), "artifactId": d.Text(&s.Artifact), "classifier": d.Text(&s.Classifier), "extension": d.Text(&s.Extension)},
		"npm":   {"packageName": d.Text(&s.Package)},
		"nuget": {"packageName": d.Text(&s.Package)},
		"raw":   {"group": d.Text(&s.Folder)},
	}
	need := map[string][]string{docker: {"artifactPath"}, "maven": {"groupId", "artifactId"}, "npm": {"packageName"}, "nuget": {"packageName"}, "raw": {"group"}}
	d.Need(v, "spec")
	s.decode(d, v, form{need: []string{"repository", "repositoryFormat"}, digest: true, unclear: known[format] == nil}, document.Keys{
		"repository":       d.Text(&s.Repository),
		"repositoryFormat": d.Literal(&s.Format, docker, "maven", "npm", "nuget", "raw"),
		"spec": func(v yamldoc.Value) {
			d.Fields(v, known[format])
			d.Need(v, need[format]...)
			if format == docker && document.Neutral(v.Node.Get("repositoryUrl")) && document.Neutral(v.Node.Get("repositoryPort")) && v.Is(yamldoc.Mapping) {
				d.Errorf(v, document.MissingKey, "one of the keys repositoryUrl, repositoryPort is missing")
			}
		},
	})
	return s
}

// LookedUp says whether a delegate must ask.
func (s *Nexus) LookedUp() bool { return !s.fixed() || s.Format.Value != docker }

// Ask fills in the component.
func (s *Nexus) Ask(_ Reach, c connector.Connector, a *Asked) error {
	server, err := c.Server("Nexus")
	if err != nil {
		return err
	}
	n := &lookup.Nexus{
		Server: server, Repository: s.Repository.Value, Format: s.Format.Value, Package: s.Package.Value, Group: s.Group.Value,
		Artifact: s.Artifact.Value, Classifier: s.Classifier.Value, Extension: s.Extension.Value,
	}
	a.Nexus, a.Name = n, n.Format+" "+n.Repository+"/"+n.Package
	switch n.Format {
	case "maven":
		a.Name = "maven " + n.Repository + "/" + n.Group + ":" + n.Artifact
	case "raw":
		n.Group = s.Folder.Value
		a.Name = "raw " + n.Repository + "/" + n.Group
	case docker:
		n.Package = s.Path.Value
		address := s.URL.Value
		if address == "" {
			at, err := web(c, server.URL)
			if err != nil {
				return err
			}
			address = at.Scheme + "://" + at.Hostname() + ":" + s.Port.Value
		}
		a.hosted(address, n.Package, server)
		n.Image = a.Registry.Image
	}
	return nil
}

// Pull fills in the connector's login.
func (s *Nexus) Pull(a Asked, p *task.PullSecret) { a.pull(p) }

// Artifactory is an image or a file of Artifactory.
type Artifactory struct {
	Base
	Repository, Format yamldoc.Field[string]
	Path, URL          yamldoc.Field[string] // docker
	Folder             yamldoc.Field[string] // generic
}

func decodeArtifactory(d *Decoder, v yamldoc.Value) Source {
	s := &Artifactory{Base: Base{FixedKey: "tag", PatternKey: "tagRegex"}}
	format := document.Peek(v, "repositoryFormat")
	f := form{need: []string{"repository", "repositoryFormat", "artifactPath"}, digest: true, unclear: format != docker && format != generic}
	own := document.Keys{"artifactPath": d.Text(&s.Path), "repositoryUrl": d.Text(&s.URL)}
	if format == generic {
		s.FixedKey, s.PatternKey = "artifactPath", "artifactPathFilter"
		f.need, f.digest = []string{"repository", "repositoryFormat", "artifactDirectory"}, false
		own = document.Keys{
			"artifactDirectory": d.Text(&s.Folder),
			"artifactFilter":    d.Refuse("choosing files of several folders (artifactFilter) isn't supported"),
			"repositoryUrl":     document.Nothing, // left over from the format docker
		}
	}
	s.decode(d, v, f, document.Merge(own, document.Keys{
		"repository": d.Text(&s.Repository), "repositoryFormat": d.Literal(&s.Format, docker, generic),
	}))
	return s
}

// LookedUp says whether a delegate must ask.
func (s *Artifactory) LookedUp() bool { return !s.fixed() || s.Format.Value != docker }

// Ask fills in an image or a folder. An image whose repositoryUrl isn't given is
// named by Artifactory's repository path.
func (s *Artifactory) Ask(_ Reach, c connector.Connector, a *Asked) error {
	server, err := c.Server("Artifactory")
	if err != nil {
		return err
	}
	f := &lookup.Artifactory{Server: server, Repository: s.Repository.Value, Path: s.Folder.Value}
	a.Artifactory, a.Name = f, f.Repository+"/"+f.Path
	if s.Format.Value == generic {
		return nil
	}
	f.Path = s.Path.Value
	address := s.URL.Value
	if address == "" {
		at, err := web(c, server.URL)
		if err != nil {
			return err
		}
		address = at.Scheme + "://" + at.Host + "/" + f.Repository
	}
	a.hosted(address, f.Path, server)
	f.Image = a.Registry.Image
	return nil
}

// Pull fills in the connector's login.
func (s *Artifactory) Pull(a Asked, p *task.PullSecret) { a.pull(p) }

// Jenkins is what a build of a job has kept.
type Jenkins struct {
	Base
	Job, Path yamldoc.Field[string]
}

func decodeJenkins(d *Decoder, v yamldoc.Value) Source {
	s := &Jenkins{Base: Base{FixedKey: "build"}}
	s.decode(d, v, form{need: []string{"jobName"}}, document.Keys{"jobName": d.Text(&s.Job), "artifactPath": d.Text(&s.Path)})
	return s
}

// LookedUp says that a delegate asks for the build.
func (s *Jenkins) LookedUp() bool { return true }

// Ask fills in the builds.
func (s *Jenkins) Ask(_ Reach, c connector.Connector, a *Asked) error {
	server, err := c.Server("Jenkins")
	a.Jenkins, a.Name = &lookup.JenkinsBuilds{Server: server, Job: s.Job.Value, Path: s.Path.Value}, "job "+s.Job.Value
	return err
}
