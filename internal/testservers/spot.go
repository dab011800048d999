package testservers

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
)

// SpotHost is where Spot's API is.
const SpotHost = "api.spotinst.io"

// The account that a Spot has, and the token that it takes.
const (
	SpotAccount = "act-1a2b3c4d"
	SpotToken   = "spot-t0ken"
)

// Spot is Spot, with the Elastigroups of an account of AWS. At each look at its
// status a group that has too few machines gets one; too many go at once. A machine
// that starts from an image whose name begins with ami-crash is never healthy, and
// one of ami-noroom is never there. A name is no group's own.
//
// Source: Spot's OpenAPI description (github.com/spotinst/openapi at 553e5ff:
// api/services/elastigroup/aws, the paths groups, group, status and
// instanceHealthiness with their schemas), and "Spot API Administration"
// (docs.spot.io/administration/api) for its limits. Taken for so, because it
// isn't said: that an update leaves members that it doesn't name, as the
// vendor's Terraform provider relies on, the status and the code of refusals,
// and when machines come.
type Spot struct {
	base
	groups   []*spotGroup
	requests []SpotCall
	hasty    int // how many requests come too soon from now on
	number   int
	held     bool // no machine comes
}

// SpotCall is a request that Spot has answered well.
type SpotCall struct {
	Method string
	Group  string // its id; empty: all
	Body   map[string]any
}

type spotGroup struct {
	id       string
	doc      object
	machines []string
}

// NewSpot starts a Spot.
func NewSpot(tb testing.TB) *Spot {
	tb.Helper()
	s := &Spot{}
	mux := http.NewServeMux()
	const groups = "/aws/ec2/group"
	mux.HandleFunc("GET "+groups, s.list)
	mux.HandleFunc("POST "+groups, s.create)
	mux.HandleFunc("GET "+groups+"/{id}/status", s.with(s.status))
	mux.HandleFunc("GET "+groups+"/{id}/instanceHealthiness", s.with(s.healthiness))
	mux.HandleFunc("PUT "+groups+"/{id}", s.with(s.update))
	mux.HandleFunc("DELETE "+groups+"/{id}", s.with(s.remove))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		spotRefuses(w, http.StatusNotFound, "", "no such path: "+r.Method+" "+r.URL.Path)
	})
	s.start(tb, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch query := r.URL.Query(); {
		case r.Header.Get("Authorization") != "Bearer "+SpotToken:
			spotRefuses(w, http.StatusUnauthorized, "", "Invalid authentication token")
		case s.hasty > 0:
			s.hasty--
			w.Header().Set("X-RateLimit-Reset", "0")
			answer(w, http.StatusTooManyRequests, object{"request": object{}, "response": object{"status": object{"code": 429, "message": "Too Many Requests"}, "data": "Rate limit exceeded"}})
		case query.Get("accountId") != SpotAccount || len(query) != 1:
			spotRefuses(w, http.StatusForbidden, "", "The token has no access to the account")
		default:
			mux.ServeHTTP(w, r)
		}
	}))
	return s
}

// TooSoon has the next n requests come too soon.
func (s *Spot) TooSoon(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasty = n
}

// Hold has no machine come from now on, or has them come again.
func (s *Spot) Hold(held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = held
}

// Calls are the requests so far that were answered well.
func (s *Spot) Calls() []SpotCall {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Changes are those of the requests that changed something, from the n-th call on,
// e.g. "PUT sig-1".
func (s *Spot) Changes(n int) []string {
	var out []string
	for _, c := range s.Calls()[n:] {
		if c.Method != http.MethodGet {
			out = append(out, strings.TrimSpace(c.Method+" "+c.Group))
		}
	}
	return out
}

// Groups are all of them, as people write them: their names, sizes and images, and
// how many machines they have.
func (s *Spot) Groups() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []string{}
	for _, g := range s.groups {
		c := g.at("capacity")
		out = append(out, fmt.Sprintf("%v: %v to %v, %v desired of %v, %d there", g.doc["name"], c["minimum"], c["maximum"], c["target"], g.image(), len(g.machines)))
	}
	return out
}

// Group is what a group of a name is now; nil: there is none.
func (s *Spot) Group(name string) map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		if g.doc["name"] == name {
			return maps.Clone(g.doc)
		}
	}
	return nil
}

// Change changes a group as somebody else does.
func (s *Spot) Change(name string, members map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, g := range s.groups {
		if g.doc["name"] == name {
			merge(g.doc, members)
		}
	}
}

// at is a member of a group that is an object.
func (g *spotGroup) at(names ...string) object {
	at := g.doc
	for _, name := range names {
		at, _ = at[name].(object)
	}
	return at
}

func (g *spotGroup) image() string {
	image, _ := g.at("compute", "launchSpecification")["imageId"].(string)
	return image
}

func spotRefuses(w http.ResponseWriter, status int, field, message string) {
	answer(w, status, object{"request": object{}, "response": object{
		"status": object{"code": status, "message": http.StatusText(status)},
		"errors": []object{{"code": http.StatusText(status), "message": message, "field": field}},
	}})
}

// gives answers with items.
func (s *Spot) gives(w http.ResponseWriter, r *http.Request, body object, items ...any) {
	s.requests = append(s.requests, SpotCall{Method: r.Method, Group: r.PathValue("id"), Body: body})
	answer(w, http.StatusOK, object{"request": object{"method": r.Method}, "response": object{
		"status": object{"code": 200, "message": "OK"}, "kind": "spotinst:aws:ec2:group", "items": items, "count": len(items),
	}})
}

func (s *Spot) with(serve func(w http.ResponseWriter, r *http.Request, g *spotGroup)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		i := slices.IndexFunc(s.groups, func(g *spotGroup) bool { return g.id == r.PathValue("id") })
		if i < 0 {
			spotRefuses(w, http.StatusNotFound, "groupId", "group "+r.PathValue("id")+" doesn't exist")
			return
		}
		serve(w, r, s.groups[i])
	}
}

func (s *Spot) list(w http.ResponseWriter, r *http.Request) {
	items := []any{}
	for _, g := range s.groups {
		items = append(items, g.doc)
	}
	s.gives(w, r, nil, items...)
}

// body reads a request with a group.
func (s *Spot) body(w http.ResponseWriter, r *http.Request) (object, bool) {
	var doc object
	if r.Header.Get("Content-Type") != "application/json" || json.NewDecoder(r.Body).Decode(&doc) != nil {
		spotRefuses(w, http.StatusBadRequest, "", "the body isn't JSON")
		return nil, false
	}
	g, ok := doc["group"].(object)
	if !ok || len(doc) != 1 {
		spotRefuses(w, http.StatusBadRequest, "group", "the body wants the member group alone")
		return nil, false
	}
	return g, true
}

func (s *Spot) create(w http.ResponseWriter, r *http.Request) {
	doc, ok := s.body(w, r)
	if !ok {
		return
	}
	field, message := wrongGroup(doc, "name", "capacity", "strategy", "compute")
	if message == "" {
		c, _ := doc["capacity"].(object)
		field, message = "capacity", missing(c, "target", "minimum", "maximum", "unit")
	}
	if message == "" {
		strategy, _ := doc["strategy"].(object)
		field, message = "strategy", missing(strategy, "availabilityVsCost")
	}
	if message == "" {
		field, message = wrongMembers(doc)
	}
	if message != "" {
		spotRefuses(w, http.StatusBadRequest, field, message)
		return
	}
	s.number++
	g := &spotGroup{id: fmt.Sprintf("sig-%d", s.number), doc: doc}
	doc["id"], doc["createdAt"] = g.id, "2026-01-02T03:04:05.000Z"
	s.groups = append(s.groups, g)
	s.gives(w, r, object{"group": maps.Clone(doc)}, doc)
}

func (s *Spot) update(w http.ResponseWriter, r *http.Request, g *spotGroup) {
	changes, ok := s.body(w, r)
	if !ok {
		return
	}
	if c, ok := changes["capacity"].(object); ok && c["unit"] != nil {
		spotRefuses(w, http.StatusBadRequest, "capacity.unit", "is read only")
		return
	}
	field, message := wrongGroup(changes, "name")
	next := maps.Clone(g.doc)
	if merge(next, changes); message == "" {
		field, message = wrongMembers(next)
	}
	if message != "" {
		spotRefuses(w, http.StatusBadRequest, field, message)
		return
	}
	g.doc = next
	if target, _ := g.at("capacity")["target"].(float64); len(g.machines) > int(target) {
		g.machines = g.machines[:int(target)]
	}
	s.gives(w, r, object{"group": changes}, g.doc)
}

func (s *Spot) remove(w http.ResponseWriter, r *http.Request, g *spotGroup) {
	var doc object
	if json.NewDecoder(r.Body).Decode(&doc) != nil || len(doc) > 0 {
		spotRefuses(w, http.StatusBadRequest, "", "the body wants an object; nothing of it is known here")
		return
	}
	s.groups = slices.DeleteFunc(s.groups, func(o *spotGroup) bool { return o == g })
	s.gives(w, r, nil)
}

// status gives the machines of a group.
func (s *Spot) status(w http.ResponseWriter, r *http.Request, g *spotGroup) {
	target, _ := g.at("capacity")["target"].(float64)
	if len(g.machines) < int(target) && !s.held && !strings.HasPrefix(g.image(), "ami-noroom") {
		s.number++
		g.machines = append(g.machines, fmt.Sprintf("i-%d", s.number))
	}
	items := []any{}
	for _, id := range g.machines {
		items = append(items, object{
			"instanceId": id, "spotInstanceRequestId": "sir-" + id, "instanceType": "t3.micro", "product": "Linux/UNIX", "groupId": g.id,
			"availabilityZone": "eu-central-1a", "privateIp": "10.0.0.7", "createdAt": "2026-01-02T03:04:05.000Z", "publicIp": nil, "status": "fulfilled",
		})
	}
	if len(g.machines) < int(target) { // one that is asked for
		items = append(items, object{"instanceId": nil, "spotInstanceRequestId": "sir-open", "groupId": g.id, "status": "pending-evaluation"})
	}
	s.gives(w, r, nil, items...)
}

func (s *Spot) healthiness(w http.ResponseWriter, r *http.Request, g *spotGroup) {
	items := []any{}
	for _, id := range g.machines {
		health := "HEALTHY"
		if strings.HasPrefix(g.image(), "ami-crash") {
			health = "UNHEALTHY"
		}
		items = append(items, object{"instanceId": id, "spotRequestId": "sir-" + id, "groupId": g.id, "availabilityZone": "eu-central-1a", "lifeCycle": "SPOT", "healthStatus": health})
	}
	s.gives(w, r, nil, items...)
}

// merge puts members into an object: objects are merged, all else is replaced.
func merge(into, from object) {
	for k, v := range from {
		old, isObject := into[k].(object)
		if next, ok := v.(object); ok && isObject {
			old = maps.Clone(old)
			merge(old, next)
			v = old
		}
		into[k] = v
	}
}

func missing(doc object, names ...string) string {
	for _, name := range names {
		if doc[name] == nil {
			return name + " is required"
		}
	}
	return ""
}

// wrongGroup says what is wrong with a group: its members, by what is documented of
// them, and the sizes.
func wrongGroup(g object, required ...string) (field, message string) {
	if message := missing(g, required...); message != "" {
		return "group", message
	}
	for at, known := range map[string]string{
		"":         "name description region capacity strategy compute scaling scheduling thirdPartiesIntegration logging",
		"capacity": "target minimum maximum unit",
		"strategy": `risk onDemandCount availabilityVsCost fallbackToOd considerODPricing utilizeReservedInstances utilizeCommitments restrictSingleAz
drainingTimeout maxReplacementsPercentage signals scalingStrategy persistence revertToSpot immediateODRecoverThreshold minimumInstanceLifetime
optimizationWindows statefulDeallocation`,
		"compute": "instanceTypes availabilityZones product launchSpecification subnetIds ebsVolumePool elasticIps privateIps preferredAvailabilityZones volumeAttachments",
		"compute.launchSpecification": `loadBalancersConfig loadBalancerNames healthCheckType healthCheckGracePeriod
healthCheckUnhealthyDurationBeforeReplacement securityGroupIds monitoring ebsOptimized imageId images keyPair tenancy userData shutdownScript tags
iamRole blockDeviceMappings networkInterfaces metadataOptions creditSpecification cpuOptions resourceTagSpecification itf autoHealing
resourceRequirements`,
		"compute.launchSpecification.loadBalancersConfig": "loadBalancers",
	} {
		doc := g
		for _, name := range strings.FieldsFunc(at, func(r rune) bool { return r == '.' }) {
			next, ok := doc[name].(object)
			if !ok && doc[name] != nil {
				return at, "wants an object"
			}
			doc = next
		}
		for name := range doc {
			if !slices.Contains(strings.Fields(known), name) {
				return strings.TrimPrefix(at+"."+name, "."), "is not a known member"
			}
		}
	}
	return "", ""
}

// wrongMembers says what is wrong with the values of some members.
func wrongMembers(g object) (field, message string) {
	if c, ok := g["capacity"].(object); ok {
		least, a := c["minimum"].(float64)
		most, b := c["maximum"].(float64)
		target, t := c["target"].(float64)
		if !a || !b || !t || least > target || target > most || least < 0 || c["unit"] != "instance" && c["unit"] != "weight" {
			return "capacity", fmt.Sprintf("wants minimum <= target <= maximum, and a unit; found %v", c)
		}
	}
	compute, _ := g["compute"].(object)
	launch, _ := compute["launchSpecification"].(object)
	if text, there := launch["userData"]; there {
		data, ok := text.(string)
		if _, err := base64.StdEncoding.DecodeString(data); !ok || err != nil {
			return "compute.launchSpecification.userData", "isn't in base64"
		}
	}
	if launch["imageId"] != nil && launch["images"] != nil {
		return "compute.launchSpecification.images", "stands beside imageId"
	}
	return "", ""
}
