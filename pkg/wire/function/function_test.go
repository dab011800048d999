package function_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slipway-cd/slipway/pkg/access"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/store"
	"github.com/slipway-cd/slipway/pkg/wire"
	"github.com/slipway-cd/slipway/pkg/wire/function"
	"github.com/slipway-cd/slipway/pkg/wire/plane"
)

// A request that takes longer than its function may is answered before Lambda
// ends the function, and the answer says so.
func TestAFunctionThatRunsOutOfTimeAnswersWhy(t *testing.T) {
	t.Parallel()
	local, err := wire.Open(t.Context(), wire.ServeConfig{Data: t.TempDir(), Log: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	token, text := access.Mint(access.Grant{Kind: store.TokenUser, Scope: ref.Scope{Account: plane.Account}, Name: "test", Actor: "admin"}, time.Now())
	if err := local.Store.PutToken(t.Context(), token); err != nil {
		t.Fatal(err)
	}
	r := events.APIGatewayV2HTTPRequest{RawPath: "/v1/executions", RawQueryString: "org=default&project=default_project", Headers: map[string]string{"authorization": "Bearer " + text}}
	r.RequestContext.HTTP.Method, r.RequestContext.HTTP.Path = "GET", "/v1/executions"
	event, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	// Less is left than answering takes, so the time is over at once.
	ctx, cancel := context.WithDeadline(t.Context(), time.Now().Add(500*time.Millisecond))
	defer cancel()
	out, err := function.API(local.Plane).Invoke(context.WithoutCancel(ctx), event)
	if err != nil || strings.Contains(string(out), "UNAVAILABLE") {
		t.Errorf("with all the time that it needs: %v\n%s", err, out)
	}
	out, err = function.API(local.Plane).Invoke(ctx, event)
	var answer events.APIGatewayV2HTTPResponse
	if err == nil {
		err = json.Unmarshal(out, &answer)
	}
	if err != nil || answer.StatusCode != 503 || !strings.Contains(answer.Body, `"UNAVAILABLE"`) || !strings.Contains(answer.Body, "longer than it may") {
		t.Errorf("without time: %v\n%s", err, out)
	}
}
