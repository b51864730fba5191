/** Where the file system of a new instance comes from. */
export type Origin =
  | { kind: 'fresh' }
  /** A checkpoint's file system, booted afresh or with its memory. */
  | { kind: 'checkpoint'; checkpointId: string; memory: boolean };
