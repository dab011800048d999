package api

import (
	"context"
	"fmt"

	"github.com/slipway-cd/slipway/pkg/execution"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/plan"
)

// Preview is a comparison that has started.
type Preview struct {
	Execution string           `json:"execution" doc:"The id of the execution that compares"`
	Warnings  []fault.Detail   `json:"warnings" nullable:"false" doc:"Values that had no place in the pipeline"`
	Left      []execution.Left `json:"left" nullable:"false" doc:"Stages that deploy, but can't be compared"`
}

// Differences are what a preview has found out.
type Differences struct {
	Status plan.Status            `json:"status" doc:"Of the preview's execution"`
	Stages []execution.Difference `json:"stages" nullable:"false"`
}

func (s *steering) previewExecution(ctx context.Context, in *struct {
	OfPipeline
	Keyed
	Body    StartExecution `required:"false"`
	RawBody []byte
}) (*struct{ Body Preview }, error) {
	r, err := in.start(ctx, in.Body)
	if err != nil {
		return nil, err
	}
	body, err := once(ctx, s.kept, in.Keyed, in.RawBody, fmt.Sprint("previewExecution ", r.Scope, in.Pipeline), func(key string) (Preview, error) {
		r.Key = key
		p, err := s.Executions.StartPreview(ctx, r)
		return Preview{Execution: p.Execution.ID, Warnings: p.Warnings, Left: p.Left}, err
	})
	return &struct{ Body Preview }{body}, err
}

func (s *steering) getDifferences(ctx context.Context, in *OfExecution) (*struct{ Body Differences }, error) {
	e, list, err := s.Executions.Differences(ctx, in.ID)
	return &struct{ Body Differences }{Differences{Status: e.Status, Stages: list}}, err
}
