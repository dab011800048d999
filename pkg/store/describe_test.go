package store_test

import (
	"testing"

	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
)

func TestDescribe(t *testing.T) {
	t.Parallel()
	project := ref.Scope{Account: "acme", Org: "default", Project: "web"}
	for _, c := range []struct {
		key  store.EntityKey
		want string
	}{
		{store.EntityKey{Scope: project, Kind: ref.Pipeline, ID: "deploy"}, `pipeline "deploy" in acme/default/web`},
		{store.EntityKey{Scope: project, Kind: ref.Infrastructure, Env: "dev", ID: "k8s"}, `infrastructureDefinition "k8s" of environment "dev" in acme/default/web`},
		{store.EntityKey{Scope: project, Kind: ref.Trigger, Env: "deploy", ID: "on_push"}, `trigger "on_push" of pipeline "deploy" in acme/default/web`},
		{store.EntityKey{Scope: ref.Scope{Account: "acme"}, Kind: store.StableTemplate, ID: "build"}, `template "build" in acme`},
	} {
		if got := c.key.Describe(); got != c.want {
			t.Errorf("got %s; want %s", got, c.want)
		}
	}
}
