import { defaultUser } from '@svc/ssh';
import { type HostKeyFiles, hostKeyAlias } from './host-key-file.js';
import { defaultPattern } from './host-name.js';

/**
 * This program as the command that an SSH client starts, which has to work wherever that is started from. `%n` is the host name
 * as the user wrote it; `%h` would be in lower case.
 */
export function proxyCommand(pattern: string): string {
  const program = [process.execPath, ...process.execArgv, process.argv[1] ?? 'svc', 'ssh-proxy'];
  const flags = pattern === defaultPattern ? [] : ['--host-pattern', pattern];
  return [...[...program, ...flags].map(shellWord), '%n'].join(' ');
}

/**
 * Returns the settings by which an SSH client reaches sandboxes: keywords of its configuration and their values. The host key is the
 * user's own for all sandboxes, in another file than that of real hosts. Pure.
 */
export function clientOptions(files: HostKeyFiles, command: string): [string, string][] {
  return [
    ['ProxyCommand', command],
    ['User', defaultUser],
    ['HostKeyAlias', hostKeyAlias],
    ['UserKnownHostsFile', configWord(files.knownHosts)],
    ['GlobalKnownHostsFile', '/dev/null'],
    ['StrictHostKeyChecking', 'yes'],
    ['UpdateHostKeys', 'no'],
    ['CheckHostIP', 'no'],
  ];
}

/** A word for the shell that ssh gives the command to; a percent sign would begin one of its tokens. */
function shellWord(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  return /^[A-Za-z0-9_\-./:=@%+,]+$/.test(escaped) ? escaped : `'${escaped.replaceAll("'", `'\\''`)}'`;
}

function configWord(word: string): string {
  const escaped = word.replaceAll('%', '%%');
  return /[\s"]/.test(escaped) ? `"${escaped.replaceAll('"', '\\"')}"` : escaped;
}
