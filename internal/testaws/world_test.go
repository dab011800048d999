package testaws_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/internal/testaws"
)

// A world counts the calls with their parameters, and lets those fail that a
// test wants to.
func TestWorldCalls(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	client := sts.NewFromConfig(w.Config(), func(o *sts.Options) { o.RetryMaxAttempts = 1 })
	assume := func(session string) string {
		_, err := client.AssumeRole(t.Context(), &sts.AssumeRoleInput{
			RoleArn: aws.String("arn:aws:iam::123456789012:role/deployer"), RoleSessionName: &session,
		})
		var api smithy.APIError
		switch {
		case err == nil:
			return ""
		case errors.As(err, &api):
			return api.ErrorCode()
		}
		return "no answer"
	}
	w.Fail("sts:AssumeRole", testaws.Fault{Code: "AccessDenied", Message: "not you", After: 1, Times: 1})
	got := []string{assume("first"), assume("second"), assume("third")}
	w.Throttle("sts:AssumeRole", 1)
	got = append(got, assume("fourth"))
	w.Fail("sts:AssumeRole", testaws.Fault{Cut: testaws.CutBefore, Times: 1})
	w.Fail("sts:GetCallerIdentity", testaws.Fault{Code: "InternalFailure", Times: -1})
	got = append(got, assume("fifth"), assume("sixth"))
	want := []string{"", "AccessDenied", "", "ThrottlingException", "no answer", ""}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("answers (-want +got):\n%s", d)
	}
	var sessions, codes []string
	for _, c := range w.CallsOf("sts:AssumeRole") {
		var in sts.AssumeRoleInput
		c.Decode(t, &in)
		sessions = append(sessions, aws.ToString(in.RoleSessionName))
		codes = append(codes, c.Code)
	}
	if d := cmp.Diff([]string{"first", "second", "third", "fourth", "", "sixth"}, sessions); d != "" {
		t.Errorf("sessions (-want +got):\n%s", d)
	}
	if d := cmp.Diff([]string{"", "AccessDenied", "", "ThrottlingException", "cut", ""}, codes); d != "" {
		t.Errorf("codes (-want +got):\n%s", d)
	}
	if n := w.Count("sts:GetCallerIdentity"); n != 0 {
		t.Errorf("%d calls of GetCallerIdentity, want none", n)
	}
}

// A copy of a world begins as that one is, calls, policy and all, and from then on
// nothing of either is seen in the other; it goes before the other does.
func TestCopiesOfAWorld(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	cluster := func(w *testaws.World, name string) {
		t.Helper()
		if _, err := ecs.NewFromConfig(w.Config()).CreateCluster(t.Context(), &ecs.CreateClusterInput{ClusterName: &name}); err != nil {
			t.Fatal(err)
		}
	}
	shows := func(w *testaws.World) string {
		t.Helper()
		out, err := ecs.NewFromConfig(w.Config()).ListClusters(t.Context(), &ecs.ListClustersInput{})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, arn := range out.ClusterArns {
			names = append(names, arn[strings.LastIndex(arn, "/")+1:])
		}
		slices.Sort(names)
		return fmt.Sprint(names, w.Count("ecs:CreateCluster"))
	}
	cluster(w, "before")
	var first, second, third string
	t.Run("copies", func(t *testing.T) {
		one, other := w.Copy(t), w.Copy(t)
		cluster(one, "one")
		cluster(other, "other")
		again := one.Copy(t)
		cluster(again, "again")
		first, second, third = shows(one), shows(other), shows(again)
	})
	cluster(w, "after")
	got := []string{first, second, third, shows(w)}
	want := []string{"[before one test] 2", "[before other test] 2", "[again before one test] 3", "[after before test] 2"}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("clusters and calls that made them (-want +got):\n%s", d)
	}
}

// Requests that AWS's own clients would refuse are refused, in the words of
// the API's models.
func TestStrictRequests(t *testing.T) {
	t.Parallel()
	w := testaws.NewWorld(t)
	tests := []struct {
		name, operation, body, want string
	}{
		{
			name: "an unknown member", operation: "RegisterTaskDefinition",
			body: `{"family":"web","containerDefinitions":[{"name":"web","image":"web:1","memmory":64}]}`,
			want: `Unknown parameter in containerDefinitions[0]: "memmory"`,
		},
		{
			name: "a missing member", operation: "RegisterTaskDefinition", body: `{"family":"web"}`,
			want: `Missing required parameter in input: "containerDefinitions"`,
		},
		{
			name: "a number for a text", operation: "RegisterTaskDefinition",
			body: `{"family":"web","cpu":256,"containerDefinitions":[]}`, want: "Invalid type for parameter cpu, value: 256",
		},
		{
			name: "a text for a number", operation: "CreateService",
			body: `{"serviceName":"web","desiredCount":"two"}`, want: "Invalid type for parameter desiredCount, value: two",
		},
		{name: "no JSON", operation: "CreateService", body: `{`, want: "CreateService can't be read"},
		{name: "as it has to be", operation: "ListClusters", body: `{}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := post(t, w.Endpoint, "ecs", "AmazonEC2ContainerServiceV20141113."+tt.operation, tt.body)
			if tt.want != "" && got.Type != "ValidationException" || !strings.Contains(got.Message, tt.want) {
				t.Errorf("got %+v, want %s", got, tt.want)
			}
		})
	}
}

// post calls an API by its JSON protocol with what the SDK wouldn't send.
func post(t *testing.T, endpoint, service, target, body string) (answer struct {
	Type    string `json:"__type"`
	Message string
},
) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", target)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20261123/"+testaws.Region+"/"+service+"/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	doc, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(doc, &answer); err != nil {
		t.Fatalf("%s: %v: %s", resp.Status, err, doc)
	}
	return answer
}
