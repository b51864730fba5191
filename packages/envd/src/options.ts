/** How the program was asked to run. */
export interface DaemonOptions {
  host: string;
  /** 0: any free port. */
  port: number;
  /** File descriptor that gets one JSON line `{"port":N}` once the daemon listens. */
  readyFd: number | undefined;
  /** Present: no change of user; every known name has this home directory. */
  singleUser: { home: string } | undefined;
  /** Where pipes are made, which lose their names at once. Absent: in the directory for temporary files. */
  pipeDirectory: string | undefined;
}

/**
 * Reads the command line.
 *
 * @throws Error naming the argument that is wrong.
 */
export function parseOptions(argv: readonly string[]): DaemonOptions {
  const options: DaemonOptions = {
    host: '0.0.0.0',
    port: 49983,
    readyFd: undefined,
    singleUser: undefined,
    pipeDirectory: undefined,
  };
  let single = false;
  let home: string | undefined;
  for (let i = 0; i < argv.length; i++) {
    const name = argv[i];
    const value = (): string => {
      const text = argv[++i];
      if (text === undefined) throw new Error(`${name} needs a value`);
      return text;
    };
    const number = (max: number): number => {
      const text = value();
      if (!/^\d{1,9}$/.test(text) || Number(text) > max)
        throw new Error(`${name} ${text}: not a number up to ${max}`);
      return Number(text);
    };
    switch (name) {
      case '--host':
        options.host = value();
        break;
      case '--port':
        options.port = number(65_535);
        break;
      case '--ready-fd':
        options.readyFd = number(1_000_000);
        break;
      case '--single-user':
        single = true;
        break;
      case '--home':
        home = value();
        break;
      case '--pipe-directory':
        options.pipeDirectory = value();
        break;
      // Accepted for callers that say it; the daemon never touches cgroups.
      case '--cgroup-free':
        break;
      default:
        throw new Error(`unknown argument ${name}`);
    }
  }
  if (single) {
    if (home === undefined) throw new Error('--single-user needs --home');
    options.singleUser = { home };
  }
  return options;
}
