package artifact

import (
	"context"
	"fmt"
	"net/url"
	"path"
	"strconv"
	"time"

	"github.com/slipway-cd/slipway/delegate/jenkins"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// builds are those of a job of Jenkins that succeeded, by its remote access
// API.
type builds struct {
	spec   lookup.JenkinsBuilds
	name   string
	client *restapi.Client
}

// jenkinsBuild is what Jenkins says of a build.
type jenkinsBuild struct {
	Number    int
	Result    string
	Timestamp int64 // milliseconds
	Artifacts []struct{ RelativePath string }
}

const (
	buildFields = "number,result,timestamp,artifacts[relativePath]"
	maxBuilds   = 1000 // Jenkins reads each of them from its disk
)

func (b *builds) versions(ctx context.Context) ([]version, error) {
	var job struct{ AllBuilds []jenkinsBuild }
	tree := url.Values{"tree": {fmt.Sprintf("allBuilds[%s]{0,%d}", buildFields, maxBuilds)}}
	err := b.client.Get(ctx, jenkins.JobPath(b.spec.Job)+"/api/json", tree, &job)
	if notThere(err) {
		return nil, missingArtifact(b.name, err)
	}
	if err != nil {
		return nil, err
	}
	var all []version
	for _, one := range job.AllBuilds {
		if one.Result == "SUCCESS" && b.has(one) {
			all = append(all, version{id: strconv.Itoa(one.Number), created: time.UnixMilli(one.Timestamp)})
		}
	}
	return sorted(all), nil
}

// has says whether a build has kept the file that is meant.
func (b *builds) has(one jenkinsBuild) bool {
	if b.spec.Path == "" {
		return true
	}
	for _, a := range one.Artifacts {
		if a.RelativePath == b.spec.Path {
			return true
		}
	}
	return false
}

func (b *builds) find(ctx context.Context, id string) (found, error) {
	if _, err := strconv.Atoi(id); err != nil {
		return found{}, fault.New(fault.Invalid, "the build of %s is %q; want a number", b.name, id)
	}
	at := jenkins.JobPath(b.spec.Job) + "/" + id
	var one jenkinsBuild
	err := b.client.Get(ctx, at+"/api/json", url.Values{"tree": {buildFields}}, &one)
	switch {
	case notThere(err):
		return found{}, fault.New(fault.NotFound, "%s has no build %s", b.name, id)
	case err != nil:
		return found{}, err
	case one.Result != "SUCCESS":
		return found{}, fault.New(fault.Conflict, "build %s of %s hasn't succeeded: %s", id, b.name, one.Result).Causing(fault.Verification)
	case !b.has(one):
		return found{}, fault.New(fault.NotFound, "build %s of %s has kept no %s", id, b.name, b.spec.Path)
	}
	f := found{Metadata: map[string]string{"jobName": b.spec.Job, "build": id, "url": b.client.URL() + at}}
	if b.spec.Path != "" {
		f.Metadata["artifactPath"], f.Metadata["fileName"] = b.spec.Path, path.Base(b.spec.Path)
		f.Metadata["url"] += "/artifact/" + (&url.URL{Path: b.spec.Path}).EscapedPath()
	}
	return f, nil
}
