// A CPU profiler that does what the server's /api/v1/control says; the file to copy beside
// spanflame.go when profiling is to be switched at run time.
//
//	profiler := spanflame.StartProfiling(service, server)
//	defer profiler.Stop()
//
// It takes the place of pyroscope-go's CPU profiles: pyroscope-go cannot change its rate, and a
// process has one CPU profile at a time. Give pyroscope-go the other types only.
package spanflame

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/bits"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/trace"
)

// A timer fires at the kernel's tick at most, and each sample counts as the interval that was requested.
const mostHz = 200

// The share of requests whose samples name their spans, in ten-thousandths.
var chosenShare atomic.Int64

func init() {
	chosenShare.Store(10000)
	ChooseRequest = isChosen
}

func mix(v uint64) uint64 {
	v = (v ^ v>>30) * 0xbf58476d1ce4e5b9
	v = (v ^ v>>27) * 0x94d049bb133111eb
	return v ^ v>>31
}

// IsInShare says whether a trace is in a share of all, in ten-thousandths: every process and the
// server choose the same ones.
func IsInShare(id trace.TraceID, tenThousandths int64) bool {
	v := mix(mix(binary.LittleEndian.Uint64(id[:8])+0x9e3779b97f4a7c15) ^ binary.LittleEndian.Uint64(id[8:]))
	high, _ := bits.Mul64(v, 10000)
	return int64(high) < tenThousandths
}

func isChosen(ctx context.Context, id trace.TraceID) bool {
	share := chosenShare.Load()
	return share >= 10000 || IsInShare(id, share) || baggage.FromContext(ctx).Member("profile").Value() == "1"
}

// Profiler samples the process, sends what it has every SPANFLAME_PROFILING_UPLOAD_INTERVAL, and
// obeys the server.
type Profiler struct {
	service, server string
	mu              sync.Mutex
	doc             map[string]string // what the server said, line by line
	own             *bool             // what the handler was told last
	lowered         float64           // share of the rate, by load
	isPaused        bool              // the host is overloaded
	isStopped       bool
	rate            int // in effect
	capture         int // its rate while one is taken
	taken           string
	problem         string
	change          chan chan struct{}
	ended           chan struct{}
}

// StartProfiling samples the CPU for a service, and sends to a server; settings are
// SPANFLAME_PROFILING_*, named as in Spanflame's docs/configuration.md.
func StartProfiling(service, server string) *Profiler {
	p := &Profiler{service: service, server: strings.TrimRight(server, "/"), doc: map[string]string{}, lowered: 1,
		change: make(chan chan struct{}), ended: make(chan struct{})}
	p.setShare()
	pprof.SetGoroutineLabels(context.Background()) // these goroutines belong to no request
	go p.profile()
	go p.watchLoad()
	if p.number("control.enabled", 1) != 0 {
		go p.askOn()
	}
	return p
}

// Stop sends what there is.
func (p *Profiler) Stop() {
	p.mu.Lock()
	p.isStopped = true
	p.mu.Unlock()
	p.settle()
	<-p.ended
}

// ServeHTTP is an endpoint for a program of your own: GET says whether profiling is on, POST and
// DELETE switch it until the next change at the server.
func (p *Profiler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodPost, http.MethodDelete:
		isOn := r.Method == http.MethodPost
		p.mu.Lock()
		p.own = &isOn
		p.mu.Unlock()
		p.settle()
	case http.MethodGet:
	default:
		w.Header().Set("Allow", "GET, POST, DELETE")
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"enabled": p.isEnabled(), "rate": p.rate})
}

var numbers = regexp.MustCompile(`^(\d+(?:\.\d+)?)([A-Za-z%]*)$`)
var units = map[string]float64{"": 1, "%": .01, "ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "m": 60, "h": 3600, "d": 86400,
	"B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30}

// What the server says, else SPANFLAME_PROFILING_*: a share, seconds, bytes. Needs the lock.
func (p *Profiler) number(name string, otherwise float64) float64 {
	key := "SPANFLAME_PROFILING_" + strings.ToUpper(strings.ReplaceAll(name, ".", "_"))
	for _, text := range []string{p.doc[name], os.Getenv(key)} {
		if text == "true" || text == "false" {
			return map[string]float64{"true": 1}[text]
		}
		if found := numbers.FindStringSubmatch(text); found != nil && units[found[2]] > 0 {
			number, _ := strconv.ParseFloat(found[1], 64)
			return number * units[found[2]]
		}
	}
	return otherwise
}

func (p *Profiler) isEnabled() bool {
	if p.own != nil {
		return *p.own
	}
	return p.doc["enabled"] != "false"
}

func (p *Profiler) wanted() int {
	switch {
	case p.isStopped:
		return 0
	case p.capture > 0:
		return min(p.capture, mostHz)
	case !p.isEnabled() || p.isPaused:
		return 0
	}
	hz := p.number("cpu.sample_rate", 100)
	if float64(time.Now().UnixMilli()) < p.number("rate.until", math.Inf(1)) {
		hz = p.number("rate.cpu", hz)
	}
	return max(1, min(mostHz, int(hz*p.lowered)))
}

func (p *Profiler) setShare() {
	chosenShare.Store(int64(10000 * max(p.number("conditional.share", 1), p.number("conditional.baseline", .01))))
}

// ---- sampling ----

// Waits until what holds now is in effect, and what was sampled before is sent.
func (p *Profiler) settle() {
	done := make(chan struct{})
	select {
	case p.change <- done:
		<-done
	case <-p.ended:
	}
}

func (p *Profiler) profile() {
	var window bytes.Buffer
	var from time.Time
	var done chan struct{}
	for running := 0; ; {
		p.mu.Lock()
		hz, isLast, interval := p.wanted(), p.isStopped, p.number("upload_interval", 10)
		p.mu.Unlock()
		var sent []byte
		since := from
		if running > 0 {
			pprof.StopCPUProfile()
			sent = bytes.Clone(window.Bytes())
			window.Reset()
		}
		problem := ""
		if running = hz; hz > 0 {
			if hz != 100 {
				runtime.SetCPUProfileRate(hz) // the runtime prints a line about this at the next start, and keeps the rate
			}
			from = time.Now()
			if err := pprof.StartCPUProfile(&window); err != nil {
				running, problem = 0, err.Error() // somebody else profiles: the next window may do
			}
		}
		p.mu.Lock()
		p.rate, p.problem = running, problem
		p.mu.Unlock()
		if sent != nil {
			p.send(sent, since)
		}
		if done != nil {
			close(done)
			done = nil
		}
		if isLast {
			close(p.ended)
			return
		}
		select {
		case done = <-p.change:
		case <-time.After(time.Duration(interval * float64(time.Second))):
		}
	}
}

func (p *Profiler) request(method, path string, query url.Values, body io.Reader) (*http.Request, error) {
	request, err := http.NewRequest(method, p.server+path+"?"+query.Encode(), body)
	if err == nil && os.Getenv("PYROSCOPE_AUTH_TOKEN") != "" {
		request.Header.Set("Authorization", "Bearer "+os.Getenv("PYROSCOPE_AUTH_TOKEN"))
	}
	return request, err
}

func (p *Profiler) send(profile []byte, from time.Time) {
	var labels []string
	for key, value := range Tags() {
		if !strings.ContainsAny(value, "{},=") {
			labels = append(labels, key+"="+value)
		}
	}
	query := url.Values{"name": {p.service + "{" + strings.Join(labels, ",") + "}"}, "format": {"pprof"}, "spyName": {"gospy"},
		"from": {strconv.FormatInt(from.UnixNano(), 10)}, "until": {strconv.FormatInt(time.Now().UnixNano(), 10)}}
	request, err := p.request(http.MethodPost, "/ingest", query, bytes.NewReader(profile))
	if err != nil {
		return
	}
	request.Header.Set("Content-Type", "application/octet-stream")
	answer, err := (&http.Client{Timeout: 10 * time.Second}).Do(request)
	if err != nil {
		return // what cannot be sent is lost, as with pyroscope-go
	}
	_, _ = io.Copy(io.Discard, answer.Body)
	answer.Body.Close()
}

// ---- load ----

// Busy and all CPU time of the host, in ticks; that of the process in seconds.
func cpuTimes() (busy, all, own float64) {
	stat, _ := os.ReadFile("/proc/stat")
	line, _, _ := strings.Cut(string(stat), "\n")
	for i, field := range strings.Fields(line) {
		if ticks, err := strconv.ParseFloat(field, 64); err == nil && i >= 1 && i <= 8 {
			all += ticks
			if i != 4 && i != 5 {
				busy += ticks
			}
		}
	}
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return busy, all, float64(used.Utime.Nano()+used.Stime.Nano()) / 1e9
}

// Halves the rate above the thresholds, and pauses while the host is overloaded.
func (p *Profiler) watchLoad() {
	over, at := 0, time.Now()
	busy, all, own := cpuTimes()
	for {
		p.mu.Lock()
		interval := p.number("adaptive.interval", 10)
		p.mu.Unlock()
		select {
		case <-p.ended:
			return
		case <-time.After(time.Duration(interval * float64(time.Second))):
		}
		busyNow, allNow, ownNow := cpuTimes()
		host := (busyNow - busy) / max(1, allNow-all)
		process := (ownNow - own) / time.Since(at).Seconds() / float64(runtime.GOMAXPROCS(0))
		busy, all, own, at = busyNow, allNow, ownNow, time.Now()
		var memory runtime.MemStats
		runtime.ReadMemStats(&memory)
		p.mu.Lock()
		pauseAt := p.number("load_shedding.cpu_threshold", .9)
		if over++; host < pauseAt {
			over = 0
		}
		if p.number("load_shedding.enabled", 1) == 0 || host < pauseAt-.1 {
			p.isPaused = false
		} else if over >= 2 {
			p.isPaused = true
		}
		isLoaded := max(host, process) >= p.number("adaptive.cpu_threshold", .8) ||
			float64(memory.HeapAlloc) >= p.number("adaptive.memory_threshold", 512e6)
		switch {
		case p.number("adaptive.enabled", 0) == 0:
			p.lowered = 1
		case isLoaded:
			p.lowered = max(1./8, p.lowered/2)
		default:
			p.lowered = min(1, p.lowered+1./4)
		}
		isOther := p.wanted() != p.rate
		p.mu.Unlock()
		if isOther {
			p.settle()
		}
	}
}

// ---- the server's word ----

func (p *Profiler) ask(news url.Values) (int, error) {
	p.mu.Lock()
	host, _ := os.Hostname()
	query := url.Values{"format": {"text"}, "service": {p.service}, "instance": {Instance()}, "wait": {"30s"},
		"rate": {strconv.Itoa(p.rate)}, "paused": {strconv.FormatBool(p.rate == 0)}, "pid": {strconv.Itoa(os.Getpid())},
		"host": {host}, "agent": {"spanflame-go/1"}}
	if p.problem != "" {
		query.Set("problem", p.problem[:min(len(p.problem), 150)])
	}
	for key := range news {
		query.Set("wait", "1s") // the news first
		query[key] = news[key]
	}
	version := p.doc["version"]
	p.mu.Unlock()
	request, err := p.request(http.MethodGet, "/api/v1/control", query, nil)
	if err != nil {
		return 0, err
	}
	if version != "" {
		request.Header.Set("If-None-Match", `"`+version+`"`)
	}
	answer, err := (&http.Client{Timeout: 45 * time.Second}).Do(request)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, 65536))
	if answer.StatusCode == http.StatusOK && err == nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.own, p.doc = nil, map[string]string{} // what was stated last holds
		for _, line := range strings.Split(string(body), "\n") {
			key, value, _ := strings.Cut(line, " ")
			p.doc[key] = value
		}
		p.setShare()
	}
	return answer.StatusCode, err
}

func (p *Profiler) askOn() {
	var news url.Values
	for failures := 0; ; {
		status, err := p.ask(news)
		pause := 100 * time.Millisecond
		switch {
		case err == nil && (status == 200 || status == 304):
			failures, news = 0, nil
			if status == 200 {
				news = p.take()
			}
		case err == nil && (status == 401 || status == 403 || status == 404 || status == 405):
			pause = 10 * time.Minute
		default:
			failures = min(failures+1, 4)
			pause = 250 * time.Millisecond << failures
		}
		select {
		case <-p.ended:
			return
		case <-time.After(pause/2 + rand.N(pause)):
		}
	}
}

// Obeys; a capture is taken to its end. What there is to tell of it.
func (p *Profiler) take() url.Values {
	var id, kinds string
	var hz, seconds int
	p.mu.Lock()
	n, _ := fmt.Sscan(p.doc["capture"], &id, &kinds, &hz, &seconds)
	isOther := p.wanted() != p.rate
	isNew := n == 4 && id != p.taken
	if isNew {
		p.taken, p.capture = id, hz
	}
	p.mu.Unlock()
	if isOther || isNew {
		p.settle()
	}
	if !isNew {
		return nil
	}
	from := time.Now()
	time.Sleep(time.Duration(seconds) * time.Second)
	p.mu.Lock()
	p.capture = 0
	p.mu.Unlock()
	until := time.Now()
	p.settle() // what was sampled is at the server when this is told
	return url.Values{"capture": {id}, "from": {strconv.FormatInt(from.UnixNano(), 10)},
		"until": {strconv.FormatInt(until.UnixNano(), 10)}}
}
