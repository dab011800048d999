package entity

import (
	"slices"
	"strings"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Trigger is what starts a pipeline by itself (semantics/pipeline §11.1). It is
// unique within its pipeline, which is the entity's Parent.
type Trigger struct {
	Enabled  yamldoc.Field[bool]
	Pipeline yamldoc.Field[string]
	// Inputs is inputYaml read: the pipeline's document as far as it has
	// inputs. nil: there are none.
	Inputs *yamldoc.Node
	// InputSets are identifiers of input sets and overlays of the pipeline;
	// Inputs wins over them. Each may be an expression. InputSetList is an
	// expression for all of them.
	InputSets    []yamldoc.Field[string]
	InputSetList yamldoc.Field[string]
	Stages       yamldoc.Field[[]string] // stagesToExecute: the only ones; none: all
	Secret       yamldoc.Field[string]   // encryptedWebhookSecretIdentifier
	Type         yamldoc.Field[string]   // Webhook, Scheduled or Artifact
	// Of the last three, Type says which is meant.
	Webhook  Webhook
	Cron     Cron
	Artifact ArtifactTrigger
}

// Active says whether the trigger starts anything. One that doesn't say is.
func (t *Trigger) Active() bool { return t.Enabled.Or(true) }

// Webhook says which deliveries start the pipeline (semantics/pipeline §11.2).
// All of its conditions must hold.
type Webhook struct {
	Host        yamldoc.Field[string] // Github, Gitlab, Bitbucket or Custom
	Event       yamldoc.Field[string] // PullRequest, Push, ...; none of Custom
	Connector   yamldoc.Field[string]
	Repository  yamldoc.Field[string] // below the URL of a connector to an account
	Actions     []yamldoc.Field[string]
	Payload     []Condition
	Headers     []Condition
	JEXL        yamldoc.Field[string] // an expression as a whole
	AbortOthers yamldoc.Field[bool]   // autoAbortPreviousExecutions
}

// Condition compares a part of a delivery with a text.
type Condition struct {
	Key      string // a word such as sourceBranch, or an expression such as <+trigger.payload.ref>
	Operator string
	Value    string
	At       yamldoc.Pos
}

// The operators of a Condition (semantics/pipeline §11.2).
const (
	Equals         = "Equals"
	NotEquals      = "NotEquals"
	In             = "In"
	NotIn          = "NotIn"
	StartsWith     = "StartsWith"
	EndsWith       = "EndsWith"
	Contains       = "Contains"
	DoesNotContain = "DoesNotContain"
	Regex          = "Regex"
)

// The keys of a Condition that are words. All others are expressions.
const (
	SourceBranch = "sourceBranch"
	TargetBranch = "targetBranch"
	ChangedFiles = "changedFiles"
)

func operators() []string {
	return []string{Equals, NotEquals, In, NotIn, StartsWith, EndsWith, Contains, DoesNotContain, Regex}
}

// TriggerSource is a reference of every trigger to the source that it listens
// to, in the account. So who listens is found as who refers to something is.
const TriggerSource ref.Kind = "triggerSource"

// ScheduledSource is the TriggerSource of those that a clock starts; that of
// a webhook is its host, e.g. Github.
const ScheduledSource = "Scheduled"

// hostEvents are a Git host's events, with their actions.
func hostEvents(host string) map[string][]string {
	switch host {
	case "Github":
		return map[string][]string{
			"PullRequest": {"Close", "Edit", "Open", "Reopen", "Label", "Unlabel", "Synchronize", "ReadyForReview"},
			"Push":        nil, "Create": nil, "Delete": nil, "MergeQueue": nil,
			"IssueComment":      {"Create", "Edit", "Delete"},
			"Release":           {"Create", "Edit", "Delete", "Prerelease", "Publish", "Release", "Unpublish"},
			"PullRequestReview": {"Submitted", "Edited", "Dismissed"},
		}
	case "Gitlab":
		return map[string][]string{
			"MergeRequest": {"Open", "Close", "Reopen", "Merge", "Update", "Sync"},
			"MRComment":    {"Create"},
			"Push":         nil, "Tag": nil, "PipelineHook": nil,
		}
	case "Bitbucket":
		return map[string][]string{
			"PullRequest": {"Create", "Update", "Merge", "Decline"},
			"PRComment":   {"Create", "Edit", "Delete"},
			"Push":        nil,
		}
	}
	return nil
}

func (d triggers) trigger(v yamldoc.Value, e *Entity) *Trigger {
	t := &Trigger{}
	d.Fields(v, document.Merge(d.meta(e), document.Keys{
		"enabled":                          d.Flag(&t.Enabled),
		"pipelineIdentifier":               func(v yamldoc.Value) { t.Pipeline = inputSets(d).ofPipeline(v, e) },
		"inputYaml":                        func(v yamldoc.Value) { t.Inputs = d.inputYAML(v) },
		"encryptedWebhookSecretIdentifier": d.Reference(ref.Secret, &t.Secret),
		"source":                           func(v yamldoc.Value) { d.source(v, t) },
		"inputSetRefs":                     func(v yamldoc.Value) { d.triggerSets(v, t) },
		"stagesToExecute": func(v yamldoc.Value) {
			t.Stages = d.Strings(v)
			d.Fixed(v, t.Stages.Expr)
		},
		"pipelineBranchName": d.branch(),
		"inputSetBranchName": d.branch(),
		"eventConditions":    d.Never("conditions stand in source.spec.spec: payloadConditions, headerConditions and jexlCondition of a webhook, eventConditions of an artifact"),
	}))
	d.Need(v, "identifier", "pipelineIdentifier", "source")
	inputSets(d).inProject(v, "a trigger")
	d.proven(v, t)
	if t.Artifact.Watched() && t.Active() {
		d.listens(v, WatchedSource)
	}
	return t
}

// triggerSets reads the identifiers of input sets. They aren't references that
// keep a set from being deleted: they may name either kind of set.
func (d triggers) triggerSets(v yamldoc.Value, t *Trigger) {
	if v.Is(yamldoc.Scalar) {
		if t.InputSetList = d.Body(v); strings.TrimSpace(t.InputSetList.Expr) != "" && !strings.Contains(t.InputSetList.Expr, "<+") {
			d.Errorf(v, document.WrongType, "found a text; want a list of input sets, or an expression for one")
		}
		return
	}
	for item := range d.Items(v) {
		f := d.String(item)
		if f.Expr == "" {
			if err := ref.CheckID(ref.InputSet, f.Value); err != nil {
				d.Errorf(item, document.BadReference, "%s", err)
			}
		}
		t.InputSets = append(t.InputSets, f)
	}
}

// inputYAML reads a text that is YAML itself. Places in it aren't places of
// the document, so findings stand at the text.
func (d triggers) inputYAML(v yamldoc.Value) *yamldoc.Node {
	d.Takes(v, yamldoc.UseString)
	if v.Null() || v.Is(yamldoc.Scalar) && strings.TrimSpace(v.Node.Value) == "" {
		return nil
	}
	if !v.Is(yamldoc.Scalar) {
		d.Errorf(v, document.WrongType, "found a mapping or a list; want a text that is YAML, such as |")
		return nil
	}
	docs, report := yamldoc.Parse("", []byte(withoutMarks(v.Node.Value)))
	for _, f := range report.Findings() {
		d.Errorf(v, document.WrongValue, "in line %d of the text: %s", f.Line, f.Message)
	}
	switch {
	case report.Failed() || len(docs) == 0:
		return nil
	case len(docs) > 1 || docs[0].Get("pipeline") == nil:
		d.Errorf(v, document.WrongValue, "want one document with the root key pipeline")
		return nil
	}
	return docs[0].Get("pipeline")
}

// InputYAML is what a trigger's document, given below its root key, gives its
// pipeline; nil for nothing, or what can't be read.
func InputYAML(trigger *yamldoc.Node) *yamldoc.Node {
	d := &decoder{Decoder: document.New(yamldoc.NewReport(""))}
	return triggers{d}.inputYAML(yamldoc.Sub(trigger.Get("inputYaml"), "inputYaml"))
}

// withoutMarks takes off what stands for ends of lines at the end of a text, as
// a heredoc writes them that isn't quoted in YAML.
func withoutMarks(text string) string {
	for {
		short, found := strings.CutSuffix(strings.TrimRight(text, " \t\r\n"), `\n`)
		if !found {
			return text
		}
		text = short
	}
}

func (d triggers) source(v yamldoc.Value, t *Trigger) {
	typ := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": func(v yamldoc.Value) { d.sourceType(v, typ, t) },
		"spec": func(v yamldoc.Value) {
			switch typ {
			case "Webhook":
				d.webhook(v, &t.Webhook)
			case "Scheduled":
				d.scheduled(v, &t.Cron)
			case "Artifact":
				d.artifactTrigger(v, &t.Artifact)
			}
		},
		"pollInterval": func(v yamldoc.Value) { d.polled(v, typ, t) },
		"webhookId":    document.Nothing, // Harness's name of what it registered
	})
	d.Need(v, "type", "spec")
}

func (d triggers) sourceType(v yamldoc.Value, typ string, t *Trigger) {
	switch typ {
	case "Manifest", "MultiRegionArtifact":
		d.Unsupported(v, "trigger type %s isn't supported: nothing asks registries for new versions; let the registry's own event call a webhook of type Custom, see docs/triggers.md", typ)
	default:
		d.Supported(&t.Type, "trigger type", []string{"Webhook", "Scheduled", "Artifact"}, "SystemEvent")(v)
	}
}

// polled refuses to ask a Git host for events; 0 means that it isn't asked.
// For artifacts a delegate asks.
func (d triggers) polled(v yamldoc.Value, typ string, t *Trigger) {
	if typ == "Artifact" {
		d.every(v, &t.Artifact)
		return
	}
	if !document.Neutral(v.Node) && (!v.Is(yamldoc.Scalar) || strings.Trim(v.Node.Value, "0") != "") {
		d.Unsupported(v, "asking a Git host for events (pollInterval) instead of a webhook isn't supported yet")
	}
}

func (d triggers) webhook(v yamldoc.Value, w *Webhook) {
	host := document.Peek(v, "type")
	d.Fields(v, document.Keys{
		"type": d.Supported(&w.Host, "the webhook's type", []string{"Custom", "Github", "Gitlab", "Bitbucket"},
			"AzureRepo", "AwsCodeCommit", "Harness", "HarnessArtifactRegistry", "EventRelay"),
		"spec": func(v yamldoc.Value) {
			if hostEvents(host) != nil {
				d.hostWebhook(v, host, w)
				return
			}
			d.Fields(v, d.conditions(w, false))
		},
	})
	d.Need(v, "type", "spec")
	d.listens(v, w.Host.Value)
}

// listens adds the reference to a source.
func (d triggers) listens(v yamldoc.Value, source string) {
	if source != "" {
		d.references = append(d.references, Reference{
			Kind: TriggerSource, Ref: ref.Ref{Scope: ref.Scope{Account: d.Scope.Account}, ID: source}, Text: source, At: v.Pos(d.Report),
		})
	}
}

// hostWebhook decodes the event of a Git host.
func (d triggers) hostWebhook(v yamldoc.Value, host string, w *Webhook) {
	events, event := hostEvents(host), document.Peek(v, "type")
	var names []string
	for name := range events {
		names = append(names, name)
	}
	slices.Sort(names)
	d.Fields(v, document.Keys{
		"type": d.Literal(&w.Event, names...),
		"spec": func(v yamldoc.Value) {
			d.Fields(v, document.Merge(d.conditions(w, event == "Push" && host != "Bitbucket"), document.Keys{
				"connectorRef":                d.chosen(ref.Connector, &w.Connector),
				"repoName":                    d.Text(&w.Repository),
				"actions":                     func(v yamldoc.Value) { d.actions(v, event, events[event], w) },
				"autoAbortPreviousExecutions": d.Flag(&w.AbortOthers),
			}))
			d.Need(v, "connectorRef")
		},
	})
	d.Need(v, "type", "spec")
}

func (d triggers) actions(v yamldoc.Value, event string, known []string, w *Webhook) {
	for item := range d.Items(v) {
		var f yamldoc.Field[string]
		if len(known) > 0 {
			d.Literal(&f, known...)(item)
		} else {
			d.Forbid(document.WrongValue, event+" has no actions")(item)
		}
		w.Actions = append(w.Actions, f)
	}
}

// conditions are the keys that every webhook has. files says whether its
// deliveries list the files that changed.
func (d triggers) conditions(w *Webhook, files bool) document.Keys {
	return document.Keys{
		"payloadConditions": func(v yamldoc.Value) {
			w.Payload = d.conditionList(v, func(v yamldoc.Value, key string) { d.payloadKey(v, key, files) })
		},
		"headerConditions": func(v yamldoc.Value) { w.Headers = d.conditionList(v, func(yamldoc.Value, string) {}) },
		"jexlCondition":    d.Condition(&w.JEXL),
	}
}

// payloadKey checks what a payload condition compares.
func (d triggers) payloadKey(v yamldoc.Value, key string, files bool) {
	words := []string{SourceBranch, TargetBranch, ChangedFiles}
	switch {
	case key == "" || strings.Contains(key, "<+"):
	case !slices.Contains(words, key):
		d.Errorf(v, document.WrongValue, "found the key %q; want an expression such as <+trigger.payload.a.b>, or one of %s%s",
			key, strings.Join(words, ", "), d.Hint(key, words))
	case key == ChangedFiles && !files:
		d.Unsupported(v, "changedFiles needs a Push of Github or Gitlab: other deliveries don't list the files that changed")
	}
}

// conditionList decodes conditions; check sees the key of each.
func (d triggers) conditionList(v yamldoc.Value, check func(v yamldoc.Value, key string)) []Condition {
	var out []Condition
	for item := range d.Items(v) {
		var key, operator, value yamldoc.Field[string]
		d.Fields(item, document.Keys{
			"key":      func(v yamldoc.Value) { d.Text(&key)(v); check(v, key.Value+key.Expr) },
			"operator": d.Literal(&operator, operators()...),
			"value":    d.Text(&value),
		})
		d.Need(item, "key", "operator", "value")
		if operator.Value == Regex && value.Value != "" {
			d.pattern(document.Child(item, "value"), value.Value)
		}
		out = append(out, Condition{
			Key: key.Value + key.Expr, Operator: operator.Value, Value: value.Value + value.Expr, At: item.Pos(d.Report),
		})
	}
	return out
}

// proven warns of a webhook whose deliveries can't prove where they are from.
func (d triggers) proven(v yamldoc.Value, t *Trigger) {
	if host := t.Webhook.Host.Value; hostEvents(host) != nil && !t.Secret.Set {
		d.Warnf(v, document.UnsupportedAtRun, "without encryptedWebhookSecretIdentifier no delivery of %s can be told from a forged one; all are refused", host)
	}
}
