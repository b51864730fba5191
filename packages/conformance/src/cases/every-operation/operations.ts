import type { Capability } from '../../capability.js';
import { type Operation, platform } from '../../wire/documents.js';

/** Every operation of the platform. */
export const all: Operation[] = [...platform.operations.values()];

const TEMPLATE_OPERATIONS = new Set([
  'createTemplate',
  'listTemplates',
  'listTemplatesV2',
  'getTemplate',
  'updateTemplate',
  'deleteTemplate',
  'updateTemplateV2',
  'getTemplateAlias',
  'getTemplateFilesLink',
  'uploadTemplateFiles',
  'startTemplateBuild',
  'getTemplateBuildStatus',
  'getTemplateBuildLogs',
  'assignTemplateTags',
  'deleteTemplateTags',
  'listTemplateTags',
]);

/** Returns the needs of an operation, with those of the case besides. */
export function needsOf(operation: Operation, ...more: Capability[]): Capability[] {
  return TEMPLATE_OPERATIONS.has(operation.id) ? ['templates', ...more] : more;
}

export const takesJson = (operation: Operation) => operation.bodyTypes.includes('application/json');
