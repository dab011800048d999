package main

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata anew")

// matters are the properties, by type, that the outline shows. What is no
// decision, or changes with each build, isn't there.
func matters() map[string][]string {
	return map[string][]string{
		"AWS::ApiGatewayV2::Api":           {"ProtocolType", "DisableExecuteApiEndpoint"},
		"AWS::ApiGatewayV2::Route":         {"RouteKey", "AuthorizationType"},
		"AWS::ApiGatewayV2::Stage":         {"StageName", "AutoDeploy", "DefaultRouteSettings"},
		"AWS::CloudWatch::Alarm":           {"MetricName", "Threshold", "Period", "EvaluationPeriods", "AlarmDescription"},
		"AWS::DynamoDB::Table":             {"TableName", "BillingMode", "DeletionProtectionEnabled", "PointInTimeRecoverySpecification", "TimeToLiveSpecification", "SSESpecification", "StreamSpecification", "GlobalSecondaryIndexes"},
		"AWS::Events::Archive":             {"ArchiveName", "EventPattern", "RetentionDays"},
		"AWS::Events::EventBus":            {"Name"},
		"AWS::Lambda::EventSourceMapping":  {"EventSourceArn", "FilterCriteria", "StartingPosition", "BatchSize", "MaximumBatchingWindowInSeconds", "BisectBatchOnFunctionError", "FunctionResponseTypes", "MaximumRecordAgeInSeconds", "DestinationConfig"},
		"AWS::Events::Rule":                {"EventPattern", "ScheduleExpression", "State"},
		"AWS::EC2::SecurityGroup":          {"SecurityGroupEgress", "SecurityGroupIngress"},
		"AWS::ECS::Service":                {"DesiredCount", "LaunchType", "NetworkConfiguration", "DeploymentConfiguration"},
		"AWS::ECS::TaskDefinition":         {"Cpu", "Memory", "RuntimePlatform", "ContainerDefinitions", "Volumes"},
		"AWS::KMS::Key":                    {"EnableKeyRotation"},
		"AWS::Lambda::Function":            {"Architectures", "Runtime", "MemorySize", "Timeout", "ReservedConcurrentExecutions", "TracingConfig"},
		"AWS::Logs::LogGroup":              {"LogGroupName", "RetentionInDays"},
		"AWS::S3::Bucket":                  {"BucketEncryption", "PublicAccessBlockConfiguration", "VersioningConfiguration", "LifecycleConfiguration"},
		"AWS::SQS::Queue":                  {"KmsMasterKeyId", "MessageRetentionPeriod"},
		"AWS::SNS::Topic":                  {"TopicName", "KmsMasterKeyId"},
		"AWS::StepFunctions::StateMachine": {"StateMachineName", "StateMachineType", "DefinitionSubstitutions", "LoggingConfiguration", "TracingConfiguration"},
	}
}

// hashed is a logical name: its end follows from its path, and says nothing.
var hashed = regexp.MustCompile(`^(.+?)[0-9A-F]{8}$`)

// TestOutline compares what the stacks hold, and what each role may do, with
// testdata/outline.txt: a reviewer reads the change there.
func TestOutline(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	all := stacks(t, "prod")
	all["Delegate"] = load(t, "full", "Delegate")
	for _, stack := range slices.Backward(slices.Sorted(maps.Keys(all))) {
		fmt.Fprintf(&b, "%s\n  resources\n", stack)
		for _, line := range resources(all[stack]) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		b.WriteString("  rights\n")
		for _, line := range rights(t, all[stack]) {
			fmt.Fprintf(&b, "    %s\n", line)
		}
		fmt.Fprintf(&b, "  outputs\n    %s\n\n", strings.Join(ours(all[stack]), ", "))
	}
	const file = "testdata/outline.txt"
	if *update {
		if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(b.String(), "\n")); diff != "" {
		t.Errorf("the stacks aren't as %s says (-want +got); if they should be, run go test -run Outline -update .\n%s", file, diff)
	}
}

// ours leaves out the outputs by which one stack reads another's.
func ours(tpl template) []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tpl.Outputs)), func(n string) bool { return strings.HasPrefix(n, "ExportsOutput") })
}

// resources are a line for each resource: its type and name, and below them
// what matters of it.
func resources(tpl template) []string {
	var out []string
	for name, r := range tpl.Resources {
		if m := hashed.FindStringSubmatch(name); m != nil {
			name = m[1]
		}
		line := fmt.Sprintf("%s %s", strings.TrimPrefix(r.Type, "AWS::"), name)
		if r.DeletionPolicy == "Retain" {
			line += ", retained"
		}
		for _, p := range matters()[r.Type] {
			if v, ok := r.Properties[p]; ok {
				line += fmt.Sprintf("\n      %s: %s", p, plain(v))
			}
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return out
}

// plain is a value for people to read: key=value, without quotes and braces.
func plain(v any) string {
	switch v := v.(type) {
	case map[string]any:
		for key := range v {
			if key == "Ref" || strings.HasPrefix(key, "Fn::") {
				return short(v)
			}
		}
		var parts []string
		for _, key := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, key+"="+plain(v[key]))
		}
		return strings.Join(parts, " ")
	case []any:
		parts := make([]string, len(v))
		for i, p := range v {
			parts[i] = plain(p)
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return short(v)
}
