import { loaderOf } from '../../agent/host-programs.js';
import { DAEMON_PORT } from '../../shared/dial-instance.js';
import { GATEWAY_ADDRESS } from './card-device.js';

/** Something that a sandbox without network access must not reach. */
export interface ReachAttempt {
  /** For the operator: what would have been reached. */
  what: string;
  protocol: 'tcp' | 'udp';
  address: string;
  port: number;
}

/** A machine in the same network answers within a fraction of it, also a busy one. */
const WAIT_MS = 4_000;
/** Exit codes from here on show the answered attempts, a bit each; all others mean that it could not be tried. */
const CODE_BASE = 64;
/** As many as fit into an exit code. */
const MOST_ATTEMPTS = 6;
/** Nothing listens there: a member that is reached says so at once. */
const UNUSED_PORT = 9;

/** The attempts of a probe without network access, each of which is answered wherever no fence stands in between. Pure. */
export function attemptsOfClosed(neighbour: string): ReachAttempt[] {
  return [
    { what: 'the member by TCP', protocol: 'tcp', address: GATEWAY_ADDRESS, port: UNUSED_PORT },
    { what: 'the member by UDP', protocol: 'udp', address: GATEWAY_ADDRESS, port: UNUSED_PORT },
    { what: 'another sandbox by TCP', protocol: 'tcp', address: neighbour, port: DAEMON_PORT },
    { what: 'another sandbox by UDP', protocol: 'udp', address: neighbour, port: UNUSED_PORT },
  ];
}

/** The attempts of a probe with network access, on addresses that must not reach the one without. Pure. */
export function attemptsOfOpen(closed: string): ReachAttempt[] {
  return [
    { what: 'one without', protocol: 'tcp', address: closed, port: DAEMON_PORT },
    {
      what: 'the member by TCP',
      protocol: 'tcp',
      address: GATEWAY_ADDRESS,
      port: UNUSED_PORT,
    },
  ];
}

/**
 * An answer is anything that comes back: a connection, and a refusal as well. Silence is what a fence gives. What the kernel says
 * of its own, such as that there is no route, proves nothing.
 */
const SCRIPT = `
const { connect } = require('node:net');
const { createSocket } = require('node:dgram');
const [base, waitMs, ...attempts] = process.argv.slice(1);
const tried = attempts.map((text) => {
  const [protocol, address, port] = text.split('/');
  return new Promise((resolve) => {
    setTimeout(resolve, Number(waitMs), false);
    const failed = ({ code }) => {
      if (code === 'ETIMEDOUT') resolve(false);
      else if (code === 'ECONNREFUSED' || code === 'ECONNRESET') resolve(true);
      else process.exit(1);
    };
    if (protocol === 'tcp') return connect(Number(port), address, () => resolve(true)).on('error', failed);
    const socket = createSocket('udp4').on('error', failed);
    socket.connect(Number(port), address, (error) => (error ? failed(error) : socket.send('svc', (each) => each && failed(each))));
  });
});
Promise.all(tried).then((answered) =>
  process.exit(answered.reduce((code, each, index) => code + (each ? 2 ** index : 0), Number(base))));`;

/** Command that tries them from inside; how it ended is for {@link readAnswered}. Pure. */
export function reachCommand(attempts: readonly ReachAttempt[]): string[] {
  if (attempts.length > MOST_ATTEMPTS)
    throw new RangeError(`${attempts.length} attempts do not fit into an exit code.`);
  const each = attempts.map(({ protocol, address, port }) => `${protocol}/${address}/${port}`);
  const node = [...loaderOf('/.sbx'), '/.sbx/node'];
  return [...node, '-e', SCRIPT, String(CODE_BASE), String(WAIT_MS), ...each];
}

/** The attempts that were answered, by the exit code of {@link reachCommand}; undefined where it could not be tried. Pure. */
export function readAnswered(attempts: readonly ReachAttempt[], code: number): string[] | undefined {
  const bits = code - CODE_BASE;
  if (!Number.isInteger(bits) || bits < 0 || bits >= 2 ** attempts.length) return undefined;
  return attempts.filter((_, index) => (bits >> index) % 2 === 1).map(({ what }) => what);
}
