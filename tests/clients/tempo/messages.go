package main

import "github.com/gogo/protobuf/proto"

// The messages of tempopb, field by field as the protocol has them. Written by hand with the tags the
// reflecting encoders read: what is not here is an unknown field, and the JSON parser refuses those.

type AnyValue struct {
	Value isAnyValue `protobuf_oneof:"value"`
}
type isAnyValue interface{ isAnyValue() }
type StringValue struct {
	StringValue string `protobuf:"bytes,1,opt,name=string_value,json=stringValue,proto3,oneof"`
}
type BoolValue struct {
	BoolValue bool `protobuf:"varint,2,opt,name=bool_value,json=boolValue,proto3,oneof"`
}
type IntValue struct {
	IntValue int64 `protobuf:"varint,3,opt,name=int_value,json=intValue,proto3,oneof"`
}
type DoubleValue struct {
	DoubleValue float64 `protobuf:"fixed64,4,opt,name=double_value,json=doubleValue,proto3,oneof"`
}
type ArrayValue struct {
	ArrayValue *ArrayOfValues `protobuf:"bytes,5,opt,name=array_value,json=arrayValue,proto3,oneof"`
}
type ArrayOfValues struct {
	Values []*AnyValue `protobuf:"bytes,1,rep,name=values,proto3"`
}

func (*StringValue) isAnyValue() {}
func (*BoolValue) isAnyValue()   {}
func (*IntValue) isAnyValue()    {}
func (*DoubleValue) isAnyValue() {}
func (*ArrayValue) isAnyValue()  {}
func (*AnyValue) XXX_OneofWrappers() []interface{} {
	return []interface{}{(*StringValue)(nil), (*BoolValue)(nil), (*IntValue)(nil), (*DoubleValue)(nil), (*ArrayValue)(nil)}
}

type KeyValue struct {
	Key   string    `protobuf:"bytes,1,opt,name=key,proto3"`
	Value *AnyValue `protobuf:"bytes,2,opt,name=value,proto3"`
}

type SearchRequest struct {
	Tags            map[string]string `protobuf:"bytes,1,rep,name=Tags,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
	MinDurationMs   uint32            `protobuf:"varint,2,opt,name=MinDurationMs,proto3"`
	MaxDurationMs   uint32            `protobuf:"varint,3,opt,name=MaxDurationMs,proto3"`
	Limit           uint32            `protobuf:"varint,4,opt,name=Limit,proto3"`
	Start           uint32            `protobuf:"varint,5,opt,name=start,proto3"`
	End             uint32            `protobuf:"varint,6,opt,name=end,proto3"`
	Query           string            `protobuf:"bytes,8,opt,name=Query,proto3"`
	SpansPerSpanSet uint32            `protobuf:"varint,9,opt,name=SpansPerSpanSet,proto3"`
}

type SearchMetrics struct {
	InspectedTraces   uint32           `protobuf:"varint,1,opt,name=inspectedTraces,proto3"`
	InspectedBytes    uint64           `protobuf:"varint,2,opt,name=inspectedBytes,proto3"`
	TotalBlocks       uint32           `protobuf:"varint,3,opt,name=totalBlocks,proto3"`
	CompletedJobs     uint32           `protobuf:"varint,4,opt,name=completedJobs,proto3"`
	TotalJobs         uint32           `protobuf:"varint,5,opt,name=totalJobs,proto3"`
	TotalBlockBytes   uint64           `protobuf:"varint,6,opt,name=totalBlockBytes,proto3"`
	InspectedSpans    uint64           `protobuf:"varint,7,opt,name=inspectedSpans,proto3"`
	BackendReads      uint64           `protobuf:"varint,8,opt,name=backendReads,proto3"`
	BackendBytes      uint64           `protobuf:"varint,9,opt,name=backendBytes,proto3"`
	AdditionalMetrics map[string]int64 `protobuf:"bytes,10,rep,name=additionalMetrics,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"varint,2,opt,name=value,proto3"`
	XXX_unrecognized  []byte
}

type ServiceStats struct {
	SpanCount        uint32 `protobuf:"varint,1,opt,name=spanCount,proto3"`
	ErrorCount       uint32 `protobuf:"varint,2,opt,name=errorCount,proto3"`
	XXX_unrecognized []byte
}

type Span struct {
	SpanID            string      `protobuf:"bytes,1,opt,name=spanID,proto3"`
	Name              string      `protobuf:"bytes,2,opt,name=name,proto3"`
	StartTimeUnixNano uint64      `protobuf:"varint,3,opt,name=startTimeUnixNano,proto3"`
	DurationNanos     uint64      `protobuf:"varint,4,opt,name=durationNanos,proto3"`
	Attributes        []*KeyValue `protobuf:"bytes,5,rep,name=attributes,proto3"`
	XXX_unrecognized  []byte
}

type SpanSet struct {
	Spans            []*Span     `protobuf:"bytes,1,rep,name=spans,proto3"`
	Matched          uint32      `protobuf:"varint,2,opt,name=matched,proto3"`
	Attributes       []*KeyValue `protobuf:"bytes,3,rep,name=attributes,proto3"`
	XXX_unrecognized []byte
}

type TraceSearchMetadata struct {
	TraceID           string                   `protobuf:"bytes,1,opt,name=traceID,proto3"`
	RootServiceName   string                   `protobuf:"bytes,2,opt,name=rootServiceName,proto3"`
	RootTraceName     string                   `protobuf:"bytes,3,opt,name=rootTraceName,proto3"`
	StartTimeUnixNano uint64                   `protobuf:"varint,4,opt,name=startTimeUnixNano,proto3"`
	DurationMs        uint32                   `protobuf:"varint,5,opt,name=durationMs,proto3"`
	SpanSet           *SpanSet                 `protobuf:"bytes,6,opt,name=spanSet,proto3"`
	SpanSets          []*SpanSet               `protobuf:"bytes,7,rep,name=spanSets,proto3"`
	ServiceStats      map[string]*ServiceStats `protobuf:"bytes,8,rep,name=serviceStats,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"bytes,2,opt,name=value,proto3"`
	XXX_unrecognized  []byte
}

type SearchResponse struct {
	Traces           []*TraceSearchMetadata `protobuf:"bytes,1,rep,name=traces,proto3"`
	Metrics          *SearchMetrics         `protobuf:"bytes,2,opt,name=metrics,proto3"`
	XXX_unrecognized []byte
}

type SearchTagsRequest struct {
	Scope           string `protobuf:"bytes,1,opt,name=scope,proto3"`
	Query           string `protobuf:"bytes,2,opt,name=query,proto3"`
	Start           uint32 `protobuf:"varint,3,opt,name=start,proto3"`
	End             uint32 `protobuf:"varint,4,opt,name=end,proto3"`
	MaxTagsPerScope uint32 `protobuf:"varint,5,opt,name=maxTagsPerScope,proto3"`
}

type MetadataMetrics struct {
	InspectedBytes    uint64           `protobuf:"varint,1,opt,name=inspectedBytes,proto3"`
	TotalJobs         uint32           `protobuf:"varint,2,opt,name=totalJobs,proto3"`
	CompletedJobs     uint32           `protobuf:"varint,3,opt,name=completedJobs,proto3"`
	TotalBlocks       uint32           `protobuf:"varint,4,opt,name=totalBlocks,proto3"`
	TotalBlockBytes   uint64           `protobuf:"varint,5,opt,name=totalBlockBytes,proto3"`
	BackendReads      uint64           `protobuf:"varint,6,opt,name=backendReads,proto3"`
	BackendBytes      uint64           `protobuf:"varint,7,opt,name=backendBytes,proto3"`
	AdditionalMetrics map[string]int64 `protobuf:"bytes,8,rep,name=additionalMetrics,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"varint,2,opt,name=value,proto3"`
	XXX_unrecognized  []byte
}

type SearchTagsResponse struct {
	TagNames         []string         `protobuf:"bytes,1,rep,name=tagNames,proto3"`
	Metrics          *MetadataMetrics `protobuf:"bytes,2,opt,name=metrics,proto3"`
	XXX_unrecognized []byte
}

type SearchTagsV2Scope struct {
	Name             string   `protobuf:"bytes,1,opt,name=name,proto3"`
	Tags             []string `protobuf:"bytes,2,rep,name=tags,proto3"`
	XXX_unrecognized []byte
}

type SearchTagsV2Response struct {
	Scopes           []*SearchTagsV2Scope `protobuf:"bytes,1,rep,name=scopes,proto3"`
	Metrics          *MetadataMetrics     `protobuf:"bytes,2,opt,name=metrics,proto3"`
	XXX_unrecognized []byte
}

type SearchTagValuesRequest struct {
	TagName      string `protobuf:"bytes,1,opt,name=tagName,proto3"`
	Query        string `protobuf:"bytes,2,opt,name=query,proto3"`
	Start        uint32 `protobuf:"varint,4,opt,name=start,proto3"`
	End          uint32 `protobuf:"varint,5,opt,name=end,proto3"`
	MaxTagValues uint32 `protobuf:"varint,6,opt,name=maxTagValues,proto3"`
}

type SearchTagValuesResponse struct {
	TagValues        []string         `protobuf:"bytes,1,rep,name=tagValues,proto3"`
	Metrics          *MetadataMetrics `protobuf:"bytes,2,opt,name=metrics,proto3"`
	XXX_unrecognized []byte
}

type TagValue struct {
	Type             string `protobuf:"bytes,1,opt,name=type,proto3"`
	Value            string `protobuf:"bytes,2,opt,name=value,proto3"`
	XXX_unrecognized []byte
}

type SearchTagValuesV2Response struct {
	TagValues        []*TagValue      `protobuf:"bytes,1,rep,name=tagValues,proto3"`
	Metrics          *MetadataMetrics `protobuf:"bytes,2,opt,name=metrics,proto3"`
	XXX_unrecognized []byte
}

type QueryRangeRequest struct {
	Query     string `protobuf:"bytes,1,opt,name=query,proto3"`
	Start     uint64 `protobuf:"varint,2,opt,name=start,proto3"`
	End       uint64 `protobuf:"varint,3,opt,name=end,proto3"`
	Step      uint64 `protobuf:"varint,4,opt,name=step,proto3"`
	Exemplars uint32 `protobuf:"varint,16,opt,name=exemplars,proto3"`
	MaxSeries uint32 `protobuf:"varint,17,opt,name=maxSeries,proto3"`
}

type Sample struct {
	Value            float64 `protobuf:"fixed64,1,opt,name=value,proto3"`
	TimestampMs      int64   `protobuf:"varint,2,opt,name=timestamp_ms,json=timestampMs,proto3"`
	XXX_unrecognized []byte
}

type Exemplar struct {
	Labels           []*KeyValue `protobuf:"bytes,1,rep,name=labels,proto3"`
	Value            float64     `protobuf:"fixed64,2,opt,name=value,proto3"`
	TimestampMs      int64       `protobuf:"varint,3,opt,name=timestamp_ms,json=timestampMs,proto3"`
	XXX_unrecognized []byte
}

type TimeSeries struct {
	Labels           []*KeyValue `protobuf:"bytes,1,rep,name=labels,proto3"`
	Samples          []*Sample   `protobuf:"bytes,2,rep,name=samples,proto3"`
	Exemplars        []*Exemplar `protobuf:"bytes,4,rep,name=exemplars,proto3"`
	XXX_unrecognized []byte
}

type PartialStatus int32

func init() {
	proto.RegisterEnum("spanflame.test.PartialStatus", map[int32]string{0: "COMPLETE", 1: "PARTIAL"},
		map[string]int32{"COMPLETE": 0, "PARTIAL": 1})
}

func (s PartialStatus) String() string {
	return map[PartialStatus]string{0: "COMPLETE", 1: "PARTIAL"}[s]
}

type QueryRangeResponse struct {
	Series           []*TimeSeries  `protobuf:"bytes,1,rep,name=series,proto3"`
	Metrics          *SearchMetrics `protobuf:"bytes,2,opt,name=metrics,proto3"`
	Status           PartialStatus  `protobuf:"varint,3,opt,name=status,proto3,enum=spanflame.test.PartialStatus"`
	Message          string         `protobuf:"bytes,4,opt,name=message,proto3"`
	XXX_unrecognized []byte
}

type QueryInstantRequest struct {
	Query string `protobuf:"bytes,1,opt,name=query,proto3"`
	Start uint64 `protobuf:"varint,2,opt,name=start,proto3"`
	End   uint64 `protobuf:"varint,3,opt,name=end,proto3"`
}

type InstantSeries struct {
	Labels           []*KeyValue `protobuf:"bytes,1,rep,name=labels,proto3"`
	Value            float64     `protobuf:"fixed64,2,opt,name=value,proto3"`
	XXX_unrecognized []byte
}

type QueryInstantResponse struct {
	Series           []*InstantSeries `protobuf:"bytes,1,rep,name=series,proto3"`
	Metrics          *SearchMetrics   `protobuf:"bytes,2,opt,name=metrics,proto3"`
	Status           PartialStatus    `protobuf:"varint,3,opt,name=status,proto3,enum=spanflame.test.PartialStatus"`
	Message          string           `protobuf:"bytes,4,opt,name=message,proto3"`
	XXX_unrecognized []byte
}

type TraceByIDMetrics struct {
	InspectedBytes    uint64           `protobuf:"varint,1,opt,name=inspectedBytes,proto3"`
	BackendReads      uint64           `protobuf:"varint,2,opt,name=backendReads,proto3"`
	BackendBytes      uint64           `protobuf:"varint,3,opt,name=backendBytes,proto3"`
	AdditionalMetrics map[string]int64 `protobuf:"bytes,4,rep,name=additionalMetrics,proto3" protobuf_key:"bytes,1,opt,name=key,proto3" protobuf_val:"varint,2,opt,name=value,proto3"`
	XXX_unrecognized  []byte
}
