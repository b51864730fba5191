import type { RequestOptions } from '../core/call-context.js';
import { observeOpening } from '../core/telemetry.js';
import { defined } from '../core/wire-values.js';
import { InvalidRequestError } from '../errors/answer-errors.js';
import { unlessMissing } from '../errors/unless-missing.js';
import { type FileContent, normalizeContent, type SteadyContent } from '../files/content.js';
import type { ReadFormat, ReadResults } from '../files/read.js';
import { watchedStream } from '../files/watched-stream.js';
import type { VolumeAccess } from './volume-access.js';
import type { VolumeEntry, VolumeInfo, VolumeOwnership } from './volume-info.js';
import { fromVolumeEntry, toOwnership } from './wire.js';

/** Options for making an entry of a volume. */
export interface CreateEntryOptions extends VolumeOwnership, RequestOptions {
  /** Create missing parent directories, and accept or replace an existing entry. Default: the service's, false. */
  force?: boolean | undefined;
}

/**
 * A handle of one volume, and of what is in it: no sandbox is needed to read and write. Paths are those inside the
 * volume; `/` is its root. Mount it by `sandboxes.create({ volumeMounts: { '/data': volume } })`.
 */
export class Volume implements VolumeInfo {
  readonly volumeId: string;
  readonly name: string;
  readonly #access: VolumeAccess;

  /** @internal Handles come from `client.volumes`. */
  constructor(info: VolumeInfo, access: VolumeAccess) {
    this.volumeId = info.volumeId;
    this.name = info.name;
    this.#access = access;
  }

  /** Short for `volumeId`. */
  get id(): string {
    return this.volumeId;
  }

  /**
   * Reads a file: as text (UTF-8, the default), `bytes`, `blob`, or as a `stream`.
   * @throws VolumeNotFoundError when there is no such file, InvalidRequestError for a directory
   * @example
   * const text = await volume.read('notes.txt');
   * @wire readVolumeFile
   */
  async read<Format extends ReadFormat = 'text'>(
    path: string,
    options: RequestOptions & { format?: Format | undefined } = {},
  ): Promise<ReadResults[Format]> {
    const operation = 'volume.read';
    const { config } = this.#access.core;
    const start = { operation, service: 'volumes', signal: options.signal } as const;
    const { value: opened, observer } = await observeOpening(config.telemetry, start, (observer) =>
      this.#access.open({ operation, options, observer }, (volumes, fetch, params) =>
        volumes.GET('/volumecontent/{volumeID}/file', {
          params: { path: params, query: { path } },
          parseAs: 'stream',
          fetch,
        }),
      ),
    );
    const { value, deadline } = opened;
    const idleMs = options.requestTimeoutMs ?? config.requestTimeoutMs;
    // A body of no bytes may come as no body.
    const body = value instanceof ReadableStream ? value : null;
    const stream = watchedStream(body, deadline, {
      idleMs,
      operation,
      url: config.apiUrl,
      observer,
    });
    return (await collect(stream, options.format ?? 'text')) as ReadResults[Format];
  }

  /**
   * Writes a new file. Streams are sent as they come, without time limit.
   * @param options without `force`, an existing file and a missing directory are errors
   * @throws ConflictError when it exists, VolumeNotFoundError when its directory does not
   * @example
   * await volume.write('data/notes.txt', 'hello');
   * @wire writeVolumeFile
   */
  async write(path: string, data: FileContent, options: CreateEntryOptions = {}): Promise<VolumeEntry> {
    const { force } = options;
    const content = normalizeContent(data);
    const flowing = 'flowing' in content;
    const limits = flowing
      ? { ...options, maxRetries: 0, requestTimeoutMs: options.requestTimeoutMs ?? 0 }
      : options;
    const context = { operation: 'volume.write', idempotent: !flowing && force === true, options: limits };
    const query = defined({ path, ...toOwnership(options), force });
    const body = flowing ? content.flowing : toBody(content.steady);
    const { value, deadline } = await this.#access.open(
      context,
      (volumes, fetch, params) =>
        volumes.PUT('/volumecontent/{volumeID}/file', { params: { path: params, query }, body, fetch }),
      flowing,
    );
    deadline.release();
    return fromVolumeEntry(value);
  }

  /**
   * Lists a directory, each directory before what is in it. Links are not followed.
   * @param options `depth`: levels below the directory, 1 to 10. Default: the service's, 1.
   * @throws VolumeNotFoundError, InvalidRequestError when it is no directory
   * @example
   * const entries = await volume.list('/', { depth: 2 });
   * @wire listVolumeDir
   */
  async list(
    path = '/',
    options: RequestOptions & { depth?: number | undefined } = {},
  ): Promise<VolumeEntry[]> {
    const { depth } = options;
    if (depth !== undefined && !(Number.isInteger(depth) && depth >= 1)) {
      throw new InvalidRequestError(`volume.list: depth must be a whole number from 1 to 10, got ${depth}.`);
    }
    const query = defined({ path, depth });
    const entries = await this.#access.call({ operation: 'volume.list', options }, (volumes, fetch, params) =>
      volumes.GET('/volumecontent/{volumeID}/dir', { params: { path: params, query }, fetch }),
    );
    return entries.map(fromVolumeEntry);
  }

  /**
   * Makes a directory.
   * @param options without `force`, an existing entry and a missing parent are errors
   * @throws ConflictError, VolumeNotFoundError when its parent is missing
   * @example
   * await volume.makeDir('data/raw');
   * @wire createVolumeDir
   */
  async makeDir(path: string, options: CreateEntryOptions = {}): Promise<VolumeEntry> {
    const { force } = options;
    const query = defined({ path, ...toOwnership(options), force });
    const context = { operation: 'volume.makeDir', idempotent: force === true, options };
    const entry = await this.#access.call(context, (volumes, fetch, params) =>
      volumes.POST('/volumecontent/{volumeID}/dir', { params: { path: params, query }, fetch }),
    );
    return fromVolumeEntry(entry);
  }

  /**
   * Describes an entry; a link itself, not its target.
   * @throws VolumeNotFoundError
   * @example
   * const { sizeBytes } = await volume.stat('notes.txt');
   * @wire getVolumePath
   */
  async stat(path: string, options: RequestOptions = {}): Promise<VolumeEntry> {
    const entry = await this.#access.call({ operation: 'volume.stat', options }, (volumes, fetch, params) =>
      volumes.GET('/volumecontent/{volumeID}/path', { params: { path: params, query: { path } }, fetch }),
    );
    return fromVolumeEntry(entry);
  }

  /**
   * Returns true when there is anything at a path.
   * @example
   * if (!(await volume.exists('notes.txt'))) await volume.write('notes.txt', '');
   * @wire getVolumePath
   */
  async exists(path: string, options: RequestOptions = {}): Promise<boolean> {
    return (await unlessMissing(this.stat(path, options))) !== undefined;
  }

  /**
   * Changes owner or mode of an entry; what is left out stays.
   * @throws VolumeNotFoundError, ServerError (errorCode `not_supported`) where owners cannot be changed
   * @example
   * await volume.update('run.sh', { mode: 0o755 });
   * @wire updateVolumePath
   */
  async update(path: string, change: VolumeOwnership, options: RequestOptions = {}): Promise<VolumeEntry> {
    const context = { operation: 'volume.update', idempotent: true, options };
    const entry = await this.#access.call(context, (volumes, fetch, params) =>
      volumes.PATCH('/volumecontent/{volumeID}/path', {
        params: { path: params, query: { path } },
        body: toOwnership(change),
        fetch,
      }),
    );
    return fromVolumeEntry(entry);
  }

  /**
   * Removes a file, a link, or a directory with all that is in it. False when there was nothing.
   * @throws InvalidRequestError for the root
   * @example
   * await volume.remove('data');
   * @wire deleteVolumePath
   */
  remove(path: string, options: RequestOptions = {}): Promise<boolean> {
    return this.#access.delete({ operation: 'volume.remove', options }, (volumes, fetch, params) =>
      volumes.DELETE('/volumecontent/{volumeID}/path', { params: { path: params, query: { path } }, fetch }),
    );
  }
}

function toBody(content: SteadyContent): Blob | Uint8Array<ArrayBuffer> {
  if (typeof content === 'string') return new TextEncoder().encode(content);
  return content instanceof ArrayBuffer ? new Uint8Array(content) : content;
}

async function collect(
  stream: ReadableStream<Uint8Array>,
  format: ReadFormat,
): Promise<ReadResults[ReadFormat]> {
  if (format === 'stream') return stream;
  const response = new Response(stream);
  if (format === 'blob') return response.blob();
  const bytes = new Uint8Array(await response.arrayBuffer());
  return format === 'bytes' ? bytes : new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes);
}
