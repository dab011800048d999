package ecs

import (
	"fmt"
	"slices"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ecs/types"
)

// events are those of a service that needn't be said: by their ids those that were
// said already, or were there before.
type events map[string]bool

// known are the events of a service so far; there may be none of either.
func known(one *types.Service) events {
	e := events{}
	if one != nil {
		e.more(one.Events)
	}
	return e
}

// more are lines for the events that are new, the oldest first.
func (e events) more(all []types.ServiceEvent) []string {
	var lines []string
	for _, one := range slices.Backward(all) { // ECS has the newest first
		id := sdk.ToString(one.Id)
		if e[id] {
			continue
		}
		e[id] = true
		lines = append(lines, fmt.Sprintf("%s %s", sdk.ToTime(one.CreatedAt).UTC().Format(time.RFC3339), sdk.ToString(one.Message)))
	}
	return lines
}
