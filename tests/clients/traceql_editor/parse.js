// The grammar of Grafana's TraceQL editor: reads a JSON list of queries, prints a list of whether it takes them.
'use strict';
const { parser } = require('@grafana/lezer-traceql');

function isTaken(query) {
  let ok = true;
  parser.parse(query).iterate({ enter: (node) => { if (node.type.isError) ok = false; } });
  return ok;
}

const queries = JSON.parse(require('fs').readFileSync(0, 'utf8'));
console.log(JSON.stringify(queries.map(isTaken)));
