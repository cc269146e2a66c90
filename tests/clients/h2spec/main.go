// h2spec, as a program that says what it found as JSON: the address is its argument.
package main

import (
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/summerwind/h2spec"
	"github.com/summerwind/h2spec/config"
)

func main() {
	port, err := strconv.Atoi(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, "h2spec PORT REPORT")
		os.Exit(2)
	}
	_, err = h2spec.Run(&config.Config{
		Host: "127.0.0.1", Port: port, Path: "/", Timeout: 2 * time.Second, MaxHeaderLen: 4000, JUnitReport: os.Args[2],
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
