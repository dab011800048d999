package main

import (
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsec2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecr"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsecs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslogs"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"
)

// delegateConfig is the context of a delegate on ECS Fargate (delegate=fargate).
type delegateConfig struct {
	Image   string   // of delegate/Dockerfile, with its tag
	Token   string   // ARN of the secret in Secrets Manager that holds the delegate's token
	VPC     string   // where it stands
	Subnets []string // with a way out, by a NAT gateway
	Tags    string   // that delegate selectors match
	CPU     float64  // 1024 are a core
	Memory  float64  // MB
	Count   float64  // of copies
	ARM     bool
}

var (
	secretARN = regexp.MustCompile(`^arn:aws[a-z-]*:secretsmanager:[a-z0-9-]+:\d{12}:secret:.+-\w{6}$`)
	ecrImage  = regexp.MustCompile(`^(\d{12})\.dkr\.ecr\.([a-z0-9-]+)\.amazonaws\.com(?:\.cn)?/([^:@]+):([^:@]+)$`)
)

// delegateFromContext reads the context; nil if no delegate is wanted.
func delegateFromContext(get func(key, otherwise string) string) (*delegateConfig, error) {
	switch kind := get("delegate", "none"); kind {
	case "none":
		return nil, nil //nolint:nilnil // no delegate and no error
	case "fargate":
	default:
		return nil, fmt.Errorf("delegate %q: want none or fargate", kind)
	}
	var errs []error
	number := func(key, otherwise string) float64 {
		n, err := strconv.ParseFloat(get(key, otherwise), 64)
		if err != nil || n < 1 {
			errs = append(errs, fmt.Errorf("%s %q: want a number", key, get(key, otherwise)))
		}
		return n
	}
	need := func(key string) string {
		if get(key, "") == "" {
			errs = append(errs, fmt.Errorf("delegate=fargate needs %s", key))
		}
		return get(key, "")
	}
	d := &delegateConfig{
		Image: need("delegateImage"), Token: need("delegateToken"), VPC: need("delegateVpc"), Subnets: strings.Split(need("delegateSubnets"), ","),
		Tags: get("delegateTags", ""), CPU: number("delegateCpu", "512"), Memory: number("delegateMemory", "1024"), Count: number("delegateCount", "1"),
		ARM: get("delegateArchitecture", "arm64") == "arm64",
	}
	if d.Token != "" && !secretARN.MatchString(d.Token) {
		errs = append(errs, fmt.Errorf("delegateToken %q: want the whole ARN of a secret in Secrets Manager", d.Token))
	}
	if a := get("delegateArchitecture", "arm64"); a != "arm64" && a != "x86_64" {
		errs = append(errs, fmt.Errorf("delegateArchitecture %q: want arm64 or x86_64", a))
	}
	return d, errors.Join(errs...)
}

// Delegate is the stack of a delegate on ECS Fargate, in a network that is
// there already. Nothing else needs it, and it can be deleted at any time.
type Delegate struct {
	awscdk.Stack
	cfg  config
	role awsiam.Role // the tasks': users add to it what pipelines may do on AWS
}

// NewDelegate makes the stack. It connects to the API of compute.
func NewDelegate(scope constructs.Construct, cfg config, compute *Compute) *Delegate {
	d := &Delegate{cfg: cfg, Stack: awscdk.NewStack(scope, jsii.String("Delegate"), &awscdk.StackProps{
		StackName: jsii.String(cfg.name("delegate")), Description: jsii.String("Slipway: a delegate"),
	})}
	d.role = awsiam.NewRole(d.Stack, jsii.String("TaskRole"), &awsiam.RoleProps{
		RoleName: jsii.String(cfg.name("delegate")), AssumedBy: awsiam.NewServicePrincipal(jsii.String("ecs-tasks.amazonaws.com"), nil),
		Description: jsii.String("What connectors with InheritFromDelegate may do on AWS: nothing until a policy is attached"),
	})
	vpc := awsec2.Vpc_FromVpcAttributes(d.Stack, jsii.String("Vpc"), &awsec2.VpcAttributes{
		VpcId: jsii.String(cfg.Delegate.VPC), AvailabilityZones: d.Stack.AvailabilityZones(),
	})
	cluster := awsecs.NewCluster(d.Stack, jsii.String("Cluster"), &awsecs.ClusterProps{ClusterName: jsii.String(cfg.name("delegate")), Vpc: vpc})
	suppress(cluster, "AwsSolutions-ECS4", "The delegate's log and the age of the oldest unclaimed task say what is to be known.")
	var subnets []awsec2.ISubnet
	for i, id := range cfg.Delegate.Subnets {
		subnets = append(subnets, awsec2.Subnet_FromSubnetId(d.Stack, jsii.String(fmt.Sprint("Subnet", i)), jsii.String(id)))
	}
	group := awsec2.NewSecurityGroup(d.Stack, jsii.String("Network"), &awsec2.SecurityGroupProps{
		Vpc: vpc, Description: jsii.String("The delegate of Slipway: outward only"), AllowAllOutbound: jsii.Bool(true),
	})
	awsecs.NewFargateService(d.Stack, jsii.String("Service"), &awsecs.FargateServiceProps{
		Cluster: cluster, TaskDefinition: d.task(*compute.url()), DesiredCount: &cfg.Delegate.Count, AssignPublicIp: jsii.Bool(false),
		VpcSubnets: &awsec2.SubnetSelection{Subnets: &subnets}, SecurityGroups: &[]awsec2.ISecurityGroup{group},
		MinHealthyPercent: jsii.Number(100), MaxHealthyPercent: jsii.Number(200),
		CircuitBreaker: &awsecs.DeploymentCircuitBreaker{Rollback: jsii.Bool(true)}, EnableExecuteCommand: jsii.Bool(false),
	})
	awscdk.NewCfnOutput(d.Stack, jsii.String("DelegateRoleArn"), &awscdk.CfnOutputProps{Value: d.role.RoleArn()})
	return d
}

// task is what runs: as in delegate/chart, without root, with a root file
// system that can't be written.
func (d *Delegate) task(server string) awsecs.FargateTaskDefinition {
	own := d.cfg.Delegate
	starter := awsiam.NewRole(d.Stack, jsii.String("StartRole"), &awsiam.RoleProps{
		AssumedBy: awsiam.NewServicePrincipal(jsii.String("ecs-tasks.amazonaws.com"), nil), Description: jsii.String("Starts Slipway's delegate: its image, its token, its log"),
	})
	architecture := awsecs.CpuArchitecture_ARM64()
	if !own.ARM {
		architecture = awsecs.CpuArchitecture_X86_64()
	}
	definition := awsecs.NewFargateTaskDefinition(d.Stack, jsii.String("Task"), &awsecs.FargateTaskDefinitionProps{
		Family: jsii.String(d.cfg.name("delegate")), Cpu: &own.CPU, MemoryLimitMiB: &own.Memory, TaskRole: d.role, ExecutionRole: starter,
		RuntimePlatform: &awsecs.RuntimePlatform{CpuArchitecture: architecture, OperatingSystemFamily: awsecs.OperatingSystemFamily_LINUX()},
	})
	log := awslogs.NewLogGroup(d.Stack, jsii.String("Log"), &awslogs.LogGroupProps{
		LogGroupName: jsii.String("/slipway/" + d.cfg.Stage + "/delegate"), Retention: d.cfg.retention(), RemovalPolicy: awscdk.RemovalPolicy_DESTROY,
	})
	linux := awsecs.NewLinuxParameters(d.Stack, jsii.String("Linux"), nil)
	linux.DropCapabilities(awsecs.Capability_ALL)
	// Fargate lets a task run for two minutes after it was told to stop.
	command := []string{"--name=" + d.cfg.name("delegate"), "--drain=110s", "--log-format=json"}
	if own.Tags != "" {
		command = append(command, "--tags="+own.Tags)
	}
	token := awssecretsmanager.Secret_FromSecretCompleteArn(d.Stack, jsii.String("Token"), jsii.String(own.Token))
	container := definition.AddContainer(jsii.String("delegate"), &awsecs.ContainerDefinitionOptions{
		Image: d.image(), Command: jsii.Strings(command...), User: jsii.String("65532:65532"), ReadonlyRootFilesystem: jsii.Bool(true),
		Environment:     &map[string]*string{"SLIPWAY_SERVER": jsii.String(server)},
		Secrets:         &map[string]awsecs.Secret{"SLIPWAY_TOKEN": awsecs.Secret_FromSecretsManager(token, nil)},
		Logging:         awsecs.LogDrivers_AwsLogs(&awsecs.AwsLogDriverProps{LogGroup: log, StreamPrefix: jsii.String("delegate")}),
		LinuxParameters: linux, StopTimeout: awscdk.Duration_Seconds(jsii.Number(120)),
	})
	for _, v := range []struct{ name, path string }{{"home", "/home/slipway"}, {"tmp", "/tmp"}} {
		definition.AddVolume(&awsecs.Volume{Name: &v.name})
		container.AddMountPoints(&awsecs.MountPoint{SourceVolume: &v.name, ContainerPath: &v.path, ReadOnly: jsii.Bool(false)})
	}
	suppress(starter, "AwsSolutions-IAM5", "The login at ECR has no resource to name.")
	suppress(definition, "AwsSolutions-ECS2", "Where the server is, is no secret; the token is one, and comes from Secrets Manager.")
	return definition
}

// image is the delegate's; one in ECR may be pulled by the role that starts it.
func (d *Delegate) image() awsecs.ContainerImage {
	m := ecrImage.FindStringSubmatch(d.cfg.Delegate.Image)
	if m == nil {
		return awsecs.ContainerImage_FromRegistry(jsii.String(d.cfg.Delegate.Image), nil)
	}
	repository := awsecr.Repository_FromRepositoryAttributes(d.Stack, jsii.String("Image"), &awsecr.RepositoryAttributes{
		RepositoryName: &m[3], RepositoryArn: jsii.String(fmt.Sprintf("arn:%s:ecr:%s:%s:repository/%s", *d.Stack.Partition(), m[2], m[1], m[3])),
	})
	return awsecs.ContainerImage_FromEcrRepository(repository, &m[4])
}
