import { mkdtemp, rm } from 'node:fs/promises';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { baseDirectory, baseRecipe, findBase } from '@svc/runtime/host';
import { incusRoot, startTrialCluster, stopTrialCluster } from '@svc/runtime/incus';
import { Client } from '@svc/sdk';
import { type ServerChild, type ServerRequest, startServerChild } from './server-child.js';

/** The member of Incus that the server asks, and the other one. */
export type Member = 'local' | 'remote';

interface ServerAndClient {
  server: ServerChild;
  client: Client;
}

export interface Served {
  linux: ServerAndClient;
  incus: ServerAndClient;
  members: Members;
}

/** Which member has what. */
export interface Members {
  /** Incus starts everything there from now on. */
  startOn(member: Member): Promise<void>;
  of(sandboxId: string): Promise<Member>;
}

/** Why there can be no cluster beside other measurements. Undefined: there can. */
export async function lacksTrialCluster(): Promise<string | undefined> {
  if (incusRoot() === undefined) return 'Incus is not here: `svc cluster up` fetches it';
  if (findBase(baseDirectory({}), await baseRecipe()) === undefined) return 'the template base is not built';
  return undefined;
}

/** Starts a cluster of two, and servers on it and on the `linux` driver whenever that is asked for. */
export async function withClusterBeside<T>(
  use: (serve: (poolSize: number, work: (served: Served) => Promise<void>) => Promise<void>) => Promise<T>,
): Promise<T> {
  const parent = await mkdtemp(path.join(tmpdir(), 'svc-bench-cluster-'));
  const directory = path.join(parent, 'cluster');
  try {
    const plan = await startTrialCluster({ directory, members: 2, diskMiB: 20_480 });
    const [local, remote] = plan.members as [(typeof plan.members)[0], (typeof plan.members)[0]];
    const members = membersBehind(local.socket, { local: local.name, remote: remote.name });
    return await use(async (poolSize, work) => {
      const start = async (request: Pick<ServerRequest, 'driver' | 'incusAddress'>) => {
        const server = await startServerChild({ ...request, poolSize });
        return { server, client: new Client({ ...server, requestTimeoutMs: 300_000 }) };
      };
      const linux = await start({ driver: 'linux' });
      await using _linux = linux.server;
      const incus = await start({ driver: 'incus', incusAddress: local.socket });
      await using _incus = incus.server;
      await work({ linux, incus, members });
    });
  } finally {
    await stopTrialCluster({ directory });
    await rm(parent, { recursive: true, force: true });
  }
}

function membersBehind(socketPath: string, names: Record<Member, string>): Members {
  const ask = async (method: string, target: string, body?: unknown) => {
    const text = await new Promise<string>((resolve, reject) => {
      const call = request({ socketPath, method, path: `/1.0/${target}` }, async (response) => {
        let read = '';
        for await (const chunk of response.setEncoding('utf8')) read += chunk as string;
        resolve(read);
      });
      call.on('error', reject).end(body === undefined ? undefined : JSON.stringify(body));
    });
    const answer = JSON.parse(text) as { type: string; error?: string; metadata: unknown };
    if (answer.type === 'error') throw new Error(`Incus, ${method} ${target}: ${answer.error}`);
    return answer.metadata;
  };
  return {
    async startOn(member) {
      for (const [each, name] of Object.entries(names)) {
        const known = (await ask('GET', `cluster/members/${name}`)) as { config: Record<string, string> };
        const config = { ...known.config, 'scheduler.instance': each === member ? 'all' : 'manual' };
        await ask('PUT', `cluster/members/${name}`, { ...known, config });
      }
    },
    async of(sandboxId) {
      const all = (await ask('GET', 'instances?project=svc&recursion=1')) as {
        location: string;
        config: Record<string, string>;
      }[];
      const found = all.find(({ config }) => config['user.svc.id'] === sandboxId);
      return found?.location === names.local ? 'local' : 'remote';
    },
  };
}
