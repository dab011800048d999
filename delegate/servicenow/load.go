package servicenow

import (
	"context"
	"fmt"
	"net/http"
	"net/url"

	"github.com/slipway-cd/slipway/delegate/executor"
	"github.com/slipway-cd/slipway/delegate/restapi"
	"github.com/slipway-cd/slipway/pkg/fault"
	"github.com/slipway-cd/slipway/pkg/task"
	"github.com/slipway-cd/slipway/pkg/task/tracker"
)

// imported is what the Import Set API answers.
type imported struct {
	Set     string `json:"import_set"`
	Staging string `json:"staging_table"`
	Result  []struct {
		Map     string `json:"transform_map"`
		Table   string `json:"table"`
		Name    string `json:"display_name"`
		Display string `json:"display_value"`
		Link    string `json:"record_link"`
		Status  string `json:"status"`
		Error   string `json:"error_message"`
		Message string `json:"status_message"`
	} `json:"result"`
}

// outcome is what one transform map has made of the row.
type outcome struct {
	Map     string `json:"transformMap"`
	Table   string `json:"targetTable"`
	Name    string `json:"targetDisplayName,omitempty"`
	Display string `json:"targetDisplayValue,omitempty"`
	Link    string `json:"targetRecordURL,omitempty"`
	Status  string `json:"status"` // inserted, updated, ignored, skipped or error
	Error   string `json:"errorMessage,omitempty"`
}

// load puts a row into a staging table, which ServiceNow transforms at once.
func (s *session) load(ctx context.Context, p tracker.ServiceNow) (task.Result, error) {
	var row any = p.Import
	if len(p.Import) == 0 {
		fields := map[string]string{}
		for _, f := range p.Fields {
			fields[f.Name] = f.Value
		}
		row = fields
	}
	var got imported
	r := restapi.Request{Method: http.MethodPost, Path: "/api/now/import/" + url.PathEscape(p.Table), JSON: row}
	if err := s.client.JSON(ctx, r, &got); err != nil {
		return task.Result{}, err
	}
	var list []outcome
	wrong := ""
	for _, x := range got.Result {
		o := outcome{Map: x.Map, Table: x.Table, Name: x.Name, Display: x.Display, Link: x.Link, Status: x.Status, Error: x.Error}
		if o.Error == "" {
			o.Error = x.Message
		}
		s.logf("%s: %s %s %s", o.Map, o.Status, o.Table, o.Display)
		if o.Status == "error" {
			wrong = fmt.Sprintf("the transform map %q failed: %s", o.Map, o.Error)
		}
		list = append(list, o)
	}
	out, err := executor.Succeed(map[string]any{
		"importSetNumber": got.Set, "stagingTable": got.Staging, "transformMapOutcomes": list,
	})
	if err == nil && wrong != "" {
		fmt.Fprintln(s.env.LogError(Unit), wrong)
		out.Status, out.Message, out.FailureTypes = task.Failed, wrong, []fault.FailureType{fault.Unknown}
	}
	return out, err
}
