package function

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
)

// metric is a number for CloudWatch.
type metric struct {
	Name  string
	Unit  string // Seconds or Count
	Value float64
}

// embedded is CloudWatch's embedded metric format, as far as it is used: a
// line of a log that has the numbers in it.
// https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
type embedded struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []unit
}

type unit struct{ Name, Unit string }

// write writes metrics under the function's name, which says the stage too.
func write(w io.Writer, metrics ...metric) error {
	d := directive{Namespace: "Slipway", Dimensions: [][]string{{"Function"}}}
	line := map[string]any{"Function": cmp.Or(lambdacontext.FunctionName, "local")}
	for _, m := range metrics {
		d.Metrics = append(d.Metrics, unit{Name: m.Name, Unit: m.Unit})
		line[m.Name] = m.Value
	}
	line["_aws"] = embedded{Timestamp: time.Now().UnixMilli(), CloudWatchMetrics: []directive{d}}
	doc, err := json.Marshal(line)
	if err != nil {
		return fmt.Errorf("encode metrics: %w", err)
	}
	_, err = fmt.Fprintln(w, string(doc))
	return err
}
