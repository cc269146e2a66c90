package main

import "context"

//go:noinline
func computeHash(i int) uint64 { // a million of them
	n := uint64(i)
	for j := uint64(0); j < 1500; j++ {
		n = n*6364136223846793005 + j
	}
	kept ^= n
	return n
}

func main() {
	setUp()
	handleRequest(context.Background())
	select {}
}
