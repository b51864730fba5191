import { casesOf } from '../../case.js';
import { buildStatusCases } from './build-status.js';
import { buildCases } from './builds.js';
import { templateListCases } from './lists.js';
import { publishingCases } from './publishing.js';
import { tagCases } from './tags.js';
import { uploadCases } from './uploads.js';

/** Templates, builds and tags. */
export const templateCases = casesOf('templates', [
  ...buildCases,
  ...templateListCases,
  ...publishingCases,
  ...tagCases,
  ...uploadCases,
  ...buildStatusCases,
]);
