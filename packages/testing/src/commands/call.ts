import type { FileTree } from '../files/file-tree.js';

/** Changes that a test, or a scripted program, makes to a sandbox from behind. */
export interface SandboxControl {
  readonly id: string;
  /** `gone`: it was killed, or its time was over. */
  readonly state: 'running' | 'paused' | 'gone';
  readonly files: FileTree;
  /** Kills it, as somebody else would. False when it was deleted already. */
  kill(): boolean;
  /** Pauses it. False when it did not run. */
  pause(): boolean;
  /** Ends it as a crash does. False when it was deleted already. */
  crash(): boolean;
}

/** A command as a matcher and a program see it. */
export interface CommandCall {
  /** The command line, without the login shell around it; of a program with arguments, its words in a row. */
  readonly line: string;
  readonly cmd: string;
  readonly args: readonly string[];
  readonly envs: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  /** Undefined: the default user. */
  readonly user: string | undefined;
  readonly tag: string | undefined;
  /** Size of its terminal; undefined when it has none. */
  readonly terminal: { readonly cols: number; readonly rows: number } | undefined;
  readonly sandbox: SandboxControl;
}
