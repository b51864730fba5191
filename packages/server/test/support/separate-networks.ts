import { execFile } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { promisify } from 'node:util';

const call = promisify(execFile);
const ip = (...args: string[]) => call('ip', args);

/** The network of one machine. */
export interface HostNetwork {
  /** Its address, which the others and the test reach. */
  address: string;
  /** A command line that runs another one in it. */
  within: string[];
  /** Pulls the plug, and puts it back. */
  cut(): Promise<void>;
  join(): Promise<void>;
}

/**
 * Network namespaces on one bridge, as machines on one switch. Needs root.
 * @param databaseUrl of a PostgreSQL on loopback, which they reach too
 */
export interface SeparateNetworks extends AsyncDisposable {
  hosts: HostNetwork[];
  databaseUrl: string;
}

export async function separateNetworks(count: number, databaseUrl: string): Promise<SeparateNetworks> {
  const name = `svt${randomBytes(3).toString('hex')}`;
  const net = `10.${randomInt(200, 250)}.${randomInt(1, 250)}`;
  const made: string[] = [];
  const relay = relayTo(new URL(databaseUrl));
  const remove = async () => {
    relay.end();
    for (const each of made) await ip('netns', 'delete', each).catch(() => undefined);
    await ip('link', 'delete', name).catch(() => undefined);
  };
  try {
    await ip('link', 'add', name, 'type', 'bridge');
    await ip('address', 'add', `${net}.1/24`, 'dev', name);
    await ip('link', 'set', name, 'up');
    const hosts: HostNetwork[] = [];
    for (let index = 0; index < count; index += 1) {
      const namespace = `${name}-${index}`;
      const link = `${name}p${index}`;
      const address = `${net}.${11 + index}`;
      await ip('netns', 'add', namespace);
      made.push(namespace);
      await ip('link', 'add', link, 'type', 'veth', 'peer', 'name', 'eth0', 'netns', namespace);
      await ip('link', 'set', link, 'master', name, 'up');
      await ip('-n', namespace, 'link', 'set', 'lo', 'up');
      await ip('-n', namespace, 'address', 'add', `${address}/24`, 'dev', 'eth0');
      await ip('-n', namespace, 'link', 'set', 'eth0', 'up');
      await ip('-n', namespace, 'route', 'add', 'default', 'via', `${net}.1`);
      hosts.push({
        address,
        // `ip netns exec` would hide the cgroups.
        within: ['nsenter', `--net=/run/netns/${namespace}`],
        cut: async () => void (await ip('link', 'set', link, 'down')),
        join: async () => void (await ip('link', 'set', link, 'up')),
      });
    }
    relay.server.listen(0, `${net}.1`);
    await once(relay.server, 'listening');
    const url = new URL(databaseUrl);
    url.host = `${net}.1:${(relay.server.address() as { port: number }).port}`;
    return { hosts, databaseUrl: url.href, [Symbol.asyncDispose]: remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Passes connections on. */
function relayTo(target: URL): { server: Server; end(): void } {
  const open = new Set<Socket>();
  const keep = (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => undefined);
    return socket;
  };
  const server = createServer((from) => {
    const to = keep(connect(Number(target.port), target.hostname));
    keep(from).pipe(to).pipe(from);
    from.once('close', () => to.destroy());
    to.once('close', () => from.destroy());
  });
  return {
    server,
    end() {
      server.close();
      for (const socket of open) socket.destroy();
    },
  };
}
