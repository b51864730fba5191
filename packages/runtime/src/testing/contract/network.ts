import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { networkInterfaces } from 'node:os';
import { beforeEach, describe, expect, it } from 'vitest';
import { DriverError } from '../../contract/errors.js';
import { dialTcp } from '../../shared/dial.js';
import { DaemonClient } from '../daemon-client.js';
import { requireCapability } from '../require-capability.js';
import type { Workbench } from '../workbench.js';

export function networkContract(bench: Workbench): void {
  describe('network isolation', () => {
    beforeEach((context) => requireCapability(context, bench, 'networkIsolation'));

    it.each(['internet', 'none'] as const)(
      "keeps the host's own services out of reach with egress %s",
      async (egress) => {
        const server = createServer((socket) => socket.on('error', () => undefined).end('host')).listen(
          0,
          '0.0.0.0',
        );
        await once(server, 'listening');
        try {
          const { port } = server.address() as AddressInfo;
          (await dialTcp('127.0.0.1', port)).destroy();
          const addresses = ['127.0.0.1', ...(await reachable(hostAddresses(), port))];
          const { client } = await bench.create({ network: { egress } });
          const gateway = await client.run(
            "ip route 2>/dev/null | sed -n 's/^default via \\([0-9.]*\\).*/\\1/p'",
          );
          for (const address of [...addresses, gateway.stdout.trim()].filter(Boolean)) {
            expect(await reach(client, address, port), address).toBe('no');
          }
        } finally {
          server.close();
        }
      },
    );

    it('keeps instances away from each other', async () => {
      const one = await bench.create();
      const two = await bench.create();
      const address = await two.client.output("hostname -I 2>/dev/null | cut -d' ' -f1");
      if (address === '') return;
      expect(await reach(one.client, address, 49983)).toBe('no');
    });
  });

  it('changes while an instance runs, and says when it cannot', async () => {
    const { networkIsolation, egressPolicy } = bench.driver.capabilities;
    const { instance } = await bench.create();
    await instance.setNetwork({ egress: 'internet' });
    for (const [egress, can] of [
      ['none', networkIsolation],
      ['governed', egressPolicy],
    ] as const) {
      const error = await instance.setNetwork({ egress }).catch((reason: unknown) => reason);
      expect(DriverError.is(error) && error.code).toBe(can ? false : 'unsupported');
    }
    expect(await new DaemonClient(instance).output('echo fine')).toBe('fine');
    await instance.destroy();
    const late = await instance.setNetwork({ egress: 'internet' }).catch((reason: unknown) => reason);
    expect(DriverError.is(late) && late.code).toBe('instance_gone');
  });

  it('refuses to shut off the network when it cannot', async (context) => {
    if (bench.driver.capabilities.networkIsolation) context.skip('the driver can');
    const error = await bench.create({ network: { egress: 'none' } }).catch((reason: unknown) => reason);
    expect(DriverError.is(error) && error.code).toBe('unsupported');
  });
}

function hostAddresses(): string[] {
  const all = Object.values(networkInterfaces()).flat();
  return all.flatMap((entry) => (entry?.family === 'IPv4' && !entry.internal ? [entry.address] : []));
}

/** Those that lead to the port from the host itself: links of other drivers come and go meanwhile. */
async function reachable(addresses: string[], port: number): Promise<string[]> {
  const dialled = addresses.map(async (address) => {
    try {
      (await dialTcp(address, port, AbortSignal.timeout(5_000))).destroy();
      return [address];
    } catch {
      return [];
    }
  });
  return (await Promise.all(dialled)).flat();
}

async function reach(client: DaemonClient, address: string, port: number): Promise<string> {
  const program = `print IO::Socket::INET->new(PeerAddr => "${address}", PeerPort => ${port}, Timeout => 2) ? "yes" : "no"`;
  return client.output(`perl -MIO::Socket::INET -e '${program}'`);
}
