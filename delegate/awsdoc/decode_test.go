package awsdoc_test

import (
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slipway-cd/slipway/delegate/awsdoc"
	"github.com/slipway-cd/slipway/pkg/fault"
)

// input has a member of each kind that inputs of the SDK have.
type input struct {
	Family                  *string
	Cpu                     *string
	DesiredCount            *int32
	Weight                  *float64
	EnableExecuteCommand    bool
	StartTime               *time.Time
	LaunchType              types.Runtime
	KMSKeyArn               *string
	VpcConfig               *vpc
	ContainerDefinitions    []vpc
	Tags                    map[string]string
	Blob                    []byte
	Document                any
	noSmithyDocumentSerde   struct{} //nolint:unused // as the SDK's have
	AdditionalVersionWeight map[string]float64
}

type vpc struct {
	SubnetIds []string
	Memory    *int32
}

func rules() awsdoc.Rules {
	return awsdoc.Rules{What: "service definition", Ours: []string{"taskDefinition"}, Described: []string{"serviceArn", "events"}, Answer: "services"}
}

func one(text string) []awsdoc.File {
	return []awsdoc.File{{Manifest: "m", Name: "m.yaml", Text: text}}
}

func ptr[T any](v T) *T { return &v }

// Members of any case, scalars of any kind, and no nulls.
func TestDocuments(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want input
	}{
		"a number for a text":       {"cpu: 256", input{Cpu: ptr("256")}},
		"a number as it is written": {"cpu: 0256", input{Cpu: ptr("0256")}},
		"a text for a number":       {`desiredCount: "3"`, input{DesiredCount: ptr[int32](3)}},
		"no octal numbers":          {`desiredCount: 010`, input{DesiredCount: ptr[int32](10)}},
		"a hexadecimal number":      {`desiredCount: 0x10`, input{DesiredCount: ptr[int32](16)}},
		"a text for true":           {`enableExecuteCommand: "true"`, input{EnableExecuteCommand: true}},
		"YAML 1.2: n is a text":     {"family: n", input{Family: ptr("n")}},
		"true for a text":           {"family: true", input{Family: ptr("true")}},
		"a share":                   {"weight: 0.25", input{Weight: ptr(0.25)}},
		"first letter large":        {"Family: web", input{Family: ptr("web")}},
		"all letters small":         {"family: web\nvpcconfig: {subnetids: [a]}", input{Family: ptr("web"), VpcConfig: &vpc{SubnetIds: []string{"a"}}}},
		"kmsKeyArn":                 {"kmsKeyArn: k", input{KMSKeyArn: ptr("k")}},
		"KMSKeyArn":                 {"KMSKeyArn: k", input{KMSKeyArn: ptr("k")}},
		"KmsKeyArn":                 {"KmsKeyArn: k", input{KMSKeyArn: ptr("k")}},
		"nulls":                     {"family: null\ndesiredCount: ~\ncontainerDefinitions: [null, {memory: null}]\ntags: {a: null, b: c}", input{ContainerDefinitions: []vpc{{}}, Tags: map[string]string{"b": "c"}}},
		"names of users stay":       {"tags: {Family: X, family: y}", input{Tags: map[string]string{"Family": "X", "family": "y"}}},
		"a time":                    {"startTime: 2026-01-31T12:00:00Z", input{StartTime: ptr(time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC))}},
		"bytes":                     {"blob: aGk=", input{Blob: []byte("hi")}},
		"weights":                   {"additionalVersionWeight: {\"8\": 0.1}", input{AdditionalVersionWeight: map[string]float64{"8": 0.1}}},
		"JSON":                      {`{"family":"web","containerDefinitions":[{"memory":"128"}]}`, input{Family: ptr("web"), ContainerDefinitions: []vpc{{Memory: ptr[int32](128)}}}},
		"JSON with tabs":            {"{\n\t\"family\":\t\"web\", \"cpu\": 1024, \"weight\": 0.5}", input{Family: ptr("web"), Cpu: ptr("1024"), Weight: ptr(0.5)}},
		"what Slipway sets":         {"taskDefinition: web:7\nfamily: web", input{Family: ptr("web")}},
		"what only answers have":    {"ServiceArn: arn\nevents: [{id: 1}]\nfamily: web", input{Family: ptr("web")}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, _, err := awsdoc.One[input](one(c.text), rules())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&c.want, got, cmp.AllowUnexported(input{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestDocumentsAreRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ text, want string }{
		"an unknown member":       {"famly: web", `m.yaml:1: famly: AWS knows no such member; did you mean family?`},
		"in a list":               {"containerDefinitions:\n- memory: 1\n- memmory: 2", `m.yaml:3: containerDefinitions[1].memmory: AWS knows no such member; did you mean memory?`},
		"in another case":         {"VpcConfig: {SubnetsIds: []}", `VpcConfig.SubnetsIds: AWS knows no such member; did you mean SubnetIds?`},
		"an answer":               {"services: [{serviceName: web}]", "remove the services array"},
		"two files":               {"family: a\n---\nfamily: b", "wants one document, found 2"},
		"none":                    {"", "wants one document, found 0"},
		"a text":                  {"hello", "found no mapping"},
		"no YAML":                 {"a: [", "m.yaml isn't YAML or JSON"},
		"a word for a number":     {"desiredCount: many", `m.yaml:1: desiredCount: found "many"; want a whole number of 32 bits`},
		"too large a number":      {"desiredCount: 3000000000", "want a whole number of 32 bits"},
		"a number for true":       {"enableExecuteCommand: 1", "want true or false"},
		"a list for a text":       {"family: [a]", "family: found a list; want a single value"},
		"a text for a list":       {"containerDefinitions: web", "containerDefinitions: found a single value; want a list"},
		"a list for a mapping":    {"tags: []", "tags: found a list; want a mapping"},
		"no time":                 {"startTime: soon", "want a time such as"},
		"infinity":                {"weight: .inf", "want a number"},
		"no base64":               {"blob: '!'", "blob: isn't base64"},
		"a member that is no one": {"noSmithyDocumentSerde: {}", "AWS knows no such member"},
		"any value":               {"document: 1", "can't be given in a file"},
		"twice":                   {"family: a\nFamily: b", "Family: found twice"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, _, err := awsdoc.One[input](one(c.text), rules())
			if err == nil || !strings.Contains(err.Error(), c.want) || fault.Failures(err)[0] != fault.ConfigurationFailure {
				t.Errorf("error %v (%v); want %s", err, fault.Failures(err), c.want)
			}
		})
	}
}

func TestWhatIsLeftOutIsTold(t *testing.T) {
	t.Parallel()
	_, notes, err := awsdoc.One[input](one("TaskDefinition: web:7\nserviceArn: arn\nfamily: web"), rules())
	want := []string{"m.yaml: TaskDefinition is ignored: Slipway sets it itself", "m.yaml: serviceArn is left out: it is told of a service definition, not set"}
	if diff := cmp.Diff(want, notes); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// A kind of many has a file each, a list in one, or documents of YAML.
func TestManyDocuments(t *testing.T) {
	t.Parallel()
	files := []awsdoc.File{
		{Name: "a", Text: "name: live"}, {Name: "b", Text: "- name: next\n- {name: old}"}, {Name: "c", Text: "---\nname: x\n---\nname: z\n"}, {Name: "d", Text: "# nothing"},
	}
	all, _, err := awsdoc.All[lambda.CreateAliasInput](files, awsdoc.Rules{What: "alias"})
	var names []string
	for _, a := range all {
		names = append(names, *a.Name)
	}
	if diff := cmp.Diff([]string{"live", "next", "old", "x", "z"}, names); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

// The inputs of the SDK itself: every member of a function's definition is read.
func TestAFunction(t *testing.T) {
	t.Parallel()
	got, _, err := awsdoc.One[lambda.CreateFunctionInput](one(`
functionName: web
Runtime: nodejs22.x
environment: {variables: {A: 1, B: yes}}
vpcConfig: {subnetIds: [s], securityGroupIds: [g]}
timeout: "30"
publish: "true"
architectures: [arm64]
layers: []
tags: {team: x}
`), awsdoc.Rules{What: "function definition"})
	if err != nil {
		t.Fatal(err)
	}
	if *got.FunctionName != "web" || got.Runtime != "nodejs22.x" || got.Environment.Variables["A"] != "1" || got.Environment.Variables["B"] != "yes" ||
		got.VpcConfig.SubnetIds[0] != "s" || *got.Timeout != 30 || !got.Publish || got.Architectures[0] != types.ArchitectureArm64 || got.Layers == nil {
		t.Errorf("got %+v", got)
	}
}

// Whatever a file holds, it is read or refused, and said in a place of it.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		"family: web", "cpu: 256\ncontainerDefinitions: [{memory: 1}]", `{"services":[]}`, "a: &a [*a]", "- family: x\n- {}", "{\t\"family\": 1e400}", "startTime: 2026-01-31T12:00:00Z",
		"tags: {<<: {a: b}}", "blob: aGk=", "desiredCount: 0x7fffffffff", "family: \xff", "?", "weight: -.inf", "\u2028", "{\"family\":\"\\ud800\"}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		all, _, err := awsdoc.All[input](one(text), rules())
		if err != nil {
			if !fault.Is(err, fault.Invalid) || err.Error() == "" {
				t.Errorf("error %v; want one that says where", err)
			}
			return
		}
		for _, doc := range all {
			if doc == nil {
				t.Error("a document is nothing")
			}
		}
	})
}
