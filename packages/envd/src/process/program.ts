import type { ExitStatus } from './exit-status.js';

/** Where a piece of output came from. */
export type OutputKind = 'stdout' | 'stderr' | 'pty';

export interface ProgramEvents {
  /** A piece of output of at most 32 KiB, 16 KiB for a terminal. The bytes are the receiver's to keep. */
  output(kind: OutputKind, bytes: Uint8Array): void;
  /** The program has ended and nothing more will be read of its output. */
  end(status: ExitStatus): void;
}

/** A running program, with pipes or with a terminal. */
export interface Program {
  readonly pid: number;
  /** Stops reading output, so that the program blocks once the kernel's buffer is full. */
  pause(): void;
  resume(): void;
  /** Ends reading soon after the program itself ends, even if others still hold its output open. */
  releaseOutput(): void;
  /** @throws Error when the input is off, closed or broken. Resolves once the kernel has taken all bytes. */
  write(bytes: Uint8Array): Promise<void>;
  /** Does nothing when the input is off or closed already. */
  closeInput(): void;
  /** Present on a terminal. @throws Error when the kernel refuses. */
  resize?(columns: number, rows: number): void;
}

/** What to run, with everything resolved. */
export interface ProgramSpec {
  command: string;
  args: readonly string[];
  environment: Record<string, string>;
  /** Absolute, existing. */
  directory: string;
  /** The account to become; undefined: stay as the daemon is. */
  identity: { uid: number; gid: number; groups: readonly number[] } | undefined;
}
