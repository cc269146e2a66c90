package main

import (
	"os"
	"runtime/pprof"
)

type Result struct{}

func steps(n int) { // of the CPU, however busy the machine is
	for range n {
		kept = step(kept)
	}
}

//go:noinline
func parseComplexJSON(data []byte) []byte { steps(4000); return data }

//go:noinline
func validateSchema(data []byte) []byte { steps(1000); return data }

//go:noinline
func transform(data []byte) Result { steps(500); return Result{} }

//go:noinline
func streamParse(data []byte) []byte { steps(1500); return data }

//go:noinline
func fastValidate(data []byte) []byte { steps(500); return data }

func profiled(file string, request func([]byte) Result) {
	f, err := os.Create(file)
	if err != nil {
		panic(err)
	}
	_ = pprof.StartCPUProfile(f)
	request(nil)
	pprof.StopCPUProfile()
	_ = f.Close()
}

func main() {
	profiled("before.prof", processRequest)
	profiled("after.prof", processRequestOptimized)
}
