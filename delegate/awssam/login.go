package awssam

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"time"

	"github.com/slipway-cd/slipway/delegate/workspace"
	"github.com/slipway-cd/slipway/pkg/task"
)

// logins is the folder of the workspace that has docker's logins while sam runs: no
// manifest has its name.
const logins = ".slipway/docker"

// hub is how docker names the registry of Docker Hub, which has another host by its
// API.
const hub, hubHost = "https://index.docker.io/v1/", "index.docker.io"

// login has docker be logged in to the step's registry, for the time until logout is
// called. Docker reads logins from a file alone.
func (j *job) login(ctx context.Context, t *workspace.Tool) (logout func(), err error) {
	r := j.spec.Registry
	if r == nil || r.Auth != task.AuthBasic {
		return func() {}, nil
	}
	at, err := url.Parse(r.URL)
	if err != nil {
		return nil, fmt.Errorf("read the registry's address: %w", err)
	}
	name := at.Host
	if name == hubHost {
		name = hub
	}
	auth := base64.StdEncoding.EncodeToString([]byte(string(r.Username) + ":" + string(r.Password)))
	j.Env.Mask(auth)
	type one struct {
		Auth string `json:"auth"`
	}
	doc, err := json.Marshal(struct {
		Auths map[string]one `json:"auths"`
	}{map[string]one{name: {auth}}})
	if err != nil {
		return nil, fmt.Errorf("encode docker's logins: %w", err)
	}
	sessions, id, file := j.cfg.Sessions, j.spec.Run.Session, path.Join(logins, "config.json")
	if err := workspace.Put(ctx, sessions, id, file, doc); err != nil {
		return nil, err
	}
	t.Legacy["DOCKER_CONFIG"] = filepath.Join(sessions.Workspace(id), logins)
	return func() {
		late, stop := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer stop()
		if err := workspace.Put(late, sessions, id, file, []byte("{}")); err != nil {
			j.Warn("docker's login is in the workspace until the session ends: %s", err)
		}
	}, nil
}
