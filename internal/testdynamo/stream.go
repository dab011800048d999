package testdynamo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// Stream reads a table's stream as Lambda does, from its beginning.
//
// It speaks HTTP itself: DynamoDB's answers are what Lambda gives functions.
type Stream struct {
	endpoint string
	key      string // access key
	region   string
	arn      string
	shards   []string
	looked   time.Time         // when shards were looked up
	last     map[string]string // sequence number of the last record that was read, by shard
}

// lookAgain is after how much time there may be new shards. Asking which
// there are is most of what an idle stream costs DynamoDB Local.
const lookAgain = 10 * time.Second

// NewStream gives the stream of a table of the server at an endpoint, which
// keeps access keys and regions apart.
func NewStream(ctx context.Context, endpoint, accessKey, region, table string) (*Stream, error) {
	s := &Stream{endpoint: endpoint, key: accessKey, region: region, last: map[string]string{}}
	var out struct{ Streams []struct{ StreamArn string } }
	if err := s.call(ctx, "ListStreams", map[string]any{"TableName": table}, &out); err != nil {
		return nil, err
	}
	for _, one := range out.Streams { // those of deleted tables of its name stay for a while; each ends with the time of its beginning
		s.arn = max(s.arn, one.StreamArn)
	}
	if s.arn == "" {
		return nil, fmt.Errorf("table %s has no stream", table)
	}
	return s, nil
}

// Next gives the records since the last call as Lambda gives them, in the
// order of their shards; none if there are none yet.
func (s *Stream) Next(ctx context.Context) ([]json.RawMessage, error) {
	if err := s.look(ctx); err != nil {
		return nil, err
	}
	var records []json.RawMessage
	for _, id := range s.shards {
		some, err := s.shard(ctx, id)
		if err != nil {
			return nil, err
		}
		records = append(records, some...)
	}
	return records, nil
}

// look finds the shards, unless that was done a moment ago.
func (s *Stream) look(ctx context.Context) error {
	if len(s.shards) > 0 && time.Since(s.looked) < lookAgain {
		return nil
	}
	var out struct {
		StreamDescription struct {
			Shards []struct {
				ShardID string `json:"ShardId"`
			}
		}
	}
	if err := s.call(ctx, "DescribeStream", map[string]any{"StreamArn": s.arn}, &out); err != nil {
		return err
	}
	s.shards, s.looked = nil, time.Now()
	for _, shard := range out.StreamDescription.Shards {
		s.shards = append(s.shards, shard.ShardID)
	}
	return nil
}

// shard reads on in a shard after the last record that was read. It takes a
// new iterator each time: those that DynamoDB Local gives out for an empty
// shard may be refused once something is in it.
func (s *Stream) shard(ctx context.Context, id string) ([]json.RawMessage, error) {
	in := map[string]any{"StreamArn": s.arn, "ShardId": id, "ShardIteratorType": "TRIM_HORIZON"}
	if last := s.last[id]; last != "" {
		in["ShardIteratorType"], in["SequenceNumber"] = "AFTER_SEQUENCE_NUMBER", last
	}
	var at struct{ ShardIterator string }
	if err := s.call(ctx, "GetShardIterator", in, &at); err != nil {
		return nil, err
	}
	var records []json.RawMessage
	for iterator := at.ShardIterator; iterator != ""; {
		var out struct {
			Records           []json.RawMessage
			NextShardIterator string
		}
		err := s.call(ctx, "GetRecords", map[string]any{"ShardIterator": iterator}, &out)
		if errors.Is(err, errTrimmed) {
			break // the next call reads it
		}
		if err != nil {
			return nil, err
		}
		if len(out.Records) == 0 {
			break
		}
		var r struct {
			DynamoDB struct{ SequenceNumber string }
		}
		if err := json.Unmarshal(out.Records[len(out.Records)-1], &r); err != nil {
			return nil, err
		}
		s.last[id], records, iterator = r.DynamoDB.SequenceNumber, append(records, out.Records...), out.NextShardIterator
	}
	return records, nil
}

var errTrimmed = errors.New("the iterator is from before the shard's first record")

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
	req.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+s.key+"/20260101/"+s.region+"/dynamodb/aws4_request, SignedHeaders=host, Signature=0")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(resp.Body) // the status says enough
		if strings.Contains(string(why), "TrimmedDataAccessException") {
			return errTrimmed
		}
		return fmt.Errorf("%s: %s: %s", operation, resp.Status, why)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}
