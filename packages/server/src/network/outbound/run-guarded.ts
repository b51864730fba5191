/**
 * Runs in a network namespace of its own that has nothing but a loopback: hands what the program connects to its proxy
 * on to the UNIX socket of the guard. Without the namespace a program would reach this machine's loopback directly:
 * HTTP clients go around proxies for it.
 */
const RELAY = `
const net = require('node:net');
const { spawn, spawnSync } = require('node:child_process');
const [socket, program, ...words] = process.argv.slice(1);
spawnSync('ip', ['link', 'set', 'lo', 'up'], { stdio: ['ignore', 'ignore', 'inherit'] });
const server = net.createServer((near) => {
  const far = net.connect(socket);
  near.on('error', () => far.destroy());
  far.on('error', () => near.destroy());
  near.pipe(far).pipe(near);
});
server.listen(0, '127.0.0.1', () => {
  const proxy = 'http://127.0.0.1:' + server.address().port;
  const env = { ...process.env, HTTP_PROXY: proxy, HTTPS_PROXY: proxy, http_proxy: proxy, https_proxy: proxy };
  const child = spawn(program, words, { stdio: 'inherit', env });
  process.on('SIGTERM', () => child.kill('SIGKILL'));
  child.on('error', (error) => process.exit(['ENOENT', 'EACCES'].includes(error.code) ? 127 : 126));
  child.on('exit', (code) => process.exit(code ?? 1));
});
`;

/** Errors for a missing program. A user who may not read a directory of PATH gets EACCES. */
export const PROGRAM_MISSING = 127;

/** Covers a directory with an empty one, but for one directory in it; then runs the rest. */
const HIDE = `
set -e
directory=$1 but=$2; shift 2
# Held open, it can be found again below the cover.
exec 9<"$but"
mount -t tmpfs -o size=1m,mode=700 hidden "$directory"
mkdir -p "$but"
mount --no-canonicalize --bind /proc/self/fd/9 "$but"
exec 9<&-
cd "$but"
exec "$@"`;

export interface Guarding {
  /** UNIX socket of the guard proxy. */
  socket: string;
  /** A directory that the program is not to see, but for one in it. Absolute, without links. */
  hide?: { directory: string; but: string };
}

/**
 * The command that runs a program behind the guard proxy of a UNIX socket, with no other network. Ends with the
 * program's code, {@link PROGRAM_MISSING} when there is none; SIGTERM ends the program too.
 */
export function guardedCommand(
  { socket, hide }: Guarding,
  program: string,
  words: string[],
): [string, string[]] {
  const asUser = process.getuid?.() === 0 ? [] : ['--user', '--map-root-user'];
  const hidden = hide === undefined ? [] : ['sh', '-c', HIDE, 'hide', hide.directory, hide.but];
  return [
    'unshare',
    [
      ...asUser,
      '--net',
      '--mount',
      '--',
      ...hidden,
      process.execPath,
      '-e',
      RELAY,
      socket,
      program,
      ...words,
    ],
  ];
}
