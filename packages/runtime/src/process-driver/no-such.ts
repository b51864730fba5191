import { DriverError } from '../contract/errors.js';

export function noSuch(what: 'layer' | 'checkpoint'): DriverError {
  return new DriverError('not_found', `There is no such ${what}.`);
}
