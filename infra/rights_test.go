package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// statement is a part of a policy.
type statement struct {
	Sid       string
	Effect    string
	Action    any
	Resource  any
	Condition any
}

// statements are those of each role's policies.
func statements(tb testing.TB, tpl template) map[string][]statement {
	tb.Helper()
	out := map[string][]statement{}
	for name, r := range tpl.Resources {
		if r.Type != "AWS::IAM::Policy" {
			continue
		}
		doc, err := json.Marshal(r.Properties["PolicyDocument"])
		var p struct{ Statement []statement }
		if err == nil {
			err = json.Unmarshal(doc, &p)
		}
		if err != nil || len(p.Statement) == 0 {
			tb.Fatalf("policy %s has %d statements: %v", name, len(p.Statement), err)
		}
		roles, _ := r.Properties["Roles"].([]any)
		if len(roles) == 0 {
			tb.Fatalf("policy %s is no role's", name)
		}
		for _, role := range roles {
			out[short(role)] = append(out[short(role)], p.Statement...)
		}
	}
	return out
}

// rights are what each role may do, a line for each statement.
func rights(tb testing.TB, tpl template) []string {
	tb.Helper()
	var out []string
	for role, list := range statements(tb, tpl) {
		for _, s := range list {
			line := fmt.Sprintf("%s %s %s on %s", role, strings.ToLower(s.Effect), short(s.Action), short(s.Resource))
			if s.Condition != nil {
				line += " if " + short(s.Condition)
			}
			out = append(out, line)
		}
	}
	slices.Sort(out)
	return out
}

var (
	hash     = regexp.MustCompile(`([A-Za-z])[0-9A-F]{8}(\.|\}|$)`)
	exported = regexp.MustCompile(`slipway-[a-z0-9-]+-([a-z]+):ExportsOutput(?:Ref|FnGetAtt)([A-Za-z0-9]+?)[0-9A-F]{8}(StreamArn|Arn|Name)?[0-9A-F]{8}`)
)

// short is a value of a template in few words: references are the names that
// they have in the program.
func short(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = short(p)
		}
		return strings.Join(parts, " ")
	case map[string]any:
		for _, kind := range []string{"Ref", "Fn::GetAtt", "Fn::ImportValue"} {
			if at, ok := v[kind]; ok {
				name := "{" + strings.ReplaceAll(short(at), " ", ".") + "}"
				return hash.ReplaceAllString(exported.ReplaceAllString(name, "$1.$2.$3"), "$1$2")
			}
		}
		if list, ok := v["Fn::Join"].([]any); ok && len(list) == 2 && list[0] == "" {
			parts, _ := list[1].([]any)
			var b strings.Builder
			for _, p := range parts {
				b.WriteString(short(p))
			}
			return b.String()
		}
	}
	doc, _ := json.Marshal(v) //nolint:errchkjson // a part of a decoded template
	return string(doc)
}

// nameless are the actions for which AWS has no resource to name.
var nameless = map[string]string{
	"ecr:GetAuthorizationToken":     "logs in to all of an account's repositories",
	"xray:PutTraceSegments":         "traces have no ARN",
	"xray:PutTelemetryRecords":      "traces have no ARN",
	"xray:GetSamplingRules":         "traces have no ARN",
	"xray:GetSamplingTargets":       "traces have no ARN",
	"logs:CreateLogDelivery":        "deliveries of logs have no ARN",
	"logs:GetLogDelivery":           "deliveries of logs have no ARN",
	"logs:UpdateLogDelivery":        "deliveries of logs have no ARN",
	"logs:DeleteLogDelivery":        "deliveries of logs have no ARN",
	"logs:ListLogDeliveries":        "deliveries of logs have no ARN",
	"logs:PutResourcePolicy":        "policies of logs have no ARN",
	"logs:DescribeResourcePolicies": "policies of logs have no ARN",
	"logs:DescribeLogGroups":        "lists log groups",
}

// below are the ends of resources that stand for many, whose names nobody
// knows before.
var below = map[string]string{
	":execution:slipway-%s-node:*": "each machine run has a name of its own",
	"/audit/*":                     "each part of the audit trail is named by its records",
	"/blobs/*":                     "each blob is named by its hash",
	"/%s/POST/@connections/*":      "API Gateway names each connection",
}

// explained says whether a resource with a wildcard is one of those.
func explained(resource, stage string, used map[string]bool) bool {
	for end := range below {
		if strings.HasSuffix(resource, strings.ReplaceAll(end, "%s", stage)) {
			used[end] = true
			return true
		}
	}
	return false
}

// Each action is named, and stands on everything only where AWS has nothing
// to name. What is named in part says why.
func TestWildcardsAreExplained(t *testing.T) {
	t.Parallel()
	used := map[string]bool{}
	for variant := range variants() {
		for stack, tpl := range stacks(t, variant) {
			for role, list := range statements(t, tpl) {
				for _, s := range list {
					for _, action := range strings.Fields(short(s.Action)) {
						if strings.Contains(action, "*") {
							t.Errorf("%s %s: %s may do %s: name the actions", variant, stack, role, action)
						}
						for _, r := range strings.Fields(short(s.Resource)) {
							if r != "*" && strings.Contains(r, "*") && !explained(r, stageOf(variant), used) {
								t.Errorf("%s %s: %s may do %s on %s: name it", variant, stack, role, action, r)
							}
						}
						if !slices.Contains(strings.Fields(short(s.Resource)), "*") {
							continue
						}
						used[action] = true
						if nameless[action] == "" {
							t.Errorf("%s %s: %s may do %s on everything", variant, stack, role, action)
						}
					}
				}
			}
		}
	}
	for _, list := range []map[string]string{nameless, below} {
		for name := range list {
			if !used[name] {
				t.Errorf("%s is in the list, and nothing uses it: take it out", name)
			}
		}
	}
}

func stageOf(variant string) string {
	if stage, ok := variants()[variant]["stage"].(string); ok {
		return stage
	}
	return "dev"
}

// Roles have only the rights that their own policy says: no AWS policy, which
// AWS may widen, and nothing inline.
func TestRolesHaveOwnPoliciesOnly(t *testing.T) {
	t.Parallel()
	for variant := range variants() {
		for name, r := range load(t, variant, "Compute").of(t, "AWS::IAM::Role") {
			for _, more := range []string{"ManagedPolicyArns", "Policies"} {
				if r.Properties[more] != nil {
					t.Errorf("%s: role %s has %s: %s", variant, name, more, short(r.Properties[more]))
				}
			}
		}
	}
}

// The audit trail gets into the buckets and to the roles that the context names, by
// the sweeper alone, and without them nowhere.
func TestAuditGoesWhereTheContextSays(t *testing.T) {
	t.Parallel()
	outward := func(variant string) []string {
		var found []string
		for _, line := range rights(t, load(t, variant, "Compute")) {
			if strings.Contains(line, "sts:AssumeRole") || strings.Contains(line, "/audit/*") {
				found = append(found, line)
			}
		}
		return found
	}
	want := []string{
		"{SweeperRole} allow s3:PutObject on arn:{AWS::Partition}:s3:::acme-audit/audit/* arn:{AWS::Partition}:s3:::acme-more/audit/*",
		"{SweeperRole} allow sts:AssumeRole on arn:aws:iam::444455556666:role/audit",
	}
	if diff := cmp.Diff(want, outward("full")); diff != "" {
		t.Errorf("rights (-want +got):\n%s", diff)
	}
	if found := outward("prod"); len(found) > 0 {
		t.Errorf("without them it may %q", found)
	}
	if env := fmt.Sprint(load(t, "full", "Compute").Resources); !strings.Contains(env, "SLIPWAY_AUDIT_RETENTION:365") {
		t.Error("no function is told how long records are kept")
	}
}
