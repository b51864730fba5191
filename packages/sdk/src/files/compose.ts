import { throwUnlessOk } from '../calls/read-answer.js';
import { readText } from '../calls/read-text.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import type { WrittenFile } from './entry.js';
import type { FileOptions } from './options.js';
import { fromWritten } from './wire.js';

/** Joins files into one and deletes them. */
export async function composeFiles(
  connection: DaemonConnection,
  sources: readonly string[],
  destination: string,
  options: FileOptions,
): Promise<WrittenFile> {
  const operation = 'files.compose';
  if (sources.length === 0) throw new InvalidRequestError(`${operation}: give at least one source.`);
  const { user } = options;
  const body = JSON.stringify({
    source_paths: sources,
    destination,
    ...(user === undefined ? {} : { username: user }),
  });
  return connection.http({ operation, resource: 'file', options }, async (fetch, baseUrl) => {
    const headers = { 'Content-Type': 'application/json' };
    const response = await fetch(new Request(`${baseUrl}/files/compose`, { method: 'POST', headers, body }));
    await throwUnlessOk(response, { operation, service: 'sandbox', resource: 'file' });
    return fromWritten([JSON.parse(await readText(response, operation))])[0] as WrittenFile;
  });
}
