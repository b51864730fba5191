import { parseArgs } from 'node:util';
import type { Listen, StartEgressOptions } from './start-egress.js';

/**
 * Reads the command line. Places to listen are `fd:N`, `HOST:PORT` or the path of a Unix socket.
 * @throws {TypeError}
 */
export function readOptions(args: string[]): StartEgressOptions {
  const { values } = parseArgs({
    args,
    options: {
      listen: { type: 'string' },
      control: { type: 'string' },
      'dns-udp': { type: 'string' },
      'dns-tcp': { type: 'string' },
      'allow-range': { type: 'string', multiple: true },
      connections: { type: 'string' },
      'memory-mib': { type: 'string' },
      'connections-per-sandbox': { type: 'string' },
    },
  });
  const { listen, control, connections, 'connections-per-sandbox': perSandbox } = values;
  if (listen === undefined || control === undefined) throw new TypeError('--listen and --control are needed');
  return {
    listen: readListen(listen),
    control: readListen(control),
    ...(values['dns-udp'] === undefined ? {} : { dnsUdp: readUdp(values['dns-udp']) }),
    ...(values['dns-tcp'] === undefined ? {} : { dnsTcp: readListen(values['dns-tcp']) }),
    ...(values['allow-range'] === undefined ? {} : { allowRanges: values['allow-range'] }),
    ...(connections === undefined ? {} : { connections: readCount(connections) }),
    ...(values['memory-mib'] === undefined ? {} : { memoryBytes: readCount(values['memory-mib']) * 2 ** 20 }),
    ...(perSandbox === undefined ? {} : { connectionsPerSandbox: readCount(perSandbox) }),
  };
}

function readListen(text: string): Listen {
  const fd = /^fd:(\d{1,6})$/.exec(text)?.[1];
  if (fd !== undefined) return { fd: Number(fd) };
  const address = /^(.+):(\d{1,5})$/.exec(text);
  if (address !== null) return { host: address[1]!, port: Number(address[2]) };
  return { path: text };
}

function readUdp(text: string): { host: string; port: number } | { fd: number } {
  const where = readListen(text);
  if ('fd' in where) return where;
  const { host, port } = where;
  if (host === undefined || port === undefined) throw new TypeError(`'${text}' is not fd:N or HOST:PORT`);
  return { host, port };
}

function readCount(text: string): number {
  const count = Number(text);
  if (!Number.isSafeInteger(count) || count < 1) throw new TypeError(`'${text}' is not a count`);
  return count;
}
