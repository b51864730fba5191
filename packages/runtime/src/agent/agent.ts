import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { chmod, copyFile, mkdir, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { DaemonProgram } from '../contract/driver.js';
import { copyHostPrograms, fingerprintOf, type HostPrograms } from './host-programs.js';

/** The directory that appears as `/.sbx` in a sandbox. Its programs need nothing of the root file system that it runs in. */
export interface Agent {
  /** Folder below `agents` in the store, named after its content. */
  name: string;
}

/** Where the daemon is inside. */
export const DAEMON = '/.sbx/envd';

/**
 * Makes (or finds) the agent directory.
 * @param agents the store's `agents` folder as this process sees it.
 * @param programs of this host that go in beside the daemon, with the libraries that they need. Default none.
 */
export async function prepareAgent(
  agents: string,
  daemon: DaemonProgram,
  programs: HostPrograms = new Map(),
): Promise<Agent> {
  const hash = createHash('sha256').update(await readFile(daemon.entry));
  if (programs.size > 0) hash.update(await fingerprintOf(programs));
  const name = hash.digest('hex').slice(0, 16);
  await makeOnce(join(agents, name), async (draft) => {
    await copyFile(daemon.entry, join(draft, 'envd'));
    if (programs.size > 0) await copyHostPrograms(programs, draft);
  });
  return { name };
}

/**
 * Makes (or finds) a directory with programs of this host and their libraries alone, for what runs without the host's files.
 * @param agents as for {@link prepareAgent}.
 */
export async function preparePrograms(agents: string, programs: HostPrograms): Promise<Agent> {
  const name = await fingerprintOf(programs);
  await makeOnce(join(agents, name), (draft) => copyHostPrograms(programs, draft));
  return { name };
}

/** Fills a directory that others see either not at all or whole. */
async function makeOnce(target: string, fill: (draft: string) => Promise<void>): Promise<void> {
  if (existsSync(target)) return;
  const draft = `${target}.new`;
  await rm(draft, { recursive: true, force: true });
  await mkdir(draft, { recursive: true });
  await fill(draft);
  // Root of an instance is nobody to these files.
  await chmod(draft, 0o755);
  await rename(draft, target);
}

/** Command line of the daemon inside. */
export function agentArgs({ port }: { port: number }): string[] {
  return [DAEMON, '--host', '0.0.0.0', '--port', String(port)];
}
