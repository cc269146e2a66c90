// A program that writes one profile of each kind Go has into the folder it is given.
package main

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"time"
)

var (
	kept [][]byte
	mu   sync.Mutex
)

//go:noinline
func burn(d time.Duration) (n int) {
	for end := time.Now().Add(d); time.Now().Before(end); n++ {
	}
	return n
}

//go:noinline
func allocate() {
	for i := 0; i < 2000; i++ {
		kept = append(kept, make([]byte, 1024+i))
	}
}

func contend() {
	var wg sync.WaitGroup
	for i := 0; i < 4; i++ {
		wg.Add(1)
		go func() {
			defer wg.Done()
			mu.Lock()
			time.Sleep(5 * time.Millisecond)
			mu.Unlock()
		}()
	}
	wg.Wait()
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	runtime.SetMutexProfileFraction(1)
	runtime.SetBlockProfileRate(1)
	runtime.MemProfileRate = 4096
	cpu, err := os.Create(filepath.Join(os.Args[1], "cpu"))
	check(err)
	check(pprof.StartCPUProfile(cpu))
	pprof.Do(context.Background(), pprof.Labels("route", "/cart", "span_id", "00f067aa0ba902b7"),
		func(context.Context) { burn(400 * time.Millisecond) })
	burn(200 * time.Millisecond)
	pprof.StopCPUProfile()
	check(cpu.Close())
	allocate()
	contend()
	runtime.GC()
	for _, name := range []string{"heap", "allocs", "mutex", "block", "goroutine", "threadcreate"} {
		out, err := os.Create(filepath.Join(os.Args[1], name))
		check(err)
		check(pprof.Lookup(name).WriteTo(out, 0))
		check(out.Close())
	}
}
