import type { components } from '@svc/platform';
import { CLIENT_ID } from '../../api/wire/ids.js';
import { isoTime } from '../../api/wire/time.js';
import { fromJson } from '../../storage/json.js';
import type { KeyRing } from '../../storage/keys/key-ring.js';
import { configOf } from '../state/config.js';
import type { SandboxRow } from '../state/live.js';
import { accessToken, trafficToken } from '../state/sandbox-tokens.js';

type Schemas = components['schemas'];

export interface WireSettings {
  keys: KeyRing;
  domain: string;
  announceDomain: boolean;
}

/** Answer to create, resume, connect and each fork. */
export function sandboxToWire(row: SandboxRow, settings: WireSettings): Schemas['Sandbox'] {
  return {
    templateID: row.template_id,
    sandboxID: row.id,
    clientID: CLIENT_ID,
    envdVersion: row.envd_version,
    ...(row.alias === null ? {} : { alias: row.alias }),
    envdAccessToken: accessToken(settings.keys, row.id),
    ...trafficTokenOf(row, settings),
    ...(settings.announceDomain ? { domain: settings.domain } : {}),
  };
}

/** The token of ports that are not public. */
function trafficTokenOf(row: SandboxRow, settings: WireSettings): { trafficAccessToken?: string } {
  const isPrivate = configOf(row).network?.allowPublicTraffic === false;
  return isPrivate ? { trafficAccessToken: trafficToken(settings.keys, row.id) } : {};
}

export function listedToWire(row: SandboxRow): Schemas['ListedSandbox'] {
  const { forkedFrom, mounts } = configOf(row);
  return {
    templateID: row.template_id,
    sandboxID: row.id,
    clientID: CLIENT_ID,
    startedAt: isoTime(row.started_at),
    endAt: isoTime(row.view === 'paused' ? (row.paused_at ?? row.end_at) : row.end_at),
    cpuCount: row.cpu_count,
    memoryMB: row.memory_mb,
    diskSizeMB: row.disk_mb,
    state: row.view === 'paused' ? 'paused' : 'running',
    envdVersion: row.envd_version,
    ...(row.alias === null ? {} : { alias: row.alias }),
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
    ...(row.metadata === null ? {} : { metadata: fromJson(row.metadata) }),
    volumeMounts: mounts.map(({ name, path }) => ({ name, path })),
  };
}

export function detailToWire(row: SandboxRow, settings: WireSettings): Schemas['SandboxDetail'] {
  const config = configOf(row);
  return {
    ...listedToWire(row),
    envdAccessToken: accessToken(settings.keys, row.id),
    ...trafficTokenOf(row, settings),
    ...(settings.announceDomain ? { domain: settings.domain } : {}),
    ...(config.isolation === undefined ? {} : { isolation: config.isolation }),
    allowInternetAccess: config.allowInternetAccess,
    ...(config.network === undefined ? {} : { network: config.network }),
    lifecycle: { autoResume: config.autoResume, onTimeout: config.autoPause ? 'pause' : 'kill' },
  };
}
