import type { ClientCore } from '../calls/client-core.js';
import type { LogEntry } from './info.js';
import type { FollowLogsOptions, LogQuery } from './log-query.js';

/** The log of one sandbox: call it to read what is there, `follow` it to get new entries as well. */
export interface SandboxLogs {
  /**
   * Reads entries. Works for a killed sandbox too; an unknown one gives an empty list.
   * @wire getSandboxLogsV2
   */
  (query?: LogQuery): Promise<LogEntry[]>;
  /**
   * Gives entries, oldest first, as they come, each once: none is lost or repeated, however many share a millisecond.
   * Where the service had to drop lines an entry with the field `dropped` says how many. Ends when the sandbox is deleted and everything was read; leave the loop or
   * abort the signal to end it earlier.
   * @wire getSandboxLogsV2, getSandbox
   */
  follow(options?: FollowLogsOptions): AsyncGenerator<LogEntry, void, undefined>;
}

export function sandboxLogs(core: ClientCore, sandboxId: string): SandboxLogs {
  const read = async (query: LogQuery = {}) => {
    const { readLogs } = await import('./lazy.js');
    return readLogs(core, sandboxId, query);
  };
  return Object.assign(read, {
    async *follow(options: FollowLogsOptions = {}) {
      const { followLogs } = await import('./lazy.js');
      yield* followLogs(core, sandboxId, options);
    },
  });
}
