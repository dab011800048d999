package sets

import (
	"maps"
	"slices"
	"time"

	"github.com/slipway-cd/slipway/delegate/gitops/generate"
	"github.com/slipway-cd/slipway/pkg/gitops/protocol"
)

// The conditions of sets and the reasons of those that are well, which are Argo CD's.
const (
	errorOccurred       = "ErrorOccurred"
	parametersGenerated = "ParametersGenerated"
	resourcesUpToDate   = "ResourcesUpToDate"
	upToDate            = "ApplicationSetUpToDate"

	generatedWell = "Successfully generated parameters for all Applications"
	allWell       = "All applications have been generated successfully"
)

// mostMessage bounds the text of a condition.
const mostMessage = 2048

func (r *record) failed(now time.Time, reason generate.Reason, message string) {
	if len(message) > mostMessage {
		message = message[:mostMessage] + "…"
	}
	r.set(now, errorOccurred, true, string(reason), message)
	if reason != generate.ApplicationsWrong {
		r.set(now, parametersGenerated, false, errorOccurred, message)
	} else {
		r.set(now, parametersGenerated, true, parametersGenerated, generatedWell)
	}
	r.set(now, resourcesUpToDate, false, string(reason), message)
}

func (r *record) succeeded(now time.Time) {
	r.set(now, errorOccurred, false, upToDate, generatedWell)
	r.set(now, parametersGenerated, true, parametersGenerated, generatedWell)
	r.set(now, resourcesUpToDate, true, upToDate, allWell)
}

// set puts a condition, which keeps its time as long as its status is the same.
func (r *record) set(now time.Time, kind string, is bool, reason, message string) {
	next := protocol.SetCondition{Type: kind, Status: "False", Reason: reason, Message: message, LastTransitionTime: now.UTC()}
	if is {
		next.Status = "True"
	}
	i := slices.IndexFunc(r.Conditions, func(c protocol.SetCondition) bool { return c.Type == kind })
	if i < 0 {
		r.Conditions = append(r.Conditions, next)
		return
	}
	if r.Conditions[i].Status == next.Status {
		next.LastTransitionTime = r.Conditions[i].LastTransitionTime
	}
	r.Conditions[i] = next
}

// summary is what people are told of a set.
func (r *record) summary() *protocol.Set {
	return &protocol.Set{Conditions: slices.Clone(r.Conditions), Applications: slices.Sorted(maps.Keys(r.Applications)), Statuses: r.statuses()}
}
