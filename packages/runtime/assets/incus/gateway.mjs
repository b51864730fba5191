// The way into the network of a trial cluster, for this machine's own programs: takes CONNECT requests on a unix socket and
// connects inside the network namespace that it runs in, to addresses of the cluster alone.
// usage: node gateway.mjs SOCKET PREFIX     (PREFIX such as 10.77.)
import { rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { connect } from 'node:net';

const [socketPath, prefix] = process.argv.slice(2);
/** A machine that is there answers at once; one that is away does not answer at all. */
const CONNECT_MS = 10_000;

const server = createServer((_request, response) => response.writeHead(405).end());
server.on('connect', (request, client, head) => {
  client.on('error', () => client.destroy());
  const [, host, port] = /^(\d{1,3}(?:\.\d{1,3}){3}):(\d{1,5})$/.exec(request.url ?? '') ?? [];
  const refuse = (status, text) => client.end(`HTTP/1.1 ${status} ${text}\r\n\r\n`);
  if (host === undefined || Number(port) > 65_535 || !host.startsWith(prefix))
    return refuse(403, 'Forbidden');
  const target = connect({ host, port: Number(port), noDelay: true, allowHalfOpen: true });
  const timer = setTimeout(
    () => target.destroy(Object.assign(new Error('too late'), { code: 'ETIMEDOUT' })),
    CONNECT_MS,
  );
  target.once('error', (error) => {
    clearTimeout(timer);
    if (target.bytesRead > 0 || client.bytesWritten > 0) return client.destroy();
    const refused = error.code === 'ECONNREFUSED' || error.code === 'ECONNRESET';
    refuse(...(refused ? [502, 'Bad Gateway'] : [504, 'Gateway Timeout']));
  });
  target.once('connect', () => {
    clearTimeout(timer);
    client.write('HTTP/1.1 200 OK\r\n\r\n');
    if (head.length > 0) target.write(head);
    client.pipe(target).pipe(client);
    target.on('error', () => client.destroy());
    client.once('close', () => target.destroy());
  });
});
server.timeout = 0;
rmSync(socketPath, { force: true });
process.umask(0o177);
server.listen(socketPath);
