// Asks a server what Grafana's Tempo data source asks, and reads the answers as strictly as it does:
// JSON by jsonpb, which refuses fields it does not know; protobuf with nothing left over; streams
// over h2c gRPC on the same port. Prints what it read as JSON, one message a line, for the test to look at.
//
//	client health  URL                    echo, buildinfo, and the streaming probe
//	client json    URL MESSAGE            GET, Accept: application/json
//	client proto   URL MESSAGE            GET, Accept: application/protobuf
//	client trace   URL v1|v2 json|proto   a trace, with everything the plugin dereferences
//	client stream  HOST:PORT METHOD JSON  a method of StreamingQuerier; JSON is the request
//	client parse   MESSAGE                JSON from standard input
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"reflect"
	"strings"
	"time"

	"github.com/gogo/protobuf/jsonpb"
	"github.com/gogo/protobuf/proto"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
)

// Grafana's client takes messages of this size.
const maxMessageLen = 4 << 20

func newMessage(name string) (proto.Message, error) {
	for _, m := range []proto.Message{&SearchRequest{}, &SearchResponse{}, &SearchTagsRequest{}, &SearchTagsResponse{},
		&SearchTagsV2Response{}, &SearchTagValuesRequest{}, &SearchTagValuesResponse{}, &SearchTagValuesV2Response{},
		&QueryRangeRequest{}, &QueryRangeResponse{}, &QueryInstantRequest{}, &QueryInstantResponse{}} {
		if reflect.TypeOf(m).Elem().Name() == name {
			return m, nil
		}
	}
	return nil, fmt.Errorf("no message %s", name)
}

func show(m proto.Message) error {
	text, err := (&jsonpb.Marshaler{}).MarshalToString(m)
	if err == nil {
		fmt.Println(text)
	}
	return err
}

// leftOver finds bytes a message did not know what to do with.
func leftOver(v reflect.Value, path string) error {
	switch v.Kind() {
	case reflect.Ptr, reflect.Interface:
		if !v.IsNil() {
			return leftOver(v.Elem(), path)
		}
	case reflect.Struct:
		for i := 0; i < v.NumField(); i++ {
			name := v.Type().Field(i).Name
			if name == "XXX_unrecognized" && v.Field(i).Len() > 0 {
				return fmt.Errorf("unknown fields in %s: %x", path, v.Field(i).Bytes())
			}
			if err := leftOver(v.Field(i), path+"."+name); err != nil {
				return err
			}
		}
	case reflect.Slice:
		for i := 0; i < v.Len(); i++ {
			if err := leftOver(v.Index(i), path); err != nil {
				return err
			}
		}
	case reflect.Map:
		for _, key := range v.MapKeys() {
			if err := leftOver(v.MapIndex(key), path); err != nil {
				return err
			}
		}
	}
	return nil
}

func readProto(body []byte, m proto.Message) error {
	if err := proto.Unmarshal(body, m); err != nil {
		return err
	}
	return leftOver(reflect.ValueOf(m), reflect.TypeOf(m).Elem().Name())
}

func get(url, accept string) ([]byte, error) {
	request, err := http.NewRequest("GET", url, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", accept)
	answer, err := (&http.Client{Timeout: 4 * time.Minute}).Do(request)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != 200 {
		return nil, fmt.Errorf("%s: %s", answer.Status, body)
	}
	if kind := answer.Header.Get("Content-Type"); accept != "" && !strings.HasPrefix(kind, accept) {
		return nil, fmt.Errorf("asked for %s, got %s", accept, kind)
	}
	return body, nil
}

func ask(url, accept, name string) error {
	m, err := newMessage(name)
	if err != nil {
		return err
	}
	body, err := get(url, accept)
	if err != nil {
		return err
	}
	if accept == "application/json" {
		err = jsonpb.Unmarshal(bytes.NewReader(body), m)
	} else {
		err = readProto(body, m)
	}
	if err != nil {
		return fmt.Errorf("%v in %.2000q", err, body)
	}
	return show(m)
}

// rawCodec lets gRPC carry the messages of this program.
type rawCodec struct{}

func (rawCodec) Name() string { return "proto" }
func (rawCodec) Marshal(v any) ([]byte, error) {
	return proto.Marshal(v.(proto.Message))
}
func (rawCodec) Unmarshal(data []byte, v any) error { return readProto(data, v.(proto.Message)) }

var methods = map[string][2]string{
	"Search":              {"SearchRequest", "SearchResponse"},
	"SearchTags":          {"SearchTagsRequest", "SearchTagsResponse"},
	"SearchTagsV2":        {"SearchTagsRequest", "SearchTagsV2Response"},
	"SearchTagValues":     {"SearchTagValuesRequest", "SearchTagValuesResponse"},
	"SearchTagValuesV2":   {"SearchTagValuesRequest", "SearchTagValuesV2Response"},
	"MetricsQueryRange":   {"QueryRangeRequest", "QueryRangeResponse"},
	"MetricsQueryInstant": {"QueryInstantRequest", "QueryInstantResponse"},
}

func stream(address, method, text string, each func(proto.Message) error) error {
	names, ok := methods[method]
	if !ok {
		return fmt.Errorf("no method %s", method)
	}
	request, err := newMessage(names[0])
	if err == nil {
		err = jsonpb.UnmarshalString(text, request)
	}
	if err != nil {
		return err
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(rawCodec{}), grpc.MaxCallRecvMsgSize(maxMessageLen)))
	if err != nil {
		return err
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Minute)
	defer cancel()
	calls, err := conn.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, "/tempopb.StreamingQuerier/"+method)
	if err == nil {
		err = calls.SendMsg(request)
	}
	if err == nil {
		err = calls.CloseSend()
	}
	for err == nil {
		message, _ := newMessage(names[1])
		if err = calls.RecvMsg(message); err == nil {
			err = each(message)
		}
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	if s, ok := status.FromError(err); ok {
		return fmt.Errorf("%s: %s", s.Code(), s.Message())
	}
	return err
}

// What "Save & test" does, with and without streaming, and what older versions ask on load.
func health(url string) error {
	echo, err := get(url+"/api/echo", "")
	if err != nil {
		return err
	}
	body, err := get(url+"/api/status/buildinfo", "application/json")
	if err != nil {
		return err
	}
	var info struct{ Version, Revision, Branch, BuildUser, BuildDate, GoVersion string }
	reader := json.NewDecoder(bytes.NewReader(body))
	reader.DisallowUnknownFields()
	if err := reader.Decode(&info); err != nil {
		return err
	}
	now := time.Now().Unix()
	n := 0
	err = stream(strings.TrimPrefix(url, "http://"), "Search",
		fmt.Sprintf(`{"Query":"{}","start":%d,"end":%d,"Limit":1}`, now-900, now),
		func(proto.Message) error { n++; return nil })
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"echo": string(echo), "version": info.Version, "messages": n})
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "health":
		return health(args[1])
	case len(args) == 3 && args[0] == "json":
		return ask(args[1], "application/json", args[2])
	case len(args) == 3 && args[0] == "proto":
		return ask(args[1], "application/protobuf", args[2])
	case len(args) == 4 && args[0] == "trace":
		return trace(args[1], args[2], args[3])
	case len(args) == 4 && args[0] == "stream":
		return stream(args[1], args[2], args[3], show)
	case len(args) == 2 && args[0] == "parse":
		m, err := newMessage(args[1])
		if err == nil {
			err = jsonpb.Unmarshal(os.Stdin, m)
		}
		if err != nil {
			return err
		}
		return show(m)
	}
	return errors.New("usage: client health|json|proto|trace|stream|parse ...")
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
