/** A stored state of a sandbox, from which sandboxes are created like from a template. */
export interface SnapshotInfo {
  /** The name that `sandboxes.create({ template })` takes. */
  readonly snapshotId: string;
  /** `namespace/name:tag`; empty when it has no name. */
  readonly names: string[];
}
