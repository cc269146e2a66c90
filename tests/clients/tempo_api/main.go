// Tempo's own API client (the one below tempo-cli and its tests) and Tempo's own TraceQL parser, for a test to use.
// Reads one step from each line of standard input and prints one line of JSON for each; a step that fails is
// {"error": ...}.
//
//	client URL plain|gzip
//
//	{"do": "parse", "query": ...}
//	{"do": "search", "query": ..., "start": s, "end": s, "limit": n, "spss": n}
//	{"do": "stream", ...}          the same over gRPC
//	{"do": "searchTags", "query": "a=b c=d", "start": s, "end": s}
//	{"do": "trace"|"traceV2"|"traceRange", "id": ..., "start": s, "end": s}
//	{"do": "tags"|"tagsV2"|"values"|"valuesV2", "id": tag, "query": ..., "start": s, "end": s}
//	{"do": "metrics", "query": ..., "start": s, "end": s, "step": "10s", "exemplars": n}
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"time"

	"github.com/gogo/protobuf/jsonpb"
	"github.com/gogo/protobuf/proto"
	"github.com/grafana/tempo/pkg/httpclient"
	"github.com/grafana/tempo/pkg/tempopb"
	"github.com/grafana/tempo/pkg/traceql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const patience = 30 * time.Second

type step struct {
	Do        string `json:"do"`
	Query     string `json:"query"`
	ID        string `json:"id"`
	Start     int64  `json:"start"`
	End       int64  `json:"end"`
	Limit     int64  `json:"limit"`
	Spss      int64  `json:"spss"`
	Step      string `json:"step"`
	Exemplars int    `json:"exemplars"`
}

// asked does what Tempo's client can do; nil: it cannot.
func asked(c *httpclient.Client, s step) (proto.Message, error) {
	switch s.Do {
	case "search":
		return c.SearchTraceQLWithRangeAndLimit(s.Query, s.Start, s.End, s.Limit, s.Spss)
	case "searchTags":
		return c.SearchWithRange(s.Query, s.Start, s.End)
	case "trace":
		return c.QueryTrace(s.ID)
	case "traceV2":
		return c.QueryTraceV2(s.ID)
	case "traceRange":
		return c.QueryTraceWithRange(s.ID, s.Start, s.End)
	case "tags":
		return c.SearchTagsWithRange(s.Start, s.End)
	case "tagsV2":
		return c.SearchTagsV2WithRange(s.Start, s.End)
	case "values":
		return c.SearchTagValues(s.ID)
	case "valuesV2":
		if s.Query != "" {
			return c.SearchTagValuesV2(s.ID, s.Query)
		}
		return c.SearchTagValuesV2WithRange(s.ID, s.Start, s.End)
	case "metrics":
		return c.MetricsQueryRange(s.Query, int(s.Start), int(s.End), s.Step, s.Exemplars)
	}
	return nil, fmt.Errorf("no such step: %q", s.Do)
}

// stream searches over gRPC and gives the last message, which holds all that was found.
func stream(address string, s step) (proto.Message, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	conn, err := grpc.NewClient(at.Host, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	found, err := tempopb.NewStreamingQuerierClient(conn).Search(ctx, &tempopb.SearchRequest{
		Query: s.Query, Start: uint32(s.Start), End: uint32(s.End), Limit: uint32(s.Limit), SpansPerSpanSet: uint32(s.Spss)})
	if err != nil {
		return nil, err
	}
	var last *tempopb.SearchResponse
	for {
		next, err := found.Recv()
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return nil, err
		}
		last = next
	}
}

func do(c *httpclient.Client, s step) (json.RawMessage, error) {
	var told proto.Message
	var err error
	switch s.Do {
	case "parse":
		_, _, _, _, _, err = traceql.Compile(s.Query)
		if err == nil {
			return json.RawMessage("{}"), nil
		}
	case "stream":
		told, err = stream(c.BaseURL, s)
	default:
		told, err = asked(c, s)
	}
	if err != nil {
		return nil, err
	}
	var text bytes.Buffer
	err = (&jsonpb.Marshaler{}).Marshal(&text, told)
	return text.Bytes(), err
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: client URL plain|gzip")
		os.Exit(2)
	}
	client := httpclient.New(os.Args[1], "")
	if os.Args[2] == "gzip" {
		client = httpclient.NewWithCompression(os.Args[1], "")
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var next step
		err := in.Decode(&next)
		if errors.Is(err, io.EOF) {
			return
		}
		if err == nil {
			var told any
			if told, err = do(client, next); err != nil {
				told = map[string]string{"error": err.Error()}
			}
			err = out.Encode(told)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
