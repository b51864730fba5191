import { processStart } from '#support/process-identity';
import type { RunFile } from '../../src/connection/run-file.js';

/** The record of a server of this process. */
export const runOf = (dataDir: string, more: Partial<RunFile> = {}): RunFile => ({
  pid: process.pid,
  processStart: processStart(process.pid)!,
  version: '0.1.0',
  startedAt: new Date(0).toISOString(),
  dataDir,
  driver: 'linux',
  why: '',
  apiUrl: 'http://127.0.0.1:1',
  sandboxUrl: 'http://127.0.0.1:2',
  privateWebhooks: false,
  ...more,
});
