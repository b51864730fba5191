import { once } from 'node:events';
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http';
import https from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { Command } from 'commander';
import { act, leaf } from '../../cli/leaf.js';
import { CliError, UsageError } from '../../errors/cli-error.js';
import { parseDuration } from '../../parse/duration.js';
import { portNumber, wholeNumber } from '../../parse/number.js';

interface PortFlags {
  check?: boolean;
  local?: number;
  expires?: number;
  path?: string;
}

export function addPort(sandbox: Command): void {
  addPortCommand(
    leaf(
      sandbox,
      'port',
      'print the address of a port of a sandbox, sign a link to it, or forward it to this machine',
    ),
  );
}

/** The same under either name: `svc sandbox port`, `svc port`. */
export function addPortCommand(port: Command): void {
  port
    .argument('<id>')
    .argument('<port>')
    .option('--check', 'send a request and print the status of the answer')
    .option(
      '--local <port>',
      'forward this port of this machine to it (HTTP and WebSockets); 0: any free port',
      wholeNumber('--local', 0, 65_535),
    )
    .option(
      '--expires <time>',
      'print a link that opens the private port until then, to everybody who has it: 90s, 1h',
      parseDuration,
    )
    .option('--path <path>', 'with --expires: what the link opens first')
    .action(
      act(async (cli, id: string, text: string, { check, local, expires, path }: PortFlags) => {
        if ([check, local, expires].filter((flag) => flag !== undefined).length > 1) {
          throw new UsageError('Use one of --check, --local and --expires.');
        }
        if (path !== undefined && expires === undefined) throw new UsageError('--path needs --expires.');
        const port = portNumber(text);
        const { signal } = cli;
        const handle = await cli.sandbox(id);
        if (local !== undefined) return forward(local);
        const url =
          expires === undefined
            ? handle.url(port)
            : await handle.url(port, { signed: { expiresInMs: expires, path } });
        const status = check ? await ask() : undefined;
        cli.out.result(
          { sandboxId: id, port, url, host: handle.host(port), ...(status === undefined ? {} : { status }) },
          () => (status === undefined ? `${url}\n` : `${url}  ${status}\n`),
        );

        async function ask(): Promise<number> {
          const response = await handle.fetch(port, '/', { signal });
          await response.body?.cancel();
          return response.status;
        }

        async function forward(localPort: number): Promise<void> {
          const forwarded = await forwardPort(handle.routeTo(port), localPort);
          try {
            cli.out.record({ sandboxId: id, port, url: forwarded.url }, () => forwarded.url);
            cli.out.note(
              `Forwards to port ${port} of ${id}, for programs on this machine only. Ctrl+C stops it.`,
            );
            if (!signal.aborted) await once(signal, 'abort');
          } finally {
            await forwarded.close();
          }
        }
      }),
    );
}

/** The route by which any HTTP client reaches a port of a sandbox. */
interface Route {
  url: string;
  headers: Record<string, string>;
}

interface ForwardedPort {
  /** `http://127.0.0.1:<port>`. */
  url: string;
  close(): Promise<void>;
}

/** Headers that are about one connection, not about the request. */
const ofOneConnection = [
  'host',
  'connection',
  'keep-alive',
  'proxy-connection',
  'transfer-encoding',
  'upgrade',
];

/**
 * Listens on this machine, and on it alone, and hands every HTTP request and WebSocket on to a port of a sandbox.
 * @param local port to listen on; 0 takes any free one
 * @throws {CliError} when the port is taken
 */
async function forwardPort(route: Route, local: number): Promise<ForwardedPort> {
  const target = new URL(route.url);
  const { request } = target.protocol === 'https:' ? https : http;
  const agent = new (target.protocol === 'https:' ? https : http).Agent({ keepAlive: true });
  const sockets = new Set<Duplex>();

  const ask = (req: IncomingMessage, more: Record<string, string> = {}) =>
    request(`${target.origin}${req.url ?? '/'}`, {
      method: req.method,
      headers: { ...withoutConnection(req.headers), ...more, ...route.headers },
      agent: 'Upgrade' in more ? false : agent,
    });

  const server = http.createServer((req, res) => {
    const outgoing = ask(req);
    outgoing.on('response', (answer) => {
      res.writeHead(answer.statusCode ?? 502, withoutConnection(answer.headers));
      answer.pipe(res);
      answer.on('error', () => res.destroy());
    });
    outgoing.on('error', (error) => {
      if (res.headersSent) return res.destroy();
      res.writeHead(502, { 'Content-Type': 'text/plain; charset=utf-8' });
      res.end(`No answer from ${target.origin}: ${error.message}\n`);
    });
    res.on('close', () => outgoing.destroy());
    req.pipe(outgoing);
  });

  server.on('upgrade', (req, socket, head) => {
    const outgoing = ask(req, { Connection: 'Upgrade', Upgrade: req.headers.upgrade ?? 'websocket' });
    socket.on('error', () => outgoing.destroy());
    outgoing.on('upgrade', (answer, upstream: Socket, first) => {
      socket.write(headOf(answer));
      upstream.write(head);
      socket.write(first);
      upstream.on('error', () => socket.destroy());
      socket.on('close', () => upstream.destroy());
      upstream.on('close', () => socket.destroy());
      upstream.pipe(socket).pipe(upstream);
    });
    outgoing.on('response', (answer) => {
      // Refused: the answer is handed on whole, and the connection ends with it.
      socket.write(headOf(answer, { connection: 'close' }));
      answer.pipe(socket);
    });
    outgoing.on('error', () => socket.destroy());
    outgoing.end();
  });
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });

  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(local, '127.0.0.1', resolve);
  }).catch((error: NodeJS.ErrnoException) => {
    const why =
      error.code === 'EADDRINUSE' ? 'it is taken' : error.code === 'EACCES' ? 'you may not' : error.message;
    throw new CliError(`Port ${local} of this machine cannot be opened: ${why}.`, {
      code: 'port_taken',
      hint: 'Choose another with --local; 0 picks any free port.',
    });
  });
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      agent.destroy();
      await closed;
    },
  };
}

function withoutConnection(headers: IncomingHttpHeaders): IncomingHttpHeaders {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !ofOneConnection.includes(name)));
}

/** The head of an answer as it goes over the wire. */
function headOf(answer: IncomingMessage, more: Record<string, string> = {}): string {
  const { statusCode, statusMessage, rawHeaders } = answer;
  const lines = [`HTTP/1.1 ${statusCode} ${statusMessage}`];
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const name = rawHeaders[at] ?? '';
    const framed = 'connection' in more && /^(connection|keep-alive|transfer-encoding)$/i.test(name);
    if (!framed) lines.push(`${name}: ${rawHeaders[at + 1]}`);
  }
  for (const [name, value] of Object.entries(more)) lines.push(`${name}: ${value}`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}
