/** Where the built daemon for this machine is; absolute. */
export declare const daemonProgram: {
  /** The program: a file without libraries, for this operating system and processor. */
  readonly entry: string;
};

/** Version of the daemon's interface, as sandboxes report it. */
export declare const envdVersion: string;
