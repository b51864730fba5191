import type { components } from '@svc/platform';
import type { Team } from '../../../api/auth/team.js';
import { errors } from '../../../api/errors/catalog.js';
import { findTemplate } from '../../../sandboxes/records/find-template.js';
import { parseTemplateReference } from '../../../sandboxes/records/template-reference.js';
import type { Uses } from '../../context.js';
import { refuseSystem } from '../../find-own.js';
import { findFiles } from './find-files.js';
import { signUpload } from './upload-token.js';

const LINK_LIFE_MS = 3_600_000;

/**
 * Whether files are stored where a build can have them, and where to upload them when they are not.
 * @throws {ApiError} 400 bad hash; 404, for the template of another team as well
 */
export async function filesLink(
  context: Uses<'config' | 'db' | 'keys' | 'nodes' | 'now'>,
  team: Team,
  templateText: string,
  hash: string,
): Promise<components['schemas']['TemplateFilesLink']> {
  if (!/^[0-9a-f]{64}$/.test(hash))
    throw errors.badRequest('the hash must be 64 lower-case hexadecimal digits');
  const template = await findTemplate(context, team, parseTemplateReference(templateText));
  if (template === undefined || template.team_id !== team.id) throw errors.templateNotFound(templateText);
  await refuseSystem(context.db, template.id);
  const { kind } = await findFiles(context, template.id, hash);
  if (kind === 'here' || kind === 'node') return { present: true };
  const token = signUpload(context.keys, {
    templateId: template.id,
    hash,
    expiresAtMs: context.now() + LINK_LIFE_MS,
  });
  return { present: false, url: `${context.config.apiUrl}/templates/uploads/${token}` };
}
