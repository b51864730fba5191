import type { ClientCore } from '../calls/client-core.js';
import type { RequestOptions } from '../core/call-context.js';
import type { PageList } from '../core/page.js';
import { defined } from '../core/wire-values.js';
import type { SnapshotInfo } from './snapshot.js';
import { fromSnapshot } from './wire.js';

/** Which snapshots to list. */
export interface ListSnapshotsOptions extends RequestOptions {
  /** Only those taken of this sandbox. */
  sandboxId?: string | undefined;
  /** Only those of this name, `[namespace/]name[:tag]`. */
  name?: string | undefined;
  /** Items on a page, 1 to 100. Default: the service's, 100. */
  limit?: number | undefined;
  /** `nextToken` of an earlier page: continues after it. */
  nextToken?: string | undefined;
}

/** Stored states of sandboxes. They are made by `sandbox.createSnapshot()`. */
export class Snapshots {
  readonly #core: ClientCore;

  /** @internal */
  constructor(core: ClientCore) {
    this.#core = core;
  }

  /**
   * Lists snapshots: await a page, or iterate over all.
   * @example
   * for await (const { snapshotId, names } of client.snapshots.list()) console.log(snapshotId, names);
   * @wire listSnapshots
   */
  list(options: ListSnapshotsOptions = {}): PageList<SnapshotInfo> {
    const { sandboxId, name, limit } = options;
    return this.#core.platform.list(
      { operation: 'snapshots.list', options },
      (platform, fetch, nextToken) =>
        platform.GET('/snapshots', {
          params: { query: defined({ sandboxID: sandboxId, name, limit, nextToken }) },
          fetch,
        }),
      fromSnapshot,
    );
  }

  /**
   * Deletes a snapshot, with any tag, with all its states. False when there was none.
   * @param snapshotId as `list` and `createSnapshot` give it
   * @throws InvalidRequestError while sandboxes stand on it
   * @example
   * await client.snapshots.delete(snapshotId);
   * @wire deleteTemplate
   */
  delete(snapshotId: string, options: RequestOptions = {}): Promise<boolean> {
    // The wire deletes templates by identifier or name; the tag is no part of either.
    const templateID = snapshotId.replace(/:[^:/]*$/, '');
    return this.#core.platform.delete(
      { operation: 'snapshots.delete', resource: 'snapshot', options },
      (platform, fetch) =>
        platform.DELETE('/templates/{templateID}', { params: { path: { templateID } }, fetch }),
    );
  }
}
