// Pyroscope's own generated client, which is what Grafana's data source calls the server with. One
// call each run: URL, protocol (connect, json, grpc or grpc-web), method, request as JSON. The answer is
// printed as JSON; a field that the client does not know is a failure.
package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"

	"connectrpc.com/connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/adhocprofiles/v1/adhocprofilesv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/capabilities/v1/capabilitiesv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/push/v1/pushv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/querier/v1/querierv1connect"
	"github.com/grafana/pyroscope/api/gen/proto/go/settings/v1/settingsv1connect"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

type call func(request []byte, header http.Header) (proto.Message, error)

func typed[Q, A any](do func(context.Context, *connect.Request[Q]) (*connect.Response[A], error)) call {
	return func(text []byte, header http.Header) (proto.Message, error) {
		question := new(Q)
		if err := protojson.Unmarshal(text, any(question).(proto.Message)); err != nil {
			return nil, err
		}
		request := connect.NewRequest(question)
		for name := range header {
			request.Header().Set(name, header.Get(name))
		}
		answer, err := do(context.Background(), request)
		if err != nil {
			return nil, err
		}
		return any(answer.Msg).(proto.Message), nil
	}
}

// Unknown fields, at any depth.
func strangers(m protoreflect.Message) (n int) {
	n = len(m.GetUnknown())
	m.Range(func(f protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if f.Message() == nil || f.IsMap() {
			return true
		}
		if !f.IsList() {
			n += strangers(v.Message())
			return true
		}
		for i := 0; i < v.List().Len(); i++ {
			n += strangers(v.List().Get(i).Message())
		}
		return true
	})
	return n
}

func main() {
	url, protocol, method, text := os.Args[1], os.Args[2], os.Args[3], os.Args[4]
	options := map[string][]connect.ClientOption{
		"connect":  nil,
		"json":     {connect.WithProtoJSON()},
		"zipped":   {connect.WithSendGzip()},
		"grpc":     {connect.WithGRPC()},
		"grpc-web": {connect.WithGRPCWeb()},
	}[protocol]
	web := &http.Client{Transport: &http.Transport{}}
	if protocol == "grpc" {
		h2c := new(http.Protocols)
		h2c.SetUnencryptedHTTP2(true)
		web.Transport = &http.Transport{Protocols: h2c}
	}
	header := http.Header{}
	if len(os.Args) > 5 {
		header.Set("Accept", os.Args[5])
	}
	q := querierv1connect.NewQuerierServiceClient(web, url, options...)
	s := settingsv1connect.NewSettingsServiceClient(web, url, options...)
	rules := settingsv1connect.NewRecordingRulesServiceClient(web, url, options...)
	adhoc := adhocprofilesv1connect.NewAdHocProfileServiceClient(web, url, options...)
	calls := map[string]call{
		"UploadAdHoc":            typed(adhoc.Upload),
		"GetAdHoc":               typed(adhoc.Get),
		"ListAdHoc":              typed(adhoc.List),
		"DiffAdHoc":              typed(adhoc.Diff),
		"ProfileTypes":           typed(q.ProfileTypes),
		"LabelNames":             typed(q.LabelNames),
		"LabelValues":            typed(q.LabelValues),
		"Series":                 typed(q.Series),
		"SelectMergeStacktraces": typed(q.SelectMergeStacktraces),
		"SelectMergeSpanProfile": typed(q.SelectMergeSpanProfile),
		"SelectMergeProfile":     typed(q.SelectMergeProfile),
		"SelectSeries":           typed(q.SelectSeries),
		"SelectHeatmap":          typed(q.SelectHeatmap),
		"Diff":                   typed(q.Diff),
		"GetProfileStats":        typed(q.GetProfileStats),
		"AnalyzeQuery":           typed(q.AnalyzeQuery),
		"Push":                   typed(pushv1connect.NewPusherServiceClient(web, url, options...).Push),
		"GetSettings":            typed(s.Get),
		"SetSetting":             typed(s.Set),
		"DeleteSetting":          typed(s.Delete),
		"ListRecordingRules":     typed(rules.ListRecordingRules),
		"GetRecordingRule":       typed(rules.GetRecordingRule),
		"UpsertRecordingRule":    typed(rules.UpsertRecordingRule),
		"DeleteRecordingRule":    typed(rules.DeleteRecordingRule),
		"GetFeatureFlags": typed(
			capabilitiesv1connect.NewFeatureFlagsServiceClient(web, url, options...).GetFeatureFlags),
	}
	answer, err := calls[method]([]byte(text), header)
	var refused *connect.Error
	switch {
	case errors.As(err, &refused):
		fmt.Fprintf(os.Stderr, "%v: %s\n", refused.Code(), refused.Message())
		os.Exit(1)
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	case strangers(answer.ProtoReflect()) > 0:
		fmt.Fprintln(os.Stderr, "fields that are not the message's")
		os.Exit(2)
	}
	out, err := protojson.Marshal(answer)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	fmt.Println(string(out))
}
