package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/gogo/protobuf/jsonpb"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	goproto "google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// noUnknown refuses fields OTLP does not have, at any depth.
func noUnknown(m protoreflect.Message) error {
	if len(m.GetUnknown()) > 0 {
		return fmt.Errorf("unknown fields in %s: %x", m.Descriptor().FullName(), []byte(m.GetUnknown()))
	}
	var err error
	m.Range(func(field protoreflect.FieldDescriptor, v protoreflect.Value) bool {
		if field.Kind() != protoreflect.MessageKind {
			return true
		}
		if field.IsList() {
			for i := 0; i < v.List().Len() && err == nil; i++ {
				err = noUnknown(v.List().Get(i).Message())
			}
		} else {
			err = noUnknown(v.Message())
		}
		return err == nil
	})
	return err
}

// The plugin reads these without asking whether they are there, and drops resources without attributes.
func isWhole(t *tracepb.TracesData) error {
	for _, r := range t.ResourceSpans {
		if r.Resource == nil || len(r.Resource.Attributes) == 0 {
			return errors.New("a resource is missing or has no attributes")
		}
		for _, scope := range r.ScopeSpans {
			if scope.Scope == nil {
				return errors.New("a scope is missing")
			}
			for _, s := range scope.Spans {
				if s.Status == nil {
					return errors.New("a status is missing")
				}
				if len(s.TraceId) != 16 || len(s.SpanId) != 8 {
					return fmt.Errorf("ids of %d and %d bytes", len(s.TraceId), len(s.SpanId))
				}
			}
		}
	}
	return nil
}

func strict(body []byte, into any) error {
	reader := json.NewDecoder(bytes.NewReader(body))
	reader.DisallowUnknownFields()
	return reader.Decode(into)
}

// The spans of a JSON answer as OTLP, without the envelope.
func unwrapJSON(body []byte, version string) ([]byte, string, error) {
	if version == "v1" {
		var envelope struct {
			Batches json.RawMessage `json:"batches"`
		}
		err := strict(body, &envelope)
		if len(envelope.Batches) == 0 {
			envelope.Batches = []byte("[]")
		}
		return []byte(`{"resourceSpans":` + string(envelope.Batches) + `}`), "", err
	}
	var envelope struct {
		Trace   json.RawMessage `json:"trace"`
		Metrics json.RawMessage `json:"metrics"`
		Status  string          `json:"status"`
		Message string          `json:"message"`
	}
	if err := strict(body, &envelope); err != nil {
		return nil, "", err
	}
	if len(envelope.Trace) == 0 {
		return nil, "", errors.New("no trace in the answer")
	}
	if len(envelope.Metrics) > 0 {
		if err := jsonpb.Unmarshal(bytes.NewReader(envelope.Metrics), &TraceByIDMetrics{}); err != nil {
			return nil, "", err
		}
	}
	return envelope.Trace, envelope.Status, nil
}

// The same of TraceByIDResponse: trace 1, metrics 2, status 3, message 4.
func unwrapProto(body []byte) (found []byte, status string, err error) {
	hasTrace := false
	for len(body) > 0 {
		number, kind, n := protowire.ConsumeTag(body)
		if n < 0 {
			return nil, "", protowire.ParseError(n)
		}
		body = body[n:]
		switch {
		case number == 3 && kind == protowire.VarintType:
			v, length := protowire.ConsumeVarint(body)
			status, n = PartialStatus(v).String(), length
		case number >= 1 && number <= 4 && kind == protowire.BytesType:
			v, length := protowire.ConsumeBytes(body)
			n = length
			if number == 1 {
				found, hasTrace = v, true
			}
			if number == 2 && length >= 0 {
				err = readProto(v, &TraceByIDMetrics{})
			}
		default:
			return nil, "", fmt.Errorf("unknown field %d", number)
		}
		if n < 0 {
			return nil, "", protowire.ParseError(n)
		}
		if err != nil {
			return nil, "", err
		}
		body = body[n:]
	}
	if !hasTrace {
		return nil, "", errors.New("no trace in the answer: the plugin would fall over")
	}
	return found, status, nil
}

func trace(url, version, form string) error {
	body, err := get(url, "application/"+map[string]string{"json": "json", "proto": "protobuf"}[form])
	if err != nil {
		return err
	}
	data, status := &tracepb.TracesData{}, ""
	if form == "json" {
		if body, status, err = unwrapJSON(body, version); err == nil {
			err = protojson.Unmarshal(body, data) // refuses unknown fields; ids are base64
		}
	} else {
		if version == "v2" {
			body, status, err = unwrapProto(body)
		}
		if err == nil {
			err = goproto.Unmarshal(body, data)
		}
	}
	if err == nil {
		err = noUnknown(data.ProtoReflect())
	}
	if err == nil && form == "proto" {
		err = isWhole(data)
	}
	if err != nil {
		return err
	}
	text, err := protojson.Marshal(data)
	if err == nil {
		fmt.Printf(`{"status":%q,"trace":%s}`+"\n", status, text)
	}
	return err
}
