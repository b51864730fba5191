import { randomBytes } from 'node:crypto';
import { DriverError } from '../contract/errors.js';

const INSTANCE_ID = /^[a-z0-9]{1,32}$/;
const CHECKPOINT_ID = /^[a-z0-9-]{1,64}$/;
const VOLUME_ID = /^[a-z0-9-]{1,64}$/;
const LAYER_ID = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** @throws {DriverError} `invalid_spec` */
export function requireInstanceId(id: string): string {
  if (!INSTANCE_ID.test(id)) {
    throw new DriverError('invalid_spec', 'An instance id consists of 1 to 32 characters a-z and 0-9.');
  }
  return id;
}

/** @throws {DriverError} `invalid_spec` */
export function requireCheckpointId(id: string): string {
  if (!CHECKPOINT_ID.test(id)) {
    throw new DriverError('invalid_spec', 'A checkpoint id consists of 1 to 64 characters a-z, 0-9 and "-".');
  }
  return id;
}

/** @throws {DriverError} `not_found`: an id that no layer can have belongs to none. */
export function requireLayerId(id: string): string {
  if (!LAYER_ID.test(id)) throw new DriverError('not_found', 'There is no such layer.');
  return id;
}

/** @throws {DriverError} `invalid_spec` */
export function requireVolumeId(id: string): string {
  if (!VOLUME_ID.test(id)) {
    throw new DriverError('invalid_spec', 'A volume id consists of 1 to 64 characters a-z, 0-9 and "-".');
  }
  return id;
}

/** A fresh random id of `a-z0-9`, 80 bits. Good as instance id, layer id or name of a pooled instance. */
export function randomId(): string {
  return randomBytes(10).toString('hex');
}
