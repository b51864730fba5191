import { IncusError } from '../incus/incus-error.js';
import { requireLayerId } from '../shared/instance-id.js';
import { volumeIdOf } from './keys.js';
import type {
  WireImage,
  WireInstance,
  WireInstanceState,
  WireMember,
  WireResources,
  WireServer,
  WireVolume,
  WireVolumePlace,
} from './wire.js';

/*
 * Readers of Incus's answers, into the shapes that the driver works with: a member may be broken or taken over. Each is
 * pure and throws an `IncusError` that names the wrong part. Values that only inform are replaced by empty ones.
 */

type Fields = Record<string, unknown>;

const FINGERPRINT = /^[0-9a-f]{12,64}$/;
/** As Incus allows them; what is none could lead to another path of its API. */
const INSTANCE_NAME = /^[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})$/;

export function readServer(value: unknown): WireServer {
  const { api_extensions: extensions, auth, environment } = fieldsOf(value, 'server');
  const facts = fieldsOf(environment, 'server');
  return {
    api_extensions: listOf(extensions, 'server').map(textOf),
    auth: textOf(auth),
    environment: {
      server: textOf(facts.server),
      server_version: textOf(facts.server_version),
      server_name: textOf(facts.server_name),
      server_clustered: facts.server_clustered === true,
      kernel_architecture: textOf(facts.kernel_architecture),
      certificate: textOf(facts.certificate),
      certificate_fingerprint: textOf(facts.certificate_fingerprint),
    },
  };
}

/** The names in a list of `/1.0/instances/NAME?project=svc`. */
export function readInstanceNames(value: unknown): string[] {
  return listOf(value, 'list of instances').map((url) => {
    const name = /^\/1\.0\/instances\/([^/?]+)(?:\?|$)/.exec(textOf(url))?.[1] ?? '';
    return requireName(name);
  });
}

export function readInstances(value: unknown): WireInstance[] {
  return listOf(value, 'list of instances').map(readInstance);
}

/** Of what is on a member that is away Incus gives nothing but name and place. */
export function readInstance(value: unknown): WireInstance {
  const { name, status, location, config, devices } = fieldsOf(value, 'instance');
  return {
    name: requireName(name),
    status: textOf(status),
    location: textOf(location),
    config: textsOf(config),
    devices: Object.fromEntries(
      Object.entries(fieldsOrNone(devices)).map(([key, device]) => [key, textsOf(device)]),
    ),
  };
}

export function readInstanceState(value: unknown): WireInstanceState {
  const { status, cpu, memory, disk, processes } = fieldsOf(value, 'state of an instance');
  return {
    status: textOf(status),
    cpu: { usage: countOf(fieldsOrNone(cpu).usage) },
    memory: { usage: countOf(fieldsOrNone(memory).usage) },
    disk: { root: { usage: countOf(fieldsOrNone(fieldsOrNone(disk).root).usage) } },
    processes: countOf(processes),
  };
}

export function readResources(value: unknown): WireResources {
  const { cpu, memory } = fieldsOf(value, 'list of resources');
  return {
    cpu: { total: countOf(fieldsOrNone(cpu).total) },
    memory: { total: countOf(fieldsOrNone(memory).total) },
  };
}

/** Bytes that a storage pool has. */
export function readPoolBytes(value: unknown): number {
  return countOf(fieldsOrNone(fieldsOf(value, 'storage pool').space).total);
}

export function readMembers(value: unknown): WireMember[] {
  return listOf(value, 'list of members').map((each) => {
    const {
      server_name: name,
      url,
      status,
      message,
      database,
      roles,
      architecture,
    } = fieldsOf(each, 'member');
    return {
      server_name: textOf(name),
      url: textOf(url),
      status: textOf(status),
      message: textOf(message),
      database: database === true,
      roles: Array.isArray(roles) ? roles.map(textOf) : [],
      architecture: textOf(architecture),
    };
  });
}

/** Custom volumes, but for those with names that the service gives none. */
export function readVolumes(value: unknown): WireVolume[] {
  return listOf(value, 'list of volumes').flatMap((each) => {
    const { name, location, config, type, content_type: content, created_at: at } = fieldsOf(each, 'volume');
    if (volumeIdOf(textOf(name)) === undefined || type !== 'custom' || content !== 'filesystem') return [];
    return [
      {
        name: textOf(name),
        location: textOf(location) || 'none',
        config: textsOf(config),
        createdAt: textOf(at),
      },
    ];
  });
}

/** The same of a list that holds paths alone, such as `/1.0/storage-pools/p/volumes/custom/svc-v?project=svc&target=m1`. */
export function readVolumePlaces(value: unknown): WireVolumePlace[] {
  return listOf(value, 'list of paths of volumes').flatMap((each) => {
    const [path = '', query] = textOf(each).split('?');
    // Names of the service need no encoding.
    const name = path.slice(path.lastIndexOf('/') + 1);
    if (volumeIdOf(name) === undefined) return [];
    return [{ name, location: new URLSearchParams(query).get('target') || 'none' }];
  });
}

/** Bytes that a volume takes. */
export function readVolumeBytes(value: unknown): number {
  return countOf(fieldsOrNone(fieldsOf(value, 'state of a volume').usage).used);
}

export function readImages(value: unknown): WireImage[] {
  return listOf(value, 'list of images').map((each) => {
    const { properties } = fieldsOf(each, 'image');
    return { ...readMadeImage(each), properties: textsOf(properties) };
  });
}

/** Reads the result of an operation that made an image. */
export function readMadeImage(value: unknown): Pick<WireImage, 'fingerprint' | 'size'> {
  const { fingerprint, size } = fieldsOf(value, 'image');
  if (typeof fingerprint !== 'string' || !FINGERPRINT.test(fingerprint)) throw unexpected('image');
  return { fingerprint, size: countOf(size) };
}

/** A number that was written as text too; 0 for what is no size of anything. Pure. */
export function countOf(value: unknown): number {
  const number = typeof value === 'number' || typeof value === 'string' ? Number(value) : 0;
  return Number.isFinite(number) && number > 0 ? Math.min(Math.round(number), Number.MAX_SAFE_INTEGER) : 0;
}

/** Layers as the driver writes them on its own. Pure. @throws {Error} for what no driver has written */
export function readLayerIds(text: string | undefined): string[] {
  return listOf(JSON.parse(text ?? '[]'), 'list of layers').map((id) => requireLayerId(textOf(id)));
}

function requireName(value: unknown): string {
  if (typeof value !== 'string' || !INSTANCE_NAME.test(value)) throw unexpected('name of an instance');
  return value;
}

function fieldsOf(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw unexpected(what);
  return value as Fields;
}

function fieldsOrNone(value: unknown): Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : {};
}

/** Absent: an empty one. */
function listOf(value: unknown, what: string): unknown[] {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) throw unexpected(what);
  return value;
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

function textsOf(value: unknown): Record<string, string> {
  return Object.fromEntries(
    Object.entries(fieldsOrNone(value)).filter(
      (entry): entry is [string, string] => typeof entry[1] === 'string',
    ),
  );
}

function unexpected(what: string): IncusError {
  return new IncusError(0, `What Incus answered is no ${what}.`);
}
