// Gives somebody a link to a page in a private sandbox, for a minute. Without it the page is closed.
import http from 'node:http';
import https from 'node:https';
import { Sandbox } from '@svc/sdk';

const sandbox = await Sandbox.create({ network: { allowPublicTraffic: false } });
try {
  const port = 20_000 + Math.floor(Math.random() * 12_000);
  await sandbox.files.write('site/index.html', '<h1>For your eyes only</h1>');
  await sandbox.commands.start(`python3 -m http.server ${port} --bind 127.0.0.1 --directory site`);
  await sandbox.waitForPort(port);

  const link = await sandbox.url(port, { signed: { expiresInMs: 60_000, path: '/index.html' } });
  const closed = await open(sandbox.url(port));
  console.log(`without the link: ${closed.status}`);
  const direct = await open(link);
  console.log(`curl: ${direct.status} ${direct.body}`);

  // A browser is sent on to the address without the link, and shows a cookie from then on.
  const browser = { 'User-Agent': 'Mozilla/5.0', Accept: 'text/html' };
  const first = await open(link, browser);
  const clean = new URL(first.headers.location, link);
  const cookie = first.headers['set-cookie'][0].split(';')[0];
  const second = await open(clean, { ...browser, Cookie: cookie });
  console.log(`a browser: ${first.status} to ${clean.pathname}${clean.search}, then ${second.status}`);
} finally {
  await sandbox.kill();
}

/** Asks as curl and browsers do, for which every name under localhost is this machine; Node.js looks such names up. */
function open(address, headers = {}) {
  const url = new URL(address);
  const local = url.hostname.endsWith('.localhost') ? { hostname: '127.0.0.1' } : {};
  const { get } = url.protocol === 'https:' ? https : http;
  return new Promise((resolve, reject) => {
    const { protocol, port, pathname, search, hostname } = url;
    const options = { protocol, hostname, port, path: pathname + search, ...local };
    get({ ...options, headers: { Host: url.host, ...headers } }, async (answer) => {
      const pieces = await answer.toArray();
      resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces).toString() });
    }).on('error', reject);
  });
}
