// A Go service as it is everywhere: net/http/pprof and a handler that works. The handler's samples carry the ids of its span
// when it is told them.
package main

import (
	"context"
	"fmt"
	"net/http"
	_ "net/http/pprof"
	"os"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

//go:noinline
func burn(until time.Time) (n int) {
	for time.Now().Before(until) {
		for i := 0; i < 1000; i++ {
			n += i * i
		}
	}
	return n
}

var kept [][]byte

//go:noinline
func allocate(n int) {
	for i := 0; i < n; i++ {
		kept = append(kept, make([]byte, 10000))
	}
	kept = nil
}

func main() {
	runtime.MemProfileRate = 4096
	runtime.SetMutexProfileFraction(1)
	http.HandleFunc("/work", func(w http.ResponseWriter, r *http.Request) {
		labels := pprof.Labels("trace_id", r.FormValue("trace"), "span_id", r.FormValue("span"))
		if r.FormValue("trace") == "" {
			labels = pprof.Labels()
		}
		pprof.Do(context.Background(), labels, func(context.Context) { burn(time.Now().Add(1500 * time.Millisecond)) })
	})
	http.HandleFunc("/allocate", func(w http.ResponseWriter, r *http.Request) {
		allocate(5000)
		for i := 0; i < 3; i++ {
			runtime.GC() // a heap profile is of the last collection but one
		}
	})
	http.HandleFunc("/lock", func(w http.ResponseWriter, r *http.Request) {
		var m sync.Mutex
		var all sync.WaitGroup
		for i := 0; i < 20; i++ {
			all.Add(1)
			go func() { m.Lock(); time.Sleep(5 * time.Millisecond); m.Unlock(); all.Done() }()
		}
		all.Wait()
	})
	fmt.Println(http.ListenAndServe(os.Args[1], nil))
}
