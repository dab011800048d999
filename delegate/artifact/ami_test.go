package artifact_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"

	"github.com/slipway-cd/slipway/internal/testaws"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/lookup"
)

// machineImage registers an image with tags, and gives its id.
func machineImage(t *testing.T, client *ec2.Client, name string, tags ...string) string {
	t.Helper()
	out, err := client.RegisterImage(t.Context(), &ec2.RegisterImageInput{Name: &name})
	if err != nil {
		t.Fatal(err)
	}
	in := &ec2.CreateTagsInput{Resources: []string{*out.ImageId}, Tags: []types.Tag{{Key: sdk.String("made"), Value: sdk.String("here")}}}
	for _, tag := range tags {
		key, value, _ := strings.Cut(tag, "=")
		in.Tags = append(in.Tags, types.Tag{Key: &key, Value: &value})
	}
	if _, err := client.CreateTags(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	return *out.ImageId
}

// moto has hundreds of images of Amazon's: only the account's own count.
func TestMachineImages(t *testing.T) {
	t.Parallel()
	over, cfg := account(t)
	client := ec2.NewFromConfig(cfg)
	ids := map[string]string{
		"web-1": machineImage(t, client, "web-1", "team=web"), "web-2": machineImage(t, client, "web-2", "team=web", "quality=good"),
		"db-1": machineImage(t, client, "db-1", "team=db"),
	}
	gone := machineImage(t, client, "web-3", "team=web")
	if _, err := client.DeregisterImage(t.Context(), &ec2.DeregisterImageInput{ImageId: &gone}); err != nil {
		t.Fatal(err)
	}
	filters := func(list ...string) map[string]string {
		out := map[string]string{}
		for _, one := range list {
			name, value, _ := strings.Cut(one, "=")
			out[name] = value
		}
		return out
	}
	for _, tt := range []struct {
		name       string
		filters    map[string]string
		choice     lookup.Choice
		want, says string
	}{
		{"a name", nil, lookup.Choice{Version: "web-1"}, "web-1", ""},
		{"the one that matches", nil, lookup.Choice{Pattern: `web-[2-9]`}, "web-2", ""},
		{"the newest with a tag", filters("tag:team=db"), lookup.Choice{Pattern: `.*`}, "db-1", ""},
		{"by tags and filters", filters("tag:team=w*", "name=web-?", "image-id="+ids["web-1"]), lookup.Choice{Pattern: `.*`}, "web-1", ""},
		{"part of a name", nil, lookup.Choice{Version: "web"}, "", "AMI in the region has no version web: it has 3, the newest of which are "},
		{"one whose tags don't fit", filters("tag:quality=good"), lookup.Choice{Version: "web-1"}, "", "has no version web-1: it has 1, the newest of which are web-2"},
		{"one that was deregistered", nil, lookup.Choice{Version: "web-3"}, "", "has no version web-3"},
		{"nothing matches", filters("tag:team=api"), lookup.Choice{Pattern: ".*"}, "", "it has none"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, got := ask(t, over, machineImages(tt.choice, tt.filters))
			if tt.says != "" {
				if r.Status != task.Failed || !strings.Contains(r.Message, tt.says) {
					t.Errorf("%s: %s; want a failure about %q", r.Status, r.Message, tt.says)
				}
				return
			}
			m := got.Metadata
			if r.Status != task.Succeeded || got.Version != tt.want || got.Image != ids[tt.want] || m["amiId"] != got.Image || m["ownerId"] != "123456789012" || m["creationDate"] == "" {
				t.Errorf("%s %s: %+v; want %s %s", r.Status, r.Message, got, tt.want, ids[tt.want])
			}
		})
	}
}

// fakeEC2 is an EC2 that gives one answer to each request, the n-th by its token, and
// keeps what it was asked.
func fakeEC2(t *testing.T, status int, answers ...string) (toMoto, *[]url.Values) {
	t.Helper()
	var asked []url.Values
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			t.Error(err)
		}
		asked = append(asked, r.PostForm)
		n := 0
		if token := r.PostForm.Get("NextToken"); token != "" {
			n = int(token[0] - '0')
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answers[n])) // who asks sees
	}))
	t.Cleanup(s.Close)
	at, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	return toMoto{at}, &asked
}

func imageItem(id, name, made string) string {
	return "<item><imageId>" + id + "</imageId><name>" + name + "</name><creationDate>" + made + "</creationDate></item>"
}

// The newest is the one that was made last, among all pages; of those of one
// second that with the last id.
func TestTheNewestMachineImage(t *testing.T) {
	t.Parallel()
	page := func(token string, items ...string) string {
		return "<DescribeImagesResponse><imagesSet>" + strings.Join(items, "") + "</imagesSet>" + token + "</DescribeImagesResponse>"
	}
	over, asked := fakeEC2(t, http.StatusOK,
		page("<nextToken>1</nextToken>", imageItem("ami-1", "web-9", "2026-11-01T08:00:00.000Z"), imageItem("ami-3", "web-7", "2026-11-02T08:00:00.000Z")),
		page("", imageItem("ami-2", "web-8", "2026-11-02T08:00:00.000Z"), imageItem("ami-4", "db", "2026-11-03T08:00:00.000Z")))
	if r, got := ask(t, over, machineImages(lookup.Choice{Pattern: "web-.*"}, nil)); got.Version != "web-7" || got.Image != "ami-3" {
		t.Errorf("%s: %+v; want web-7", r.Message, got)
	}
	for _, form := range *asked {
		if form.Get("Owner.1") != "self" || form.Get("Filter.1.Name") != "state" || form.Get("Filter.1.Value.1") != "available" || form.Get("MaxResults") != "1000" {
			t.Errorf("asked %v; want the account's own that are available", form)
		}
	}
	if len(*asked) != 2 {
		t.Errorf("asked %d times; want two pages", len(*asked))
	}
	r, got := ask(t, over, machineImages(lookup.Choice{List: 3}, nil))
	var names []string
	for _, v := range got.Versions {
		names = append(names, v.Version+" "+v.Created.Format("0102"))
	}
	if strings.Join(names, ", ") != "db 1103, web-7 1102, web-8 1102" {
		t.Errorf("listed %s: %v", r.Message, names)
	}
}

func machineImages(c lookup.Choice, filters map[string]string) lookup.Artifact {
	return lookup.Artifact{Type: "AmazonMachineImage", Name: "AMI in the region", Choice: c, AMI: &lookup.MachineImages{AWS: keys(testaws.Region), Filters: filters}}
}

func TestMachineImagesThatNobodyMaySee(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]fault.FailureType{"UnauthorizedOperation": fault.Authorization, "AuthFailure": fault.Authentication} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			over, _ := fakeEC2(t, http.StatusForbidden, "<Response><Errors><Error><Code>"+code+"</Code><Message>no</Message></Error></Errors></Response>")
			r, _ := ask(t, over, machineImages(lookup.Choice{Version: "web"}, nil))
			if r.Status != task.Failed || len(r.FailureTypes) != 1 || r.FailureTypes[0] != want {
				t.Errorf("%s: %s %v; want %s", r.Status, r.Message, r.FailureTypes, want)
			}
		})
	}
}
