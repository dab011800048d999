package awslambda

import (
	"context"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slipway-cd/slipway/delegate/awsdoc"
)

// definition is what the manifests say of a function.
type definition struct {
	*lambda.CreateFunctionInput
	name    string // as Lambda's calls take it, without a qualifier
	aliases []*lambda.CreateAliasInput
}

// functionRules are those of a function's definition.
func functionRules() awsdoc.Rules {
	return awsdoc.Rules{
		What: "function definition", Answer: "Configuration", Ours: []string{"Code", "Publish", "PublishTo", "PackageType"},
		Described: []string{
			"CodeSha256", "CodeSize", "ConfigSha256", "FunctionArn", "ImageConfigResponse", "LastModified", "LastUpdateStatus", "LastUpdateStatusReason",
			"LastUpdateStatusReasonCode", "MasterArn", "RevisionId", "RuntimeVersionConfig", "SigningJobArn", "SigningProfileVersionArn", "State",
			"StateReason", "StateReasonCode", "Version",
		},
	}
}

func aliasRules() awsdoc.Rules {
	return awsdoc.Rules{
		What: "alias", Ours: []string{"FunctionName", "FunctionVersion"}, Described: []string{"AliasArn", "RevisionId"}, Answer: "Aliases",
	}
}

// read reads the manifests.
func (s *session) read(ctx context.Context) (definition, error) {
	s.Unit = unitFetch
	from := awsdoc.Source{Git: s.cfg.Git, Stage: s.work.Execution + s.work.Stage, Env: s.Env, Log: s.Env.Log(s.Unit), Accesses: s.cfg.Accesses, Execution: s.work.Execution}
	files, err := from.Fetch(ctx, s.spec.Target.Function...)
	if err != nil {
		return definition{}, err
	}
	function, notes, err := awsdoc.One[lambda.CreateFunctionInput](files, functionRules())
	s.note(notes)
	if err != nil {
		return definition{}, err
	}
	if files, err = from.Fetch(ctx, s.spec.Target.Aliases...); err != nil {
		return definition{}, err
	}
	aliases, notes, err := awsdoc.All[lambda.CreateAliasInput](files, aliasRules())
	s.note(notes)
	if err != nil {
		return definition{}, err
	}
	d := definition{CreateFunctionInput: function, aliases: aliases}
	return d, d.check(s.access.Region)
}

func (s *session) note(notes []string) {
	for _, n := range notes {
		s.Say("%s", n)
	}
}

// check says what is wrong with a definition, and finds the function's name.
func (d *definition) check(region string) error {
	name := sdk.ToString(d.FunctionName)
	if name == "" {
		return wrong("the function definition has no FunctionName")
	}
	parts := strings.Split(name, ":")
	switch {
	case len(parts) == 1:
	case parts[0] == "arn" && len(parts) == 7 && parts[5] == "function":
		if parts[3] != region {
			return wrong("FunctionName %s is in the region %s; the infrastructure definition's is %s", name, parts[3], region)
		}
	case len(parts) == 3 && parts[1] == "function":
	default:
		return wrong("FunctionName %q is no name, and no ARN of a function without a version or an alias", name)
	}
	d.name = name
	seen := map[string]bool{}
	for _, a := range d.aliases {
		alias := sdk.ToString(a.Name)
		switch {
		case alias == "":
			return wrong("found an alias without a Name")
		case seen[alias]:
			return wrong("found the alias %q twice", alias)
		}
		seen[alias] = true
	}
	return nil
}

// short is the name of a function without what an ARN has before it.
func short(name string) string { return name[strings.LastIndex(name, ":")+1:] }

// defaultAlias is the alias of a canary deployment without a manifest of one.
const defaultAlias = "live"

// named are the names of the aliases.
func (d *definition) named() []string {
	var out []string
	for _, a := range d.aliases {
		out = append(out, sdk.ToString(a.Name))
	}
	return out
}

// create is the call that makes the function.
func (d *definition) create(c code, tags map[string]string) *lambda.CreateFunctionInput {
	in := *d.CreateFunctionInput
	in.FunctionName, in.Code, in.PackageType, in.Tags = &d.name, c.function(), c.packageType(), tags
	if c.image != "" {
		in.Runtime, in.Handler, in.Layers = "", nil, nil
	}
	return &in
}

// update is the call that gives a function its configuration. Members that the
// definition hasn't stay as they are.
func (d *definition) update(c code) *lambda.UpdateFunctionConfigurationInput {
	in := &lambda.UpdateFunctionConfigurationInput{
		FunctionName: &d.name, CapacityProviderConfig: d.CapacityProviderConfig, DeadLetterConfig: d.DeadLetterConfig, Description: d.Description,
		DurableConfig: d.DurableConfig, Environment: d.Environment, EphemeralStorage: d.EphemeralStorage, FileSystemConfigs: d.FileSystemConfigs,
		Handler: d.Handler, ImageConfig: d.ImageConfig, KMSKeyArn: d.KMSKeyArn, Layers: d.Layers, LoggingConfig: d.LoggingConfig, MemorySize: d.MemorySize,
		Role: d.Role, Runtime: d.Runtime, SnapStart: d.SnapStart, Timeout: d.Timeout, TracingConfig: d.TracingConfig, VpcConfig: d.VpcConfig,
	}
	if c.image != "" {
		in.Runtime, in.Handler, in.Layers = "", nil, nil
	}
	return in
}

// ignored are members that mean nothing to a function of a kind, or that can't be
// changed once it is there.
func (d *definition) ignored(image, exists bool) []string {
	var out []string
	for name, found := range map[string]bool{
		"Runtime": image && d.Runtime != "", "Handler": image && d.Handler != nil, "Layers": image && d.Layers != nil,
	} {
		if found {
			out = append(out, name+" is ignored: the function is an image")
		}
	}
	for name, found := range map[string]bool{"CodeSigningConfigArn": exists && d.CodeSigningConfigArn != nil, "TenancyConfig": exists && d.TenancyConfig != nil} {
		if found {
			out = append(out, name+" is ignored: it is set when a function is made, and this one is there")
		}
	}
	slices.Sort(out)
	return out
}

// tags are those of the definition, with Slipway's.
func (s *session) tags(d definition) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, s.cfg.Accesses.Marks(s.work, slices.Collect(maps.Keys(d.Tags))...))
	maps.Copy(tags, d.Tags)
	return tags
}

// weights are those of an alias that send traffic to other versions than one; nil
// for none.
func weights(routing *types.AliasRoutingConfiguration, but string) map[string]float64 {
	if routing == nil {
		return nil
	}
	out := maps.Clone(routing.AdditionalVersionWeights)
	delete(out, but)
	if len(out) == 0 {
		return nil
	}
	return out
}
