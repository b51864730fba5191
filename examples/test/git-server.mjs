// A git server over HTTPS that asks for user and password: `node git-server.mjs SETTINGS`, in JSON: { host, directory, root,
// credentials }. Certificate in `directory`, repositories in `root`. Writes what it was asked to `directory`/git-seen.
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import https from 'node:https';

const { host, directory, root, credentials } = JSON.parse(process.argv[2]);
const expected = `Basic ${Buffer.from(credentials).toString('base64')}`;
const tls = { key: readFileSync(`${directory}/server.key`), cert: readFileSync(`${directory}/server.pem`) };

https
  .createServer(tls, (request, response) => {
    const { method, url, headers } = request;
    const { authorization } = headers;
    appendFileSync(`${directory}/git-seen`, `${JSON.stringify({ method, url, authorization })}\n`);
    if (authorization !== expected) {
      response.writeHead(401, { 'WWW-Authenticate': 'Basic realm="git"' });
      response.end('who are you?\n');
      request.resume();
      return;
    }
    const [pathname, query = ''] = url.split('?');
    const backend = spawn('git', ['http-backend'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: {
        PATH: process.env.PATH,
        GIT_PROJECT_ROOT: root,
        GIT_HTTP_EXPORT_ALL: '1',
        GIT_CONFIG_COUNT: '1',
        GIT_CONFIG_KEY_0: 'safe.directory',
        GIT_CONFIG_VALUE_0: '*',
        REQUEST_METHOD: method,
        PATH_INFO: decodeURIComponent(pathname),
        QUERY_STRING: query,
        CONTENT_TYPE: headers['content-type'] ?? '',
        HTTP_CONTENT_ENCODING: headers['content-encoding'] ?? '',
        GIT_PROTOCOL: headers['git-protocol'] ?? '',
        REMOTE_USER: 'agent',
        REMOTE_ADDR: request.socket.remoteAddress,
      },
    });
    request.pipe(backend.stdin);
    backend.stdin.on('error', () => {});
    let head = Buffer.alloc(0);
    backend.stdout.on('data', function onHead(data) {
      head = Buffer.concat([head, data]);
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      backend.stdout.off('data', onHead);
      const lines = head.subarray(0, end).toString().split('\r\n');
      const fields = lines.map((line) => line.split(/: */));
      const status = fields.find(([name]) => name === 'Status')?.[1] ?? '200';
      response.writeHead(Number.parseInt(status, 10), fields.filter(([name]) => name !== 'Status').flat());
      response.write(head.subarray(end + 4));
      backend.stdout.pipe(response);
    });
  })
  .listen(443, host, () => console.log('ready'));
