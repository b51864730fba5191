import { unique } from '../../../requests/samples.js';
import type { Target } from '../../../targets/target.js';
import { assertStatus, call, callVolume } from '../../../wire/call.js';

export interface Volume {
  volumeID: string;
  name: string;
  token: string;
}

export const make = async (target: Target) =>
  assertStatus<Volume>(await call(target, 'createVolume', { body: { name: unique('volume') } }), 201);

export const content = (
  target: Target,
  volume: Volume,
  operation: string,
  query: Record<string, string | number | boolean>,
  body?: unknown,
) =>
  callVolume(target.apiUrl, volume.token, operation, {
    path: { volumeID: volume.volumeID },
    query,
    ...(body === undefined ? {} : { body }),
  });

export const SAMPLE_BODY: Record<string, unknown> = {
  updateVolumePath: { mode: 420 },
  writeVolumeFile: Buffer.from('x'),
};
