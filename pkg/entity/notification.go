package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/expr"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// NotificationRule says who is told of what in a pipeline's executions
// (semantics/pipeline §10).
type NotificationRule struct {
	ID      yamldoc.Field[string] // empty: the rule is known by its name
	Name    yamldoc.Field[string]
	Enabled yamldoc.Field[bool]
	Events  []NotificationEvent
	Method  NotificationMethod
}

// Active says whether the rule sends anything. One that doesn't say does.
func (r *NotificationRule) Active() bool { return r.Enabled.Or(true) }

// NotificationEvent is an event that a rule tells of.
type NotificationEvent struct {
	Type   string   // one of notificationEvents
	Stages []string // of which stages, by identifier; none: of all
	Steps  []string // likewise of which steps
}

// NotificationMethod is the channel of a rule and its address. Texts may hold
// expressions, and so may what they name secrets with; they are resolved when
// a message is sent.
type NotificationMethod struct {
	Type       yamldoc.Field[string] // one of the channels
	URL        string                // webhookUrl of Slack and Webhook, url of Datadog
	Key        string                // integrationKey of PagerDuty, apiKey of Datadog
	Teams      []string              // msTeamKeys of MsTeams: webhook URLs
	Recipients []string              // of Email
	Headers    map[string]string     // of Webhook and Datadog
	Body       NotificationBody      // of Webhook: what is sent instead of Slipway's own document
	// Groups are told too, in their own ways of the channel: references to user
	// groups, which may be expressions. Not of Webhook and Datadog.
	Groups []string
}

// NotificationBody is what a template of a notification has to say.
type NotificationBody struct {
	Type    yamldoc.Field[string] // one of the types of bodies
	Content string                // may hold expressions, and <+notification...> too
}

// The types of a NotificationBody.
const (
	BodyJSON = "JSON"
	BodyYAML = "YAML"
	bodyText = "STRING"
	BodyHTML = "HTML"
)

// The channels of a NotificationMethod.
const (
	ChannelEmail     = "Email"
	ChannelSlack     = "Slack"
	ChannelMSTeams   = "MsTeams"
	ChannelPagerDuty = "PagerDuty"
	ChannelWebhook   = "Webhook"
	ChannelDatadog   = "Datadog"
)

// AllEvents as an event's type stands for each of them.
const AllEvents = "AllEvents"

// allStages among an event's stages is the same as naming none.
const allStages = "AllStages"

// notificationEvents are the types of event that a rule may name.
func notificationEvents() []string {
	return []string{
		AllEvents, "PipelineStart", "PipelineSuccess", "PipelineFailed", "PipelineEnd", "PipelinePaused", "PipelineResumed",
		"StageStart", "StageSuccess", "StageFailed", "StepFailed", "WaitingForUserAction", "TriggerFailed",
	}
}

// NotificationRules decodes the rules of a pipeline's document that has been
// checked before, as a plan holds it.
func NotificationRules(pipeline *yamldoc.Node, scope ref.Scope, r *yamldoc.Report) []NotificationRule {
	rules := pipeline.Get("notificationRules")
	if rules == nil {
		return nil
	}
	d := &decoder{Decoder: document.New(r)}
	d.Scope, d.Refer = scope, d.refer
	var out []NotificationRule
	notifications{d}.notificationRules(&out)(yamldoc.Sub(rules, "notificationRules"))
	return out
}

func (d notifications) notificationRules(out *[]NotificationRule) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		ids := document.Seen{}
		for item := range d.Items(v) {
			if off(item) { // what it says can't matter
				continue
			}
			rule := d.notificationRule(item)
			d.Unique(ids, item, rule.Known())
			*out = append(*out, rule)
		}
	}
}

// Known is what the rule is told apart from the pipeline's others by.
func (r *NotificationRule) Known() string {
	if r.ID.Value != "" {
		return r.ID.Value
	}
	return r.Name.Value
}

// off says whether a rule is switched off.
func off(rule yamldoc.Value) bool {
	enabled := rule.Node.Get("enabled")
	return enabled != nil && enabled.Kind == yamldoc.Scalar && document.Neutral(enabled)
}

func (d notifications) notificationRule(v yamldoc.Value) NotificationRule {
	var r NotificationRule
	var description yamldoc.Field[string]
	var body NotificationBody
	var brought document.Keys // by a template
	if linked(v) {
		brought = document.Keys{"body": func(v yamldoc.Value) { d.notificationBody(v, &body, d.address) }}
	}
	d.Fields(v, document.Merge(brought, document.Keys{
		"identifier":         func(v yamldoc.Value) { r.ID = d.nodeID(v) },
		"name":               d.constant(d.Text(&r.Name)),
		"description":        d.Text(&description),
		"enabled":            d.constant(d.Flag(&r.Enabled)),
		"pipelineEvents":     func(v yamldoc.Value) { r.Events = d.notificationEvents(v) },
		"notificationMethod": func(v yamldoc.Value) { d.notificationMethod(v, &r.Method) },
		"template":           d.link,
	}))
	d.Need(v, "pipelineEvents", "notificationMethod")
	r.Method.Body = body
	if typ := r.Method.Type; linked(v) && typ.Set && typ.Value != ChannelWebhook {
		d.Unsupported(document.Child(v, "template"), "templates of notifications are for the channel %s alone, as Harness documents them; found %s", ChannelWebhook, typ.Value)
	}
	if v.Is(yamldoc.Mapping) && r.Known() == "" {
		d.Missing(v, "identifier")
	}
	return r
}

// notificationBody decodes what a template says. How the content is bound
// depends on whether its inputs are filled in.
func (d notifications) notificationBody(v yamldoc.Value, b *NotificationBody, content func(*string) func(yamldoc.Value)) {
	d.Fields(v, document.Keys{
		"type":    d.Literal(&b.Type, BodyJSON, BodyYAML, bodyText, BodyHTML),
		"content": content(&b.Content),
	})
	d.Need(v, "type", "content")
}

// constant decodes a key and reports an expression: the value must be known
// before anything runs.
func (d notifications) constant(decode func(yamldoc.Value)) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		decode(v)
		written := ""
		if v.Is(yamldoc.Scalar) && strings.Contains(v.Node.Value, "<+") {
			written = v.Node.Value
		}
		d.Plain(v, written, "a fixed value")
	}
}

func (d notifications) notificationEvents(v yamldoc.Value) []NotificationEvent {
	var out []NotificationEvent
	for item := range d.Items(v) {
		var typ, description yamldoc.Field[string]
		var e NotificationEvent
		d.Fields(item, document.Keys{
			"type":        d.Literal(&typ, notificationEvents()...),
			"forStages":   func(v yamldoc.Value) { e.Stages = d.among(v) },
			"forSteps":    func(v yamldoc.Value) { e.Steps = d.among(v) },
			"description": d.Text(&description),
		})
		d.Need(item, "type")
		e.Type = typ.Value
		out = append(out, e)
	}
	d.Empty(v, "found no events: the rule tells of nothing; want one, such as %s", AllEvents)
	return out
}

// among decodes a list of identifiers to which an event is limited; none if it
// isn't.
func (d notifications) among(v yamldoc.Value) []string {
	list := d.addresses(v)
	for _, item := range list {
		if strings.Contains(item, "<+") {
			d.Errorf(v, document.WrongValue, "found an expression; want identifiers")
			return nil
		}
	}
	if slices.Contains(list, allStages) {
		return nil
	}
	return list
}

func (d notifications) notificationMethod(v yamldoc.Value, m *NotificationMethod) {
	typ := document.Peek(v, "type")
	var description yamldoc.Field[string]
	d.Fields(v, document.Keys{
		"type":        d.Literal(&m.Type, ChannelEmail, ChannelSlack, ChannelMSTeams, ChannelPagerDuty, ChannelWebhook, ChannelDatadog),
		"spec":        func(v yamldoc.Value) { d.channel(v, typ, m) },
		"description": d.Text(&description),
	})
	d.Need(v, "type", "spec")
}

// channel decodes the address of a channel. What its keys have in common is
// that somebody is reached by at least one of them.
func (d notifications) channel(v yamldoc.Value, typ string, m *NotificationMethod) {
	var own document.Keys
	var needed string
	switch typ {
	case ChannelEmail:
		own, needed = document.Keys{"recipients": func(v yamldoc.Value) { m.Recipients = d.addresses(v) }}, "recipients"
	case ChannelSlack:
		own, needed = document.Keys{"webhookUrl": d.address(&m.URL)}, "webhookUrl"
	case ChannelMSTeams:
		own, needed = document.Keys{"msTeamKeys": func(v yamldoc.Value) { m.Teams = d.addresses(v) }}, "msTeamKeys"
	case ChannelPagerDuty:
		own, needed = document.Keys{"integrationKey": d.address(&m.Key)}, "integrationKey"
	case ChannelWebhook:
		own, needed = document.Keys{"webhookUrl": d.address(&m.URL), "headers": d.headers(&m.Headers)}, "webhookUrl"
	case ChannelDatadog:
		own, needed = document.Keys{"url": d.address(&m.URL), "apiKey": d.address(&m.Key), "headers": d.headers(&m.Headers)}, "url"
		d.Need(v, "apiKey")
	default:
		return // the type is reported
	}
	var description yamldoc.Field[string]
	groups := d.Refuse("a user group has no such address and can't be told by " + typ + "; that isn't supported")
	if typ != ChannelWebhook && typ != ChannelDatadog {
		groups = func(v yamldoc.Value) { m.Groups = d.groups(v) }
	}
	d.Fields(v, document.Merge(own, document.Keys{"userGroups": groups, "description": d.Text(&description)}))
	if typ == ChannelWebhook || typ == ChannelDatadog {
		d.Need(v, needed)
	}
	switch n := v.Node.Get(needed); {
	case len(m.Groups) > 0 || !v.Is(yamldoc.Mapping):
	case n != nil && n.Kind != yamldoc.Null && document.Neutral(n):
		d.Errorf(document.Child(v, needed), document.MissingKey, "%s is empty; nobody would be told", needed)
	case (n == nil || n.Kind == yamldoc.Null) && typ != ChannelWebhook && typ != ChannelDatadog:
		d.Errorf(v, document.MissingKey, "nobody would be told; want %s or userGroups", needed)
	}
}

// groups decodes references to user groups, which are looked for when they are
// told something.
func (d notifications) groups(v yamldoc.Value) []string {
	var list []string
	for _, name := range d.addresses(v) {
		if strings.HasSuffix(name, "_all_users") {
			d.Warnf(v, document.NoEffect, "nobody is told by %s: there is no list of all users; name a group that was saved", name)
			continue
		}
		list = append(list, name)
		if _, err := ref.Parse(name, d.Scope); err != nil && !strings.Contains(name, "<+") {
			d.Errorf(v, document.BadReference, "user group %s", err)
		}
	}
	return list
}

// address binds a text that may hold expressions, but no runtime input
// (semantics/pipeline §10).
func (d notifications) address(out *string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		f := d.String(v)
		if expr.IsRuntimeInput(f.Expr) {
			d.Errorf(v, document.WrongValue, "found a runtime input; a notification takes fixed values and expressions")
		}
		*out = f.Value + f.Expr
	}
}

// open binds such a text of a template, whose inputs are filled in elsewhere.
func (d notifications) open(out *string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		f := d.String(v)
		*out = f.Value + f.Expr
	}
}

// addresses decodes a list of such texts.
func (d notifications) addresses(v yamldoc.Value) []string {
	var out []string
	for item := range d.Items(v) {
		var one string
		if d.address(&one)(item); one != "" {
			out = append(out, one)
		}
	}
	return out
}

// headers binds a mapping of such texts.
func (d notifications) headers(out *map[string]string) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		if d.Whole(v) {
			return
		}
		*out = map[string]string{}
		for e := range d.Mapping(v) {
			var one string
			d.address(&one)(e)
			(*out)[e.Key] = one
		}
	}
}
