import { throwUnlessOk } from '../calls/read-answer.js';
import type { RequestOptions } from '../core/call-context.js';
import { observeOpening } from '../core/telemetry.js';
import type { DaemonConnection } from '../daemon/daemon-connection.js';
import { watchedStream } from './watched-stream.js';

/** The form in which `files.read` returns a file. */
export type ReadFormat = 'text' | 'bytes' | 'blob' | 'stream';

/** Content in each format. */
export interface ReadResults {
  text: string;
  bytes: Uint8Array;
  blob: Blob;
  stream: ReadableStream<Uint8Array>;
}

/** Options for reading a file. */
export interface ReadOptions extends RequestOptions {
  /** Default `text`: UTF-8. */
  format?: ReadFormat | undefined;
  /** User in whose home relative paths start. Default: the sandbox's default user. */
  user?: string | undefined;
}

export async function readFile(
  connection: DaemonConnection,
  path: string,
  options: ReadOptions,
): Promise<ReadResults[ReadFormat]> {
  const operation = 'files.read';
  const { format = 'text', user } = options;
  const context = { operation, resource: 'file', user, options } as const;
  if (format !== 'stream') {
    return connection.http(context, async (fetch, baseUrl, observer) => {
      const received = (bytes: number) => observer?.tell({ type: 'transfer', direction: 'received', bytes });
      const response = await fetch(request(baseUrl, path));
      await throwUnlessOk(response, { operation, service: 'sandbox', resource: 'file' });
      if (format === 'blob') {
        const blob = await response.blob();
        received(blob.size);
        return blob;
      }
      const bytes = await response.arrayBuffer();
      received(bytes.byteLength);
      if (format === 'bytes') return new Uint8Array(bytes);
      // Not response.text(), which drops a byte order mark: what was written comes back.
      return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
    });
  }
  const { config } = connection.core;
  const { sandboxId, templateId } = connection.target;
  const start = { operation, service: 'sandbox', sandboxId, templateId, signal: options.signal } as const;
  const { value: opened, observer } = await observeOpening(config.telemetry, start, (observer) =>
    connection.openHttp({ ...context, observer }, async (fetch, baseUrl) => {
      const response = await fetch(request(baseUrl, path));
      await throwUnlessOk(response, { operation, service: 'sandbox', resource: 'file' });
      return response;
    }),
  );
  const idleMs = options.requestTimeoutMs ?? config.requestTimeoutMs;
  const { baseUrl: url } = connection;
  return watchedStream(opened.value.body, opened.deadline, { idleMs, operation, url, observer });
}

/** As it is: packing a file costs the sandbox more time than sending it, on any network but a slow one. */
function request(baseUrl: string, path: string): Request {
  return new Request(`${baseUrl}/files?path=${encodeURIComponent(path)}`, {
    headers: { 'Accept-Encoding': 'identity' },
  });
}
