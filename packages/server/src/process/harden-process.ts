import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

/** Variables that hold a key or a password. */
const SECRET_VARIABLES = [
  'SVC_SERVER_KEY',
  'SVC_TRANSFER_KEY',
  'SVC_POSTGRES_URL',
  'SVC_OPERATOR_TOKEN',
  'SVC_API_KEY',
  'PGPASSWORD',
] as const;

/**
 * Keeps this process's secrets from the programs that it starts and from the disk: removes them from the environment,
 * which children inherit, and turns core dumps off, for children too. Call it once the options are read. For programs
 * that are a server; what embeds one decides for itself.
 * @returns what could not be done, as sentences
 */
export async function hardenProcess(): Promise<string[]> {
  for (const name of SECRET_VARIABLES) delete process.env[name];
  if (process.platform !== 'linux') return [];
  try {
    await promisify(execFile)('prlimit', ['--core=0:0', '--pid', String(process.pid)]);
    return [];
  } catch {
    return ['core dumps stay on: prlimit is missing or failed, so a crash could write keys to the disk'];
  }
}
