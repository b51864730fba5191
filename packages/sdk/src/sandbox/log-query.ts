import type { RequestOptions } from '../core/call-context.js';
import type { LogEntry } from './info.js';

/** Which log entries to read. */
export interface LogQuery extends RequestOptions {
  /** `forward` reads from older to newer. Default: the service's, `backward`: the newest first. */
  direction?: 'forward' | 'backward' | undefined;
  /** Where to start reading: forward from this time on, backward from it into the past. */
  from?: Date | undefined;
  /** 0 to 1000. Default: the service's, 1000. */
  limit?: number | undefined;
  /** Lowest level. Default: all. */
  level?: LogEntry['level'] | undefined;
  /** Only entries that contain this text, at most 256 characters. */
  search?: string | undefined;
}

/** Options for following a log. */
export interface FollowLogsOptions
  extends Pick<LogQuery, 'level' | 'search' | 'from' | 'signal' | 'requestTimeoutMs'> {
  /** Begin with the last entries that are there, at most this many, 0 to 1000. `from` drops older ones. Default: with all. */
  tail?: number | undefined;
  /** Pause between two requests when nothing is new, ms. Default 1000. */
  pollIntervalMs?: number | undefined;
}
