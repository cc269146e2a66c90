// Tempo's own TraceQL parser and checks, built inside a checkout of Tempo (see tempo_source_clients.py): reads one query
// from each line of standard input, as JSON, and prints one line for each, "" or why it is refused.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/tempo/pkg/traceql"
)

func verdict(query string) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	expr, err := traceql.Parse(query)
	if err != nil {
		return err
	}
	return traceql.Validate(expr)
}

func main() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<22)
	for in.Scan() {
		var query string
		if err := json.Unmarshal(in.Bytes(), &query); err != nil {
			panic(err)
		}
		said := ""
		if err := verdict(query); err != nil {
			said = err.Error()
		}
		line, _ := json.Marshal(said)
		fmt.Println(string(line))
	}
}
