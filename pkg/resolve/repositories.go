package resolve

import (
	"net/url"
	"path"
	"strings"

	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// hosted fills in an image that a repository manager serves under a host of
// its own, with the repository manager's credentials.
func (a *artifact) hosted(address, repository string, server task.Server) {
	_, host, found := strings.Cut(address, "://")
	if !found {
		host = address
	}
	host = strings.Trim(host, "/")
	a.image(host, repository)
	base, below, _ := strings.Cut(host, "/")
	login := server
	login.URL = "https://" + base
	if strings.HasPrefix(address, "http://") {
		login.URL = "http://" + base
	}
	a.Registry.Server, a.Registry.Repository = login, path.Join(below, repository)
}

// nexusComponent fills in a component of Nexus 3.
func (s *Scope) nexusComponent(spec *yamldoc.Node, a *artifact) error {
	server, err := a.connector.Server("Nexus")
	if err != nil {
		return err
	}
	set, err := s.settings(spec, "repository", "repositoryFormat")
	if err != nil {
		return err
	}
	of, err := s.settings(spec.Get("spec"), "artifactPath", "repositoryUrl", "repositoryPort", "groupId", "artifactId", "classifier", "extension", "packageName", "group")
	if err != nil {
		return err
	}
	n := &task.Nexus{
		Server: server, Repository: set["repository"], Format: set["repositoryFormat"], Package: of["packageName"], Group: of["groupId"],
		Artifact: of["artifactId"], Classifier: of["classifier"], Extension: of["extension"],
	}
	a.Nexus, a.Name = n, n.Format+" "+n.Repository+"/"+n.Package
	switch n.Format {
	case "maven":
		a.Name = "maven " + n.Repository + "/" + n.Group + ":" + n.Artifact
	case "raw":
		n.Group = of["group"]
		a.Name = "raw " + n.Repository + "/" + n.Group
	case "docker":
		n.Package = of["artifactPath"]
		address := of["repositoryUrl"]
		if address == "" {
			at, err := url.Parse(server.URL)
			if err != nil || at.Host == "" {
				return fault.New(fault.Invalid, "connector %s has the URL %q; want one that starts with https://", a.connector.ID, server.URL)
			}
			address = at.Scheme + "://" + at.Hostname() + ":" + of["repositoryPort"]
		}
		a.hosted(address, n.Package, server)
		n.Image = a.Registry.Image
	}
	return nil
}

// artifactoryArtifact fills in an image or a folder of Artifactory. An image
// whose repositoryUrl isn't given is named by Artifactory's repository path.
func (s *Scope) artifactoryArtifact(spec *yamldoc.Node, a *artifact) error {
	server, err := a.connector.Server("Artifactory")
	if err != nil {
		return err
	}
	set, err := s.settings(spec, "repository", "repositoryFormat", "artifactDirectory", "repositoryUrl")
	if err != nil {
		return err
	}
	f := &task.Artifactory{Server: server, Repository: set["repository"], Path: set["artifactDirectory"]}
	a.Artifactory, a.Name = f, f.Repository+"/"+f.Path
	if set["repositoryFormat"] == "generic" {
		return nil
	}
	of, err := s.settings(spec, "artifactPath")
	if err != nil {
		return err
	}
	f.Path = of["artifactPath"]
	address := set["repositoryUrl"]
	if address == "" {
		at, err := url.Parse(server.URL)
		if err != nil || at.Host == "" {
			return fault.New(fault.Invalid, "connector %s has the URL %q; want one that starts with https://", a.connector.ID, server.URL)
		}
		address = at.Scheme + "://" + at.Host + "/" + f.Repository
	}
	a.hosted(address, f.Path, server)
	f.Image = a.Registry.Image
	return nil
}

// jenkinsBuilds fills in the builds of a job.
func (s *Scope) jenkinsBuilds(spec *yamldoc.Node, a *artifact) error {
	server, err := a.connector.Server("Jenkins")
	if err != nil {
		return err
	}
	set, err := s.settings(spec, "jobName", "artifactPath")
	a.Jenkins = &task.JenkinsBuilds{Server: server, Job: set["jobName"], Path: set["artifactPath"]}
	a.Name = "job " + set["jobName"]
	return err
}

// googleBucket fills in an object of a bucket, which is one of all of
// Google's: its project isn't looked for.
func (s *Scope) googleBucket(spec *yamldoc.Node, a *artifact) error {
	set, err := s.settings(spec, "bucket")
	if err != nil {
		return err
	}
	access, err := a.connector.Google()
	if err != nil {
		return err
	}
	a.Bucket, a.Name = &task.GoogleBucket{Google: *access, Bucket: set["bucket"]}, "bucket "+set["bucket"]
	return nil
}

// customArtifact fills in a script that tells which versions there are. Its
// inputs are the script's environment.
func (s *Scope) customArtifact(spec *yamldoc.Node, a *artifact) error {
	a.Name = "the custom artifact"
	if text(spec.Get("timeout")) != "" {
		set, err := s.settings(spec, "timeout")
		if err != nil {
			return err
		}
		if a.timeout, err = yamldoc.ParseDuration(set["timeout"]); err != nil {
			return fault.New(fault.Invalid, "timeout: %w", err)
		}
	}
	fetch, err := s.tree(spec.At("scripts", "fetchAllArtifacts"), "fetchAllArtifacts")
	if err != nil || fetch == nil {
		return err
	}
	own, err := s.Selectors(words(spec.Get("delegateSelectors")))
	if err != nil {
		return err
	}
	a.selectors = own
	script := text(fetch.At("spec", "source", "spec", "script"))
	if path := text(fetch.At("spec", "source", "spec", "file")); path != "" {
		if script, err = s.File(path); err != nil {
			return err
		}
	}
	c := &task.CustomArtifact{
		Array: text(fetch.Get("artifactsArrayPath")), Version: text(fetch.Get("versionPath")), Attributes: map[string]string{},
		Script: task.Shell{Shell: text(fetch.At("spec", "shell")), Script: script, Env: map[string]string{}},
	}
	if list := fetch.Get("attributes"); list != nil {
		for _, item := range list.Items {
			c.Attributes[text(item.Get("name"))] = text(item.Get("value"))
		}
	}
	if list := spec.Get("inputs"); list != nil {
		for _, item := range list.Items {
			v, err := s.variable(item)
			if err != nil {
				return err
			}
			c.Script.Env[text(item.Get("name"))] = v.Text()
		}
	}
	a.Custom = c
	return nil
}
