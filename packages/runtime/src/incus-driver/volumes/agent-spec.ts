import { loaderOf } from '../../agent/host-programs.js';
import { HARDENING } from '../hardening.js';
import { keys, volumeName } from '../keys.js';

/** Where the agent has its program and the volume. */
export const AGENT_PROGRAM = '/run/svc-volume-agent.mjs';
export const AGENT_VOLUME = '/svc-volume';

/** The command line of the agent, with the Node that each image has. */
export const AGENT_COMMAND: readonly string[] = [
  ...loaderOf('/.sbx'),
  '/.sbx/node',
  '--max-old-space-size=256',
  AGENT_PROGRAM,
  AGENT_VOLUME,
];

/** An agent that is lost ends by itself, seconds. */
const LONGEST_LIFE_SECONDS = 6 * 3_600;

/** The request from which Incus makes the agent of one volume. It has no network card. Pure. */
export function agentBody(options: {
  name: string;
  volumeId: string;
  pool: string;
  owner: string;
  unique: string;
  fingerprint: string;
}): Record<string, unknown> {
  const { name, volumeId, pool, owner, unique, fingerprint } = options;
  return {
    name,
    source: { type: 'image', fingerprint },
    config: {
      [keys.owner]: owner,
      [keys.unique]: unique,
      [keys.state]: 'volume-agent',
      [keys.id]: volumeId,
      ...HARDENING,
      'limits.memory': '512MiB',
      'limits.memory.swap': 'false',
      'limits.processes': '64',
      'limits.cpu.allowance': '100ms/100ms',
      'raw.lxc': [
        `lxc.init.cmd = /bin/sleep ${LONGEST_LIFE_SECONDS}`,
        'lxc.uts.name = volume',
        'lxc.signal.halt = SIGKILL',
      ].join('\n'),
    },
    devices: {
      root: { type: 'disk', path: '/', pool },
      volume: { type: 'disk', pool, source: volumeName(volumeId), path: AGENT_VOLUME },
    },
  };
}
