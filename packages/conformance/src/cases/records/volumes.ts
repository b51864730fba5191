import { casesOf } from '../../case.js';
import { contentCases } from './volumes/content.js';
import { mountCases } from './volumes/mounts.js';
import { volumeRecordCases } from './volumes/records.js';
import { tokenCases } from './volumes/tokens.js';

/** Volumes, and their files. */
export const volumeCases = casesOf('volumes', [
  ...volumeRecordCases,
  ...contentCases,
  ...tokenCases,
  ...mountCases,
]);
