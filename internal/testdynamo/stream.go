package testdynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"time"
)

// Stream reads a table's stream as Lambda does, from its beginning.
//
// It speaks HTTP itself: DynamoDB's answers are what Lambda gives functions.
type Stream struct {
	endpoint  string
	arn       string
	iterators map[string]string // by shard; empty for one that is at its end
}

// NewStream gives the stream of a table of the server at an endpoint.
func NewStream(ctx context.Context, endpoint, table string) (*Stream, error) {
	s := &Stream{endpoint: endpoint, iterators: map[string]string{}}
	var out struct{ Streams []struct{ StreamArn string } }
	if err := s.call(ctx, "ListStreams", map[string]any{"TableName": table}, &out); err != nil {
		return nil, err
	}
	if len(out.Streams) != 1 {
		return nil, fmt.Errorf("table %s has %d streams, want 1", table, len(out.Streams))
	}
	s.arn = out.Streams[0].StreamArn
	return s, nil
}

// Next gives the records since the last call as Lambda gives them, in the
// order of their shards; none if there are none yet.
func (s *Stream) Next(ctx context.Context) ([]json.RawMessage, error) {
	var out struct {
		StreamDescription struct {
			Shards []struct {
				ShardID string `json:"ShardId"`
			}
		}
	}
	if err := s.call(ctx, "DescribeStream", map[string]any{"StreamArn": s.arn}, &out); err != nil {
		return nil, err
	}
	var records []json.RawMessage
	for _, shard := range out.StreamDescription.Shards {
		some, err := s.shard(ctx, shard.ShardID)
		if err != nil {
			return nil, err
		}
		records = append(records, some...)
	}
	return records, nil
}

func (s *Stream) shard(ctx context.Context, id string) ([]json.RawMessage, error) {
	iterator, known := s.iterators[id]
	if !known {
		var out struct{ ShardIterator string }
		in := map[string]any{"StreamArn": s.arn, "ShardId": id, "ShardIteratorType": "TRIM_HORIZON"}
		if err := s.call(ctx, "GetShardIterator", in, &out); err != nil {
			return nil, err
		}
		iterator = out.ShardIterator
	}
	var records []json.RawMessage
	for iterator != "" {
		var out struct {
			Records           []json.RawMessage
			NextShardIterator string
		}
		if err := s.call(ctx, "GetRecords", map[string]any{"ShardIterator": iterator}, &out); err != nil {
			return nil, err
		}
		records = append(records, out.Records...)
		if iterator = out.NextShardIterator; len(out.Records) == 0 {
			break
		}
	}
	s.iterators[id] = iterator
	return records, nil
}

// call is one request. DynamoDB Local takes any signature.
func (s *Stream) call(ctx context.Context, operation string, in map[string]any, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	req.Header.Set("X-Amz-Target", "DynamoDBStreams_20120810."+operation)
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", operation, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
