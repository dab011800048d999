package awslambda

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slipway-cd/slipway/delegate/aws"
	"github.com/slipway-cd/slipway/pkg/task"
)

// traffic is what of a function gets requests: the versions of its aliases, or,
// without an alias, the version that was deployed.
type traffic struct {
	access   *aws.Access
	client   *lambda.Client
	function string
	version  string // the one that was deployed last
	aliases  []string
}

// traffic is that of a function which the session has changed.
func (s *session) traffic(function, version string, aliases []string) traffic {
	return traffic{s.access, s.client, function, version, aliases}
}

// target names a function among what was deployed.
func (s *session) target(function string) string {
	return "lambda:" + s.access.Region + "/" + short(function)
}

func (s *session) resource(function string) string { return resourceOf(s.access.Region, function) }

// The resources of the ledger: a function, and each alias of it. A function's name
// may be an ARN.
func resourceOf(region, function string) string { return "lambda/Function/" + region + "/" + function }

func aliasResource(region, function, alias string) string {
	return "lambda/FunctionAlias/" + region + "/" + function + ":" + alias
}

// selector is what a watch needs to know of a function besides its name.
func (t traffic) selector() string { return t.version + ";" + strings.Join(t.aliases, ",") }

// trafficOf is that of a watch's workload; false: it is no function, but an alias.
func trafficOf(access *aws.Access, w task.Workload) (traffic, bool) {
	function, ok := strings.CutPrefix(w.Resource, resourceOf(access.Region, ""))
	version, aliases, told := strings.Cut(w.Selector, ";")
	if !ok || !told {
		return traffic{}, false
	}
	t := traffic{access: access, client: lambda.NewFromConfig(access.Config), function: function, version: version}
	if aliases != "" {
		t.aliases = strings.Split(aliases, ",")
	}
	return t, true
}

// share is what a version gets.
type share struct {
	names []string // of aliases, with their weights
	less  bool     // no alias points to it but with a weight
}

// look finds what gets requests now.
func (t traffic) look(ctx context.Context) ([]task.Instance, []task.Workload, error) {
	function := task.Workload{Resource: resourceOf(t.access.Region, t.function), Selector: t.selector()}
	shares := map[string]*share{}
	give := func(version, name string, less bool) {
		if shares[version] == nil {
			shares[version] = &share{less: true}
		}
		s := shares[version]
		s.names, s.less = append(s.names, name), s.less && less
	}
	var workloads []task.Workload
	for _, name := range t.aliases {
		w := task.Workload{Resource: aliasResource(t.access.Region, t.function, name)}
		out, err := t.client.GetAlias(ctx, &lambda.GetAliasInput{FunctionName: &t.function, Name: &name})
		switch {
		case aws.Is(err, notFound):
			w.Gone = true
			workloads = append(workloads, w)
			continue
		case err != nil:
			return nil, nil, t.access.Failed(ctx, "lambda:GetAlias", err)
		}
		rest, main := 1.0, sdk.ToString(out.FunctionVersion)
		if out.RoutingConfig != nil {
			for _, version := range slices.Sorted(maps.Keys(out.RoutingConfig.AdditionalVersionWeights)) {
				weight := out.RoutingConfig.AdditionalVersionWeights[version]
				rest -= weight
				give(version, name+" "+percent(weight), true)
				w.Traffic = append(w.Traffic, "version "+version+" ("+percent(weight)+")")
			}
		}
		whole := name
		if rest < 1 {
			whole += " " + percent(float64(int(rest*1000+0.5))/1000)
		}
		give(main, whole, false)
		w.Traffic = slices.Insert(w.Traffic, 0, "version "+main)
		workloads = append(workloads, w)
	}
	if len(t.aliases) == 0 && t.version != "" {
		give(t.version, "", false)
	}
	instances, artifact, err := t.versions(ctx, shares)
	if err != nil {
		return nil, nil, err
	}
	if function.Gone = artifact == nil; !function.Gone {
		function.Images = artifact
	}
	return instances, append([]task.Workload{function}, workloads...), nil
}

// versions describes the versions that get requests. artifact is that of the one
// that was deployed; nil: the function isn't there.
func (t traffic) versions(ctx context.Context, shares map[string]*share) (instances []task.Instance, artifact []string, err error) {
	latest, err := t.client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &t.function})
	if aws.Is(err, notFound) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, t.access.Failed(ctx, "lambda:GetFunctionConfiguration", err)
	}
	wanted := slices.Sorted(maps.Keys(shares))
	if t.version != "" && !slices.Contains(wanted, t.version) {
		wanted = append(wanted, t.version)
	}
	for _, version := range wanted {
		v, err := t.client.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &t.function, Qualifier: &version})
		if aws.Is(err, notFound) {
			continue
		}
		if err != nil {
			return nil, nil, t.access.Failed(ctx, "lambda:GetFunctionConfiguration", err)
		}
		of := artifactOf(v.Description)
		if of == "" {
			of = "code " + sdk.ToString(v.CodeSha256)
		}
		if version == t.version {
			if artifact = []string{of}; sdk.ToString(v.CodeSha256) != sdk.ToString(latest.CodeSha256) {
				artifact = append(artifact, "other code in $LATEST")
			}
		}
		s := shares[version]
		if s == nil {
			continue
		}
		i := task.Instance{Name: short(t.function) + ":" + version, Images: []string{of}, Ready: true, Phase: string(v.State), Canary: s.less}
		if at, err := time.Parse("2006-01-02T15:04:05.000-0700", sdk.ToString(v.LastModified)); err == nil {
			i.Since = at
		}
		i.Describe(map[string]string{
			"functionName": short(t.function), "version": version, "runtime": string(v.Runtime), "handler": sdk.ToString(v.Handler),
			"memorySize": fmt.Sprint(sdk.ToInt32(v.MemorySize)), "region": t.access.Region, "arn": sdk.ToString(v.FunctionArn), "aliases": strings.Join(s.names, ", "),
		})
		instances = append(instances, i)
	}
	if artifact == nil {
		artifact = []string{"version " + t.version + " isn't there any more"}
	}
	return instances, artifact, nil
}

// result is that of a step which has changed a function. That what runs can't be
// told is no failure: it is watched.
func (s *session) result(ctx context.Context, function string, aliases []string, version, action string, outputs map[string]any) (task.Result, error) {
	c := task.Change{Target: s.target(function), Action: action, Resources: []string{s.resource(function)}, Revision: version}
	instances, workloads, err := s.traffic(function, version, aliases).look(ctx)
	if err != nil {
		s.Say("What gets the function's requests can't be told: %s", err)
	} else {
		c.Instances, c.Counted, c.Workloads, c.Whole = instances, true, workloads, true
		for _, w := range workloads[1:] {
			c.Resources = append(c.Resources, w.Resource)
		}
	}
	found := task.InstancesFound{List: []task.InstanceFound{}}
	for _, i := range instances {
		found.List = append(found.List, task.InstanceFound{HostName: i.Name, InstanceName: i.Name, Properties: i.Properties})
	}
	doc, err := json.Marshal(map[string]any{"output": outputs, "deploymentInfoOutcome": found})
	if err != nil {
		return task.Result{}, fmt.Errorf("encode the outputs: %w", err)
	}
	return task.Result{Status: task.Succeeded, Outputs: doc, Changes: []task.Change{c}}, nil
}
