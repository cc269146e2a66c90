// Does with a back-end plugin of Grafana what Grafana does: starts its program, shakes hands, and speaks gRPC
// with it. The plugin is the real one, with its own client inside. Reads one step from each line of standard
// input and prints one line of JSON for each; a step that fails is {"error": ...}.
//
//	client PROGRAM SETTINGS    SETTINGS: {"id": plugin, "url": ..., "jsonData": {...}, "secureJsonData": {...}}
//
//	{"do": "health"}
//	{"do": "query", "from": ms, "to": ms, "intervalMs": n, "query": {"queryType": ..., ...}}
//	{"do": "resource", "path": "tags", "url": "tags?..."}
//	{"do": "stream", "path": "search/x", "from": ms, "to": ms, "query": {...}}
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/grafana/grafana-plugin-sdk-go/backend/grpcplugin"
	"github.com/grafana/grafana-plugin-sdk-go/data"
	"github.com/grafana/grafana-plugin-sdk-go/genproto/pluginv2"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

const patience = 30 * time.Second

type settings struct {
	ID       string            `json:"id"`
	URL      string            `json:"url"`
	JSONData json.RawMessage   `json:"jsonData"`
	Secure   map[string]string `json:"secureJsonData"`
}

type step struct {
	Do         string                     `json:"do"`
	Path       string                     `json:"path"`
	URL        string                     `json:"url"`
	From       int64                      `json:"from"`
	To         int64                      `json:"to"`
	IntervalMs int64                      `json:"intervalMs"`
	Query      map[string]json.RawMessage `json:"query"`
}

type host struct {
	conn  *grpc.ClientConn
	about *pluginv2.PluginContext
}

// start runs the plugin until this program ends. Its first line of output says where it listens:
// core version|protocol version|network|address|grpc|...
func start(program string, s settings) (*host, *exec.Cmd, error) {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), grpcplugin.MagicCookieKey+"="+grpcplugin.MagicCookieValue,
		fmt.Sprintf("PLUGIN_PROTOCOL_VERSIONS=%d", grpcplugin.ProtocolVersion))
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	parts := strings.Split(strings.TrimSpace(line), "|")
	if err != nil || len(parts) < 5 || parts[4] != "grpc" {
		return nil, cmd, fmt.Errorf("the plugin greets with %q", line)
	}
	go io.Copy(io.Discard, out)
	address := parts[3]
	if parts[2] == "unix" {
		address = "unix:" + parts[3]
	}
	conn, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, cmd, err
	}
	return &host{conn: conn, about: &pluginv2.PluginContext{
		OrgId: 1, PluginId: s.ID,
		DataSourceInstanceSettings: &pluginv2.DataSourceInstanceSettings{
			Id: 1, Uid: "spanflame", Name: s.ID, Url: s.URL, JsonData: s.JSONData,
			DecryptedSecureJsonData: s.Secure, LastUpdatedMS: time.Now().UnixMilli()},
	}}, cmd, nil
}

func (h *host) health(ctx context.Context) (any, error) {
	told, err := pluginv2.NewDiagnosticsClient(h.conn).CheckHealth(ctx, &pluginv2.CheckHealthRequest{PluginContext: h.about})
	if err != nil {
		return nil, err
	}
	return map[string]string{"status": told.Status.String(), "message": told.Message}, nil
}

func (h *host) query(ctx context.Context, s step) (any, error) {
	body, err := json.Marshal(s.Query)
	if err != nil {
		return nil, err
	}
	var kind string
	if err := json.Unmarshal(s.Query["queryType"], &kind); err != nil {
		return nil, err
	}
	told, err := pluginv2.NewDataClient(h.conn).QueryData(ctx, &pluginv2.QueryDataRequest{
		PluginContext: h.about,
		Queries: []*pluginv2.DataQuery{{
			RefId: "A", QueryType: kind, Json: body, IntervalMS: s.IntervalMs, MaxDataPoints: 1000,
			TimeRange: &pluginv2.TimeRange{FromEpochMS: s.From, ToEpochMS: s.To}}},
	})
	if err != nil {
		return nil, err
	}
	answer := told.Responses["A"]
	if answer == nil {
		return []*data.Frame{}, nil
	}
	if answer.Error != "" {
		return nil, errors.New(answer.Error)
	}
	return data.UnmarshalArrowFrames(answer.Frames)
}

func (h *host) resource(ctx context.Context, s step) (any, error) {
	stream, err := pluginv2.NewResourceClient(h.conn).CallResource(ctx, &pluginv2.CallResourceRequest{
		PluginContext: h.about, Path: s.Path, Method: "GET", Url: s.URL})
	if err != nil {
		return nil, err
	}
	var status int32
	var body []byte
	for {
		part, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if part.Code != 0 {
			status = part.Code
		}
		body = append(body, part.Body...)
	}
	if status != 200 {
		return nil, fmt.Errorf("%d %s", status, body)
	}
	return json.RawMessage(body), nil
}

// stream subscribes to a channel as a browser makes Grafana do, and gathers what comes until it ends.
func (h *host) stream(ctx context.Context, s step) (any, error) {
	s.Query["timeRange"], _ = json.Marshal(map[string]time.Time{"from": time.UnixMilli(s.From), "to": time.UnixMilli(s.To)})
	body, err := json.Marshal(s.Query)
	if err != nil {
		return nil, err
	}
	client := pluginv2.NewStreamClient(h.conn)
	may, err := client.SubscribeStream(ctx, &pluginv2.SubscribeStreamRequest{PluginContext: h.about, Path: s.Path, Data: body})
	if err != nil {
		return nil, err
	}
	if may.Status != pluginv2.SubscribeStreamResponse_OK {
		return nil, fmt.Errorf("subscribing: %s", may.Status)
	}
	stream, err := client.RunStream(ctx, &pluginv2.RunStreamRequest{PluginContext: h.about, Path: s.Path, Data: body})
	if err != nil {
		return nil, err
	}
	packets := []json.RawMessage{}
	for {
		packet, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return packets, nil
		}
		if err != nil {
			return nil, err
		}
		packets = append(packets, packet.Data)
	}
}

func (h *host) do(s step) (any, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	switch s.Do {
	case "health":
		return h.health(ctx)
	case "query":
		return h.query(ctx, s)
	case "resource":
		return h.resource(ctx, s)
	case "stream":
		return h.stream(ctx, s)
	}
	return nil, fmt.Errorf("no such step: %q", s.Do)
}

func run(program, about string) error {
	var s settings
	if err := json.Unmarshal([]byte(about), &s); err != nil {
		return err
	}
	h, cmd, err := start(program, s)
	if cmd != nil {
		defer func() {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}()
	}
	if err != nil {
		return err
	}
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var next step
		if err := in.Decode(&next); err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
		told, err := h.do(next)
		if err != nil {
			told = map[string]string{"error": err.Error()}
		}
		if err := out.Encode(told); err != nil {
			return err
		}
	}
}

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: client PROGRAM SETTINGS")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
