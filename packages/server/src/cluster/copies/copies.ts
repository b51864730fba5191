import { Readable } from 'node:stream';
import { DriverError, type StoredObject, type Transfers } from '@svc/runtime/contract';
import { anyOf } from '#support/any-of';
import { KeyedMutex } from '#support/keyed-mutex';
import { Semaphore } from '#support/semaphore';
import type { NodeRecord } from '../../api/context/nodes.js';
import { ApiError } from '../../api/errors/api-error.js';
import { errors } from '../../api/errors/catalog.js';
import type { ObjectCopies, Uses } from '../context.js';
import { NodeForwarder } from '../nodes/forwarder.js';
import { NodeUnreachableError } from '../nodes/node-unreachable.js';
import { readAnswer } from '../nodes/read-answer.js';
import { copyHolders, forgetCopy, mostBytesOf, recordCopy } from './holders.js';
import { type DescribedObject, readDescription } from './read-description.js';
import { readResumed } from './read-resumed.js';

/** Copies that come at the same time: more would only share the disk and the network. */
const CONCURRENCY = 2;
const DESCRIBE_MS = 15_000;
const MOST_DESCRIPTION_BYTES = 1024 * 1024;
/** Bytes between two lines about a copy that takes long. */
const PROGRESS_BYTES = 256 * 2 ** 20;

type Ports = Uses<
  | 'config'
  | 'db'
  | 'driver'
  | 'keys'
  | 'log'
  | 'metrics'
  | 'nodes'
  | 'now'
  | 'sandboxes'
  | 'signal'
  | 'takeOvers'
>;

/** Brings here what other nodes stored. Each object comes once, however many wait for it. */
export class Copies implements ObjectCopies {
  readonly #context: () => Ports;
  readonly #coming = new Map<string, Promise<void>>();
  readonly #places = new Semaphore(CONCURRENCY);
  readonly #turns = new KeyedMutex();
  #forwarder: NodeForwarder | undefined;

  /** @param context a function, because the context contains what is made here. */
  constructor(context: () => Ports) {
    this.#context = context;
  }

  get possible(): boolean {
    const { driver, nodes } = this.#context();
    return nodes.shared && driver.transfers !== undefined;
  }

  get forwarder(): NodeForwarder {
    this.#forwarder ??= new NodeForwarder(this.#context());
    return this.#forwarder;
  }

  holding<T>(object: StoredObject, task: () => Promise<T>): Promise<T> {
    return this.#turns.run(keyOf(object), task);
  }

  async bring(object: StoredObject, from: readonly string[]): Promise<void> {
    const transfers = this.#context().driver.transfers;
    if (transfers === undefined)
      throw errors.noCompatibleNode('what others stored cannot be used on this server');
    if (await transfers.has(object)) return;
    const key = keyOf(object);
    let coming = this.#coming.get(key);
    if (coming === undefined) {
      coming = this.#bringNow(transfers, object, from).finally(() => this.#coming.delete(key));
      this.#coming.set(key, coming);
    }
    await coming;
  }

  close(): void {
    this.#forwarder?.close();
  }

  async #bringNow(transfers: Transfers, object: StoredObject, from: readonly string[]): Promise<void> {
    const context = this.#context();
    const { nodes, log } = context;
    const sources = new Set([...from, ...(await copyHolders(context, object))]);
    sources.delete(nodes.nodeId);
    let failure: unknown = errors.nodeUnreachable();
    for (const nodeId of sources) {
      const node = await nodes.findAlive(nodeId);
      if (node === undefined) continue;
      try {
        await this.#copy(transfers, object, node);
        return;
      } catch (error) {
        log.warn(
          { err: error, ...fieldsOf(object), fromNodeId: node.id },
          'a copy from another server failed',
        );
        failure = NodeUnreachableError.is(error) ? errors.nodeUnreachable(error) : error;
        // Another source has the same: it is this machine that cannot use it.
        if (DriverError.is(error) && error.code !== 'invalid_archive' && error.code !== 'not_found') break;
      }
    }
    throw failure;
  }

  async #copy(transfers: Transfers, object: StoredObject, node: NodeRecord): Promise<void> {
    const { signal } = this.#context();
    const described = await this.#describe(object, node, anyOf([signal, AbortSignal.timeout(DESCRIBE_MS)]));
    for (const needed of described.needs) await this.bring(needed, [node.id]);
    await this.#places.run(() => this.#receive(transfers, described, node));
  }

  async #describe(object: StoredObject, node: NodeRecord, signal: AbortSignal): Promise<DescribedObject> {
    const answer = await this.forwarder.open(node, {
      method: 'GET',
      url: pathOf(object, '/description'),
      signal,
    });
    if (answer.statusCode !== 200) {
      answer.destroy();
      throw refusedBy(node, answer.statusCode);
    }
    return readDescription((await readAnswer(answer, MOST_DESCRIPTION_BYTES)).toString('utf8'), object);
  }

  async #receive(transfers: Transfers, described: DescribedObject, node: NodeRecord): Promise<void> {
    const context = this.#context();
    const { log, metrics, signal } = context;
    const object = { kind: described.kind, id: described.id };
    const fields = { ...fieldsOf(object), fromNodeId: node.id, sizeBytes: described.sizeBytes };
    const began = performance.now();
    let bytes = 0;
    const archive = Readable.from(
      readResumed(
        async (offset, stalled) => {
          if (offset > 0)
            log.info({ ...fields, offset }, 'a copy from another server resumes where it broke off');
          const url = `${pathOf(object)}?offset=${offset}`;
          const answer = await this.forwarder.open(node, {
            method: 'GET',
            url,
            signal: anyOf([signal, stalled]),
          });
          if (answer.statusCode === 200) return answer;
          answer.destroy();
          throw refusedBy(node, answer.statusCode);
        },
        (count) => {
          if (Math.floor((bytes + count) / PROGRESS_BYTES) > Math.floor(bytes / PROGRESS_BYTES))
            log.info({ ...fields, bytes: bytes + count }, 'a copy from another server is on its way');
          bytes += count;
          metrics?.copiedBytes(object.kind, count);
        },
      ),
      { objectMode: false },
    );
    log.info(fields, 'a copy from another server begins');
    await recordCopy(context, object, described.sizeBytes);
    const seconds = () => (performance.now() - began) / 1000;
    try {
      await transfers.import(object, archive, { maxBytes: await mostBytesOf(context, object), signal });
      // Meanwhile the record may have been taken for one of a copy that failed.
      await recordCopy(context, object, described.sizeBytes);
      metrics?.copy(object.kind, 'done', seconds());
      log.info(
        { ...fields, bytes, seconds: Math.round(seconds() * 10) / 10 },
        'a copy from another server is here',
      );
    } catch (error) {
      metrics?.copy(object.kind, 'failed', seconds());
      await forgetCopy(context, object).catch(() => {});
      throw error;
    } finally {
      archive.destroy();
    }
  }
}

function keyOf({ kind, id }: StoredObject): string {
  return `${kind}/${id}`;
}

function fieldsOf({ kind, id }: StoredObject) {
  return { objectKind: kind, objectId: id };
}

/** Path of the internal call about an object. */
export function pathOf({ kind, id }: StoredObject, more = ''): string {
  return `/node/objects/${kind}/${id}${more}`;
}

function refusedBy(node: NodeRecord, status: number | undefined): Error {
  if (status === 404) return new DriverError('not_found', `Server ${node.id} has it no more.`);
  return new ApiError({ status: 503, message: `server ${node.id} does not give a copy (${status})` });
}
