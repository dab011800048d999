package elastigroup

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"github.com/slipway-cd/slipway/delegate/awsdoc"
	lane "github.com/slipway-cd/slipway/pkg/swimlane/aws"
)

// wanted reads what the stage's group is to be like. Its name and its sizes are
// the steps'.
func (s *session) wanted(ctx context.Context) (document, error) {
	s.In(fetchUnit)
	text, err := s.fetch(ctx, *s.spec.Target.Configuration)
	if err != nil {
		return nil, err
	}
	g, err := s.read(text)
	if err != nil {
		return nil, err
	}
	compute, err := member(g, "group", "compute")
	if err != nil {
		return nil, err
	}
	launch, err := member(compute, "group.compute", "launchSpecification")
	if err != nil {
		return nil, err
	}
	if image := s.spec.Target.Image; image != "" {
		launch["imageId"] = image
		delete(launch, "images") // Spot takes one of both
	}
	if launch["imageId"] == nil && launch["images"] == nil {
		return nil, wrong("there is no image to start machines from: the service has no artifact, and the configuration no group.compute.launchSpecification.imageId")
	}
	if m := s.spec.Target.Startup; m != nil {
		script, err := s.fetch(ctx, *m)
		if err != nil {
			return nil, err
		}
		launch["userData"] = base64.StdEncoding.EncodeToString([]byte(script.Text))
	}
	s.tag(launch)
	return g, nil
}

// fetch reads the only file of a document.
func (s *session) fetch(ctx context.Context, m lane.Manifest) (awsdoc.File, error) {
	from := awsdoc.Source{
		Git: s.Git, Stage: s.work.Execution + s.work.Stage, Env: s.Env, Log: s.Env.Log(fetchUnit), Accesses: s.Accesses, Execution: s.work.Execution,
	}
	files, err := from.Fetch(ctx, m)
	if err != nil {
		return awsdoc.File{}, err
	}
	if len(files) != 1 {
		return awsdoc.File{}, wrong("%s wants one file, found %d", m.ID, len(files))
	}
	return files[0], nil
}

// read reads the configuration: a group, or what is around it in Spot's requests.
func (s *session) read(f awsdoc.File) (document, error) {
	docs, err := awsdoc.Documents(f)
	if err != nil {
		return nil, err
	}
	if len(docs) != 1 {
		return nil, wrong("%s wants one document with a group, found %d", f.Name, len(docs))
	}
	root := docs[0]
	if inner := root.Get(wrapped); inner != nil {
		root = inner
	}
	if err := groupPart().check(f.Name, wrapped, root); err != nil {
		return nil, err
	}
	doc, err := json.Marshal(root.Any())
	if err != nil {
		return nil, wrong("%s: %w", f.Name, err)
	}
	var g document
	if err := json.Unmarshal(doc, &g); err != nil {
		return nil, wrong("%s is no group: %w", f.Name, err)
	}
	if _, there := g["name"]; there {
		s.Say("group.name and the sizes of the configuration are left out: they are the step's")
	}
	for _, name := range []string{"id", "createdAt", "updatedAt"} { // of Spot's answers, which people paste
		delete(g, name)
	}
	return g, nil
}

// member is a member that is an object, which is made where there is none.
func member(of document, path, name string) (document, error) {
	if of[name] == nil {
		of[name] = document{}
	}
	found, ok := of[name].(document)
	if !ok {
		if path != "" {
			path += "."
		}
		return nil, wrong("%s%s of the configuration is no object", path, name)
	}
	return found, nil
}

// tag marks whose machines they are. Tags of the configuration win.
func (s *session) tag(launch document) {
	list, _ := launch["tags"].([]any)
	own := s.Accesses.Tags(s.work)
	for _, key := range slices.Sorted(maps.Keys(own)) {
		if !slices.ContainsFunc(list, func(t any) bool { one, ok := t.(document); return ok && one["tagKey"] == key }) {
			list = append(list, document{"tagKey": key, "tagValue": own[key]})
		}
	}
	launch["tags"] = list
}

// sized is the group with a name and a size.
func sized(g document, name string, size capacity) document {
	out := maps.Clone(g)
	out["name"] = name
	out["capacity"] = document{"minimum": size.Minimum, "maximum": size.Maximum, "target": size.Target, "unit": byInstances}
	return out
}
