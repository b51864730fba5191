import assert from 'node:assert/strict';
import type { TestSandbox } from '../../targets/target.js';
import { run, startProcess } from '../../wire/run.js';

/** A program that answers HTTP with what it was asked. Node runs in every sandbox: the daemon does. */
const ECHO = `
const http = require('http');
let held;
const server = http.createServer((req, res) => {
  if (req.url === '/held') { held = res; res.write('first\\n'); return; }
  if (req.url === '/go-on') held.end('last\\n');
  let body = ''; req.on('data', (d) => { body += d; });
  req.on('end', () => { res.setHeader('X-Echo', 'yes'); res.setHeader('Content-Type', 'application/json');
    res.end(JSON.stringify({ method: req.method, url: req.url, headers: req.headers, body })); });
});
server.on('upgrade', (req, socket) => {
  socket.write('HTTP/1.1 101 Switching Protocols\\r\\nUpgrade: echo\\r\\nConnection: Upgrade\\r\\n\\r\\n');
  socket.on('data', (d) => socket.write(d));
  socket.on('end', () => socket.end());
  socket.on('error', () => {});
});
server.listen(0, process.argv[1] || '0.0.0.0', () => console.log('port ' + server.address().port));
`;

export interface Echo {
  port: number;
  stop(): void;
}

/** Serves {@link ECHO} in a sandbox. */
export async function serveEcho(sandbox: TestSandbox, address = '0.0.0.0'): Promise<Echo> {
  const finder = await run(sandbox, 'command -v node || true');
  const node = finder.stdout.trim() === '' ? '/usr/bin/node' : finder.stdout.trim();
  const running = await startProcess(sandbox, { cmd: node, args: ['-e', ECHO, address] });
  const port = Number(/port (\d+)\n/.exec(await running.until('\n'))?.[1]);
  assert.ok(port > 0);
  return { port, stop: () => running.leave() };
}
