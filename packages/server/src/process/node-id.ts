import { randomUUID } from 'node:crypto';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';

/** The name of this node, made once and kept in the data directory. */
export async function loadNodeId(dataDir: string): Promise<string> {
  const file = path.join(dataDir, 'node-id');
  const known = (await readFile(file, 'utf8').catch(() => '')).trim();
  if (known !== '') return known;
  const nodeId = randomUUID();
  await writeFile(file, `${nodeId}\n`, { mode: 0o600 });
  return nodeId;
}
