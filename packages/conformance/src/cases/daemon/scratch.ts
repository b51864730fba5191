import assert from 'node:assert/strict';
import { unique } from '../../requests/samples.js';
import type { Target, TestSandbox } from '../../targets/target.js';
import { type Daemon, daemonSend, unaryOk } from '../../wire/rpc.js';

/** A directory of the case's own in the shared sandbox. */
export interface Scratch {
  sandbox: TestSandbox;
  /** Absolute path inside. */
  path: string;
  /** The same from the home. */
  relative: string;
}

export async function scratch(target: Target): Promise<Scratch> {
  const sandbox = await target.sandbox();
  const relative = unique('scratch');
  const { entry } = await unaryOk<{ entry: { path: string } }>(sandbox, 'filesystem.Filesystem/MakeDir', {
    path: relative,
  });
  return { sandbox, path: entry.path, relative };
}

export const query = (values: Record<string, string>) => `?${new URLSearchParams(values)}`;

/** Writes a file by octet-stream. */
export async function put(daemon: Daemon, path: string, content: string | Buffer): Promise<void> {
  const answer = await daemonSend(daemon, `/files${query({ path })}`, {
    method: 'POST',
    body: content,
    headers: { 'Content-Type': 'application/octet-stream' },
  });
  assert.equal(answer.status, 200, answer.text);
}

export async function get(daemon: Daemon, path: string): Promise<string> {
  const answer = await daemonSend(daemon, `/files${query({ path })}`);
  assert.equal(answer.status, 200, answer.text);
  return answer.text;
}
