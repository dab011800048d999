package entity

import (
	"time"

	"github.com/slipway-cd/slipway/pkg/document"
	"github.com/slipway-cd/slipway/pkg/extent"
	"github.com/slipway-cd/slipway/pkg/ref"
	"github.com/slipway-cd/slipway/pkg/yamldoc"
)

// Pipeline is a pipeline's document (semantics/pipeline §1.1).
type Pipeline struct {
	Doc                  *yamldoc.Node // all of it
	Linked               bool          // to a template that nobody has put in its place
	Identifier, Name     yamldoc.Field[string]
	Stages               StageList
	Variables            []Variable
	Timeout              yamldoc.Field[time.Duration]
	DelegateSelectors    yamldoc.Field[[]string]
	AllowStageExecutions yamldoc.Field[bool]
	FixedInputsOnRerun   yamldoc.Field[bool]
	Barriers             []Barrier
	NotificationRules    []NotificationRule // those that are switched on
}

// StageList is a list of stages, with the line that it begins in.
type StageList struct {
	Items []StageItem
	Line  int
	Open  bool // there will be others, or there may be: it is an insert, or an input stands for it
}

// StageItem is an item of a list of stages: a stage, stages that run at the
// same time, or stages that a template left to who uses it. These are like the
// list's own, and may be none.
type StageItem struct {
	Stage    *Stage
	Parallel StageList
	Insert   StageList
}

// Flat are the items of the list with those of its inserts in their place.
func (l StageList) Flat() []StageItem {
	var out []StageItem
	for _, item := range l.Items {
		if len(item.Insert.Items) > 0 {
			out = append(out, item.Insert.Flat()...)
		} else {
			out = append(out, item)
		}
	}
	return out
}

// All are the stages of the list, with those of its parallel blocks.
func (l StageList) All() []*Stage {
	var out []*Stage
	for _, item := range l.Flat() {
		if item.Stage != nil {
			out = append(out, item.Stage)
		}
		out = append(out, item.Parallel.All()...)
	}
	return out
}

func (d pipelines) pipeline(v yamldoc.Value, e *Entity) *Pipeline {
	p := &Pipeline{Doc: v.Node}
	d.Fields(v, document.Merge(d.meta(e), d.pipelineKeys(p), document.Keys{
		"template":          noted(&p.Linked, d.link),
		"notificationRules": notifications(d).notificationRules(&p.NotificationRules),
	}, d.codebase(v)))
	d.Need(v, "identifier", "name")
	if !linked(v) {
		d.Need(v, "stages")
	}
	p.Identifier, p.Name = e.Identifier, e.Name
	d.checkBarriers(p)
	deployments(d).checkPropagation(p.Stages, map[string]*Stage{})
	return p
}

// pipelineKeys are the keys that a template of a pipeline has too.
func (d pipelines) pipelineKeys(p *Pipeline) document.Keys {
	return document.Keys{
		"stages": func(v yamldoc.Value) {
			p.Stages = d.stages(v, document.Seen{})
			nodes, _ := stageNodes(p.Stages)
			d.bounded(v, extent.Nodes(extent.Add(1, nodes)))
		},
		"variables":            d.variables(&p.Variables),
		"timeout":              d.Time(&p.Timeout),
		"delegateSelectors":    d.Words(&p.DelegateSelectors),
		"allowStageExecutions": d.Flag(&p.AllowStageExecutions),
		"fixedInputsOnRerun":   d.Flag(&p.FixedInputsOnRerun),
		"flowControl":          d.flowControl(p),
	}
}

// codebase is the key of what CI stages build. Of a pipeline that has such a
// stage that stage is told of: the key goes with it.
func (d pipelines) codebase(v yamldoc.Value) document.Keys {
	if builds(v.Node.Get("stages")) {
		return document.Keys{"properties": func(yamldoc.Value) {}}
	}
	return document.Keys{"properties": d.Never("properties are of the codebase that CI stages build; fetch what a step needs in a ShellScript step")}
}

// stages decodes a list of stages; ids are the identifiers of the pipeline.
func (d pipelines) stages(v yamldoc.Value, ids document.Seen) StageList {
	out := StageList{Line: line(v), Open: v.Is(yamldoc.Scalar)}
	for item := range d.Items(v) {
		var one StageItem
		d.Named(item, "stageItem")
		d.Fields(item, document.Keys{
			"stage":    func(v yamldoc.Value) { one.Stage = d.stage(v, ids) },
			"parallel": func(v yamldoc.Value) { one.Parallel = d.parallelStages(v, ids) },
			"insert": func(v yamldoc.Value) {
				d.insert("stages", func(v yamldoc.Value) { one.Insert = d.stages(v, ids) })(v)
				one.Insert.Open = true
			},
		})
		d.OneOf(item, "stage", "parallel", "insert")
		out.Items = append(out.Items, one)
	}
	d.Filled(v, document.EmptyList, "found no stages; want one at least")
	return out
}

func (d pipelines) parallelStages(v yamldoc.Value, ids document.Seen) StageList {
	out := d.stages(v, ids)
	_, members := stageNodes(out)
	d.bounded(v, extent.Members(members))
	return out
}

// insert binds the place of a template where others put stages or steps. It
// may be left blank.
func (d *decoder) insert(content string, decode func(yamldoc.Value)) func(yamldoc.Value) {
	return func(v yamldoc.Value) {
		var id, name yamldoc.Field[string]
		d.Fields(v, document.Keys{
			"identifier": d.Text(&id),
			"name":       d.Text(&name),
			content: func(v yamldoc.Value) {
				if !d.Blank(v) {
					decode(v)
				}
			},
		})
	}
}

// line is where a value begins; 0 for one that isn't there.
func line(v yamldoc.Value) int {
	if v.Node == nil {
		return 0
	}
	return v.Node.Line
}

// nodeID decodes the identifier of a stage, a step or a step group.
func (d *decoder) nodeID(v yamldoc.Value) yamldoc.Field[string] {
	return d.Identifier(v, ref.CheckNodeID)
}
