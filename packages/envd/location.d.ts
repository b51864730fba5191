/** Where the built daemon is; absolute paths. The native add-ons lie beside the entry. */
export declare const daemonProgram: {
  /** The file to run with Node. */
  readonly entry: string;
  /** The folder that holds the entry and everything it needs. */
  readonly directory: string;
};

/** Version of the daemon's interface, as sandboxes report it. */
export declare const envdVersion: string;
