import { join } from 'node:path';

/** Where the driver keeps things below its data directory. */
export interface Paths {
  dataDir: string;
  instances: string;
  layers: string;
  checkpoints: string;
  volumes: string;
  /** Half-made things; everything here at a start is rubbish. */
  drafts: string;
}

export function pathsOf(dataDir: string): Paths {
  return {
    dataDir,
    instances: join(dataDir, 'instances'),
    layers: join(dataDir, 'layers'),
    checkpoints: join(dataDir, 'checkpoints'),
    volumes: join(dataDir, 'volumes'),
    drafts: join(dataDir, 'drafts'),
  };
}
