// Tempo's own TraceQL parser and checks, built inside a checkout of Tempo (see tempo_source_clients.py): reads one query
// from each line of standard input, as JSON, and prints one line for each, "" or why it is refused. Several =~ or !~ of one
// attribute are joined before its checks look at patterns; a bad one among them is refused where a block is read, by the
// matcher that is made here, too.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/grafana/tempo/pkg/regexp"
	"github.com/grafana/tempo/pkg/traceql"
)

func checkPatterns(query string) error {
	_, requests, err := traceql.CompileFetchSpanRequests(query)
	if err != nil {
		return err
	}
	for _, request := range requests {
		for _, condition := range append(request.Conditions, request.SecondPassConditions...) {
			if condition.Op != traceql.OpRegexMatchAny && condition.Op != traceql.OpRegexMatchNone {
				continue
			}
			for _, operand := range condition.Operands {
				patterns, _ := operand.StringArray()
				if _, err := regexp.NewRegexp(patterns, true); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

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
	if err := traceql.Validate(expr); err != nil {
		return err
	}
	return checkPatterns(query)
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
