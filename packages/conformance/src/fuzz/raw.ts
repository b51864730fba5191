import { connect } from 'node:net';
import type { FuzzReport } from './report.js';
import { pick, type Random } from './values.js';

/** Requests that no HTTP client would send. `{}` is replaced by what routes to a sandbox. */
const REQUESTS = [
  'GET / HTTP/9.9\r\n\r\n',
  'nonsense\r\n\r\n',
  'GET /v2/sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n',
  'POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello',
  'POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\nhello\r\n',
  'POST /v2/sandboxes HTTP/1.1\r\nHost: x\r\n{}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"templ',
  `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: x\r\n\r\n`,
  `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'b'.repeat(60_000)}\r\n\r\n`,
  'GET /%zz%00 HTTP/1.1\r\nHost: x\r\n{}\r\n',
  'GET http://other.example.com/health HTTP/1.1\r\nHost: x\r\n{}\r\n',
  'CONNECT 127.0.0.1:22 HTTP/1.1\r\nHost: x\r\n{}\r\n',
  'POST /process.Process/StreamInput HTTP/1.1\r\nHost: x\r\n{}Content-Type: application/connect+json\r\nConnect-Protocol-Version: 1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n\0\0\0\0',
  'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n{}\r\n',
  'GET / HTTP/1.1\nHost: x\n\n',
  'OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n',
  '\r\n\r\n\r\n',
  '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03',
];

/** Sends broken bytes, whole or drop by drop, and leaves. The server may answer anything, and must continue. */
export function fuzzRaw(url: string, routing: string, random: Random, report: FuzzReport): Promise<void> {
  const { hostname, port } = new URL(url);
  const text = pick(random, REQUESTS).replace('{}', routing);
  const slow = random() < 0.3;
  return new Promise((resolve) => {
    const socket = connect(Number(port), hostname);
    let got = '';
    let timer: NodeJS.Timeout | undefined;
    const end = () => {
      clearTimeout(timer);
      socket.destroy();
      report.count('raw bytes', /^HTTP\/1\.1 (\d+)/.exec(got)?.[1] ?? 'closed');
      if (/^HTTP\/1\.1 500/.test(got))
        report.fail(`500 to ${JSON.stringify(text.slice(0, 100))}: ${got.slice(0, 300)}`);
      resolve();
    };
    socket.on('data', (data) => {
      got += data.toString('latin1');
    });
    socket.on('error', () => {});
    socket.on('close', end);
    socket.setTimeout(400, end);
    if (!slow) socket.write(text);
    else {
      let at = 0;
      const drip = () => {
        if (at >= Math.min(text.length, 120)) return;
        socket.write(text.slice(at, at + 6));
        at += 6;
        timer = setTimeout(drip, 20);
      };
      drip();
    }
  });
}
