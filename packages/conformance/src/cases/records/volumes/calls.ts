import { unique } from '../../../requests/samples.js';
import type { Target } from '../../../targets/target.js';
import { callOk, callVolume } from '../../../wire/call.js';

export interface Volume {
  volumeID: string;
  name: string;
  token: string;
}

export const make = async (target: Target) =>
  await callOk<Volume>(target, 'createVolume', 201, { body: { name: unique('volume') } });

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
