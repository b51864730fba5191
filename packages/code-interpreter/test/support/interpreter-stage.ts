import { lookup } from 'node:dns/promises';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { baseDirectory, baseRecipe, checkHost, findBase, linuxDriverCanRun } from '@svc/runtime/host';
import { Client } from '@svc/sdk';
import { type Server, startServer } from '@svc/server';
import { codeInterpreter, codeInterpreterName } from '../../src/index.js';

/** A server on which the template is built. */
export interface InterpreterStage {
  server: Server;
  client: Client;
  stop(): Promise<void>;
}

/** The addresses of the Debian mirror that `apt` in sandboxes uses; or why the template cannot be built here. */
export async function findMirror(): Promise<{ addresses: string[] } | { lacks: string }> {
  const findings = await checkHost({ dataDir: tmpdir() });
  if (!linuxDriverCanRun(findings))
    return { lacks: 'the linux driver cannot run here (svc server doctor says why)' };
  const missing = findings.find(({ ok, neededFor }) => !ok && neededFor === 'memorySnapshot');
  if (missing !== undefined) return { lacks: missing.message };
  const base = findBase(baseDirectory({}), await baseRecipe());
  if (base?.upToDate !== true)
    return { lacks: 'the template base is not built (scripts/prepare-host.sh --base)' };
  const facts = JSON.parse(await readFile(join(dirname(base.tree), 'base.json'), 'utf8')) as {
    mirror: string;
    suite: string;
  };
  const release = `${facts.mirror}/dists/${facts.suite}/InRelease`;
  try {
    const found = await lookup(new URL(facts.mirror).hostname, { family: 4, all: true });
    const addresses = found.map(({ address }) => address);
    const answer = await fetch(release, { method: 'HEAD', signal: AbortSignal.timeout(10_000) });
    return answer.ok ? { addresses } : { lacks: `the mirror ${release} answers ${answer.status}` };
  } catch (error) {
    return { lacks: `the mirror ${release} is not reachable: ${(error as Error).message}` };
  }
}

/** Starts a server whose sandboxes may reach the mirror, wherever that is, and builds the template. */
export async function startStage(mirror: { addresses: string[] }): Promise<InterpreterStage> {
  const dataDir = await mkdtemp(join(tmpdir(), 'svc-interpreter-'));
  const server = await startServer({
    dataDir,
    driver: 'linux',
    isolation: 'container',
    baseRoot: 'debian',
    apiPort: 0,
    sandboxPort: 0,
    operatorPort: false,
    logLevel: 'error',
    poolSize: 0,
    destroySandboxesOnStop: true,
    headerPrefixes: ['E2b-'],
    egress: { allowRanges: mirror.addresses.map((address) => `${address}/32`) },
  });
  const stop = async () => {
    await server.stop({ destroySandboxes: true });
    await rm(dataDir, { recursive: true, force: true });
  };
  try {
    const { apiUrl, sandboxUrl, apiKey } = server;
    const client = new Client({ apiUrl, sandboxUrl, apiKey });
    const startedAt = Date.now();
    const build = await client.templates.build(codeInterpreter(), { name: codeInterpreterName });
    const lines: string[] = [];
    try {
      for await (const { step, message } of build.logs())
        lines.push(`${Date.now() - startedAt} ms [${step}] ${message}`);
      await build.wait();
    } catch (error) {
      throw new Error(`the template could not be built; its log ends with\n${lines.slice(-10).join('\n')}`, {
        cause: error,
      });
    }
    console.log(
      `the template ${codeInterpreterName} was built in ${Math.round((Date.now() - startedAt) / 1000)} s`,
    );
    return { server, client, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
