// Programs of the fake internet: they run in other network namespaces, as text, so that nothing has to be built for them.

/** Connects, for who says a host and a port on a Unix socket, from where it runs. Argument: path of the socket. */
export const RELAY_PROGRAM = `
const net = require('node:net');
net.createServer({ allowHalfOpen: true }, (near) => {
  near.on('error', () => {});
  let head = '';
  near.on('data', function onData(data) {
    head += data.toString('latin1');
    const end = head.indexOf('\\n');
    if (end < 0) return;
    near.off('data', onData);
    near.pause();
    const [host, port] = head.slice(0, end).split(' ');
    const rest = Buffer.from(head.slice(end + 1), 'latin1');
    const far = net.connect({ host, port: Number(port), noDelay: true, allowHalfOpen: true });
    far.on('error', () => near.destroy());
    near.on('error', () => far.destroy());
    far.on('close', () => near.destroy());
    far.once('connect', () => {
      near.write('+');
      far.write(rest);
      near.pipe(far);
      far.pipe(near);
    });
  });
}).listen(process.argv[1], () => console.log('ready'));
`;

/** Leads connections to a port of its loopback to a Unix socket. Argument: path of the socket. Prints the port. */
export const INWARD_PROGRAM = `
const net = require('node:net');
const server = net.createServer({ allowHalfOpen: true, noDelay: true }, (near) => {
  const far = net.connect({ path: process.argv[1], allowHalfOpen: true });
  for (const [one, other] of [[near, far], [far, near]]) one.on('error', () => {}).on('close', () => other.destroy());
  near.pipe(far);
  far.pipe(near);
}).listen(0, '127.0.0.1', () => {
  console.log(server.address().port);
  console.log('ready');
});
`;

/** The servers of the world. Argument: JSON of addresses, names, user and directory. Appends what they see to `seen` there, as JSON lines. */
export const WORLD_PROGRAM = `
const dgram = require('node:dgram');
const fs = require('node:fs');
const http = require('node:http');
const https = require('node:https');
const net = require('node:net');
const path = require('node:path');
const { createServer: createTlsServer } = require('node:tls');
const { addresses, names, user, directory } = JSON.parse(process.argv[1]);
const seenFile = fs.openSync(directory + '/seen', 'a');
const see = (seen) => fs.writeSync(seenFile, JSON.stringify(seen) + '\\n');
process.on('uncaughtException', (error) => process.stderr.write(String(error.stack) + '\\n'));

const chunk = Buffer.alloc(65536, 'x');
function send(response, bytes) {
  let left = bytes;
  const more = () => {
    while (left > 0) {
      const size = Math.min(left, chunk.length);
      left -= size;
      if (!response.write(size === chunk.length ? chunk : chunk.subarray(0, size))) return response.once('drain', more);
    }
    response.end();
  };
  more();
}
const answer = (server) => (request, response) => {
  const { method, url, headers } = request;
  see({ server, method, url, headers, from: request.socket.remoteAddress, to: request.socket.localAddress });
  const size = /^\\/bytes\\/(\\d+)$/.exec(url);
  if (size !== null) {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': size[1] });
    return send(response, Number(size[1]));
  }
  if (url.startsWith('/files/')) {
    const file = path.join(directory, 'files', path.normalize(decodeURIComponent(url.slice(6).split('?')[0])));
    fs.readFile(fs.existsSync(file) && fs.statSync(file).isDirectory() ? path.join(file, 'index.html') : file, (error, data) => {
      response.writeHead(error ? 404 : 200, file.endsWith('/') || file.endsWith('.html') ? { 'content-type': 'text/html' } : {});
      response.end(error ? 'no such file' : data);
    });
    return;
  }
  if (url === '/slow') {
    response.write('begin\\n');
    return;
  }
  let length = 0;
  request.on('data', (data) => { length += data.length; });
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ method, url, headers, length, encrypted: request.socket.encrypted === true }) + '\\n');
  });
};
const tls = { key: fs.readFileSync(directory + '/server.key'), cert: fs.readFileSync(directory + '/server.pem') };
const quiet = (socket) => socket.on('error', () => {});

// SOCKS5 with a password; names are resolved here.
const resolve = (name) => names[name.toLowerCase()] ?? names[name.toLowerCase().split('.').slice(1).join('.')];
const serveSocks = (socket) => {
  quiet(socket);
  let state = 'greeting';
  let buffer = Buffer.alloc(0);
  const onData = (data) => {
    buffer = Buffer.concat([buffer, data]);
    if (state === 'greeting' && buffer.length >= 2 + buffer[1]) {
      buffer = buffer.subarray(2 + buffer[1]);
      state = 'login';
      socket.write(Buffer.from([5, 2]));
    }
    if (state === 'login' && buffer.length > 2 && buffer.length >= 3 + buffer[1] + buffer[2 + buffer[1]]) {
      const username = buffer.subarray(2, 2 + buffer[1]).toString();
      const password = buffer.subarray(3 + buffer[1], 3 + buffer[1] + buffer[2 + buffer[1]]).toString();
      buffer = buffer.subarray(3 + buffer[1] + buffer[2 + buffer[1]]);
      const good = username === user.username && password === user.password;
      state = 'request';
      socket.write(Buffer.from([1, good ? 0 : 1]));
      if (!good) return socket.end();
    }
    if (state === 'request' && buffer.length >= 5) {
      const named = buffer[3] === 3;
      const length = named ? 7 + buffer[4] : 10;
      if (buffer.length < length) return;
      const host = named ? buffer.subarray(5, 5 + buffer[4]).toString() : [...buffer.subarray(4, 8)].join('.');
      const port = buffer.readUInt16BE(length - 2);
      buffer = buffer.subarray(length);
      socket.off('data', onData);
      see({ server: 'socks', host, port, named, encrypted: socket.encrypted === true });
      const far = net.connect({ host: (named ? resolve(host) : host) ?? '0.0.0.1', port });
      far.on('error', () => socket.destroy());
      socket.on('close', () => far.destroy());
      far.once('connect', () => {
        socket.write(Buffer.from([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]));
        far.write(buffer);
        socket.pipe(far).pipe(socket);
      });
    }
  };
  socket.on('data', onData);
};

// DNS: A records of the names, NXDOMAIN for others.
function answerQuery(query) {
  let at = 12;
  const labels = [];
  while (query[at] > 0) {
    labels.push(query.subarray(at + 1, at + 1 + query[at]).toString());
    at += 1 + query[at];
  }
  const type = query.readUInt16BE(at + 1);
  const name = labels.join('.');
  see({ server: 'dns', name, type });
  const address = resolve(name);
  const head = Buffer.from(query.subarray(0, at + 5));
  head[2] = 0x84 | (head[2] & 1);
  head[3] = address === undefined ? 3 : 0;
  head.writeUInt16BE(0, 8);
  head.writeUInt16BE(0, 10);
  head.writeUInt16BE(address !== undefined && type === 1 ? 1 : 0, 6);
  if (address === undefined || type !== 1) return head;
  const record = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 1, 0, 4, ...address.split('.').map(Number)]);
  return Buffer.concat([head, record]);
}
const udp = dgram.createSocket('udp4');
udp.on('message', (query, from) => udp.send(answerQuery(query), from.port, from.address));
const tcp = net.createServer(quiet).on('connection', (socket) => {
  let buffer = Buffer.alloc(0);
  socket.on('data', (data) => {
    buffer = Buffer.concat([buffer, data]);
    while (buffer.length >= 2 && buffer.length >= 2 + buffer.readUInt16BE(0)) {
      const length = buffer.readUInt16BE(0);
      const reply = answerQuery(buffer.subarray(2, 2 + length));
      const head = Buffer.alloc(2);
      head.writeUInt16BE(reply.length);
      socket.write(Buffer.concat([head, reply]));
      buffer = buffer.subarray(2 + length);
    }
  });
});

const plain = [addresses.one, addresses.two, addresses.other, addresses.mirror];
const listening = [];
const open = (server, port, host) => listening.push(new Promise((done) => server.listen({ port, host, backlog: 1024 }, done)));
for (const host of plain) {
  for (const port of [80, 8080]) open(http.createServer({ keepAliveTimeout: 600000 }, answer('http')), port, host);
  for (const port of [443, 8443]) open(https.createServer({ ...tls, keepAliveTimeout: 600000 }, answer('https')), port, host);
  open(net.createServer({ allowHalfOpen: true, noDelay: true }, (socket) => quiet(socket).pipe(socket)), 7, host);
}
open(net.createServer(serveSocks), 1080, addresses.proxy);
open(createTlsServer(tls, serveSocks), 1081, addresses.proxy);
open(tcp, 53, addresses.resolver);
listening.push(new Promise((done) => udp.bind(53, addresses.resolver, done)));
Promise.all(listening).then(() => console.log('ready'));
`;
