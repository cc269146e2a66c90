module spanflame.test/clients/tempo

go 1.25.0

require (
	github.com/gogo/protobuf v1.3.2
	go.opentelemetry.io/proto/otlp v1.9.0
	google.golang.org/grpc v1.78.0
	google.golang.org/protobuf v1.36.11
)

require (
	golang.org/x/net v0.47.0 // indirect
	golang.org/x/sys v0.38.0 // indirect
	golang.org/x/text v0.31.0 // indirect
	google.golang.org/genproto/googleapis/rpc v0.0.0-20251029180050-ab9386a59fda // indirect
)
