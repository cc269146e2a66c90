// The TypeScript SDK as people use it: over HTTP (an address) or as a child process (a command).
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [word, ...rest] = process.argv.slice(2);
const transport = word.startsWith("http") ? new StreamableHTTPClientTransport(new URL(word)) : new StdioClientTransport({ command: word, args: rest });
const client = new Client({ name: "test", version: "1" });
await client.connect(transport);
const { tools } = await client.listTools();
const answer = await client.callTool({ name: "services", arguments: {} });
const deploys = await client.callTool({ name: "deploys", arguments: { service: "<b>shop</b>", since: "2h" } });
const wrong = await client.callTool({ name: "search", arguments: { query: "{}" } });
console.log(
  JSON.stringify({
    server: client.getServerVersion().name,
    tools: tools.map((t) => t.name).sort(),
    schemas: tools.every((t) => t.inputSchema.type === "object"),
    text: answer.content[0].text,
    error: answer.isError === true,
    deploys: deploys.content[0].text,
    wrong: wrong.content[0].text,
    wrong_is_error: wrong.isError === true,
  }),
);
await client.close();
